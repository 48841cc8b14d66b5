//! `cygnus array destroy`

use super::{Context, status};
use crate::args::values::ArrayName;
use crate::backend;
use crate::failure::Failure;
use crate::output;

/// Does it.
pub fn run(name: &ArrayName, yes: bool, context: &Context) -> Result<(), Failure> {
    let record = context.state.load(name)?;
    context.require_stopped(name, "destroy")?;
    let assembly = status::assemble(&record)?;
    let volumes = assembly.newest.state.volumes.len();
    let question = format!("Destroy array {name} and its {volumes} volumes for good?");
    if !yes && !output::confirm(&question)? {
        return Err(Failure::Failed(format!("{name} was left as it is")));
    }
    let present: Vec<_> = assembly.found().map(|member| member.path.clone()).collect();
    for index in assembly.missing() {
        let path = &record.members.iter().find(|member| member.index as usize == index).map(|member| &member.path);
        let place = path.map_or(String::new(), |path| format!(", last seen at {}", path.display()));
        context.output.warn(&format!("member {index}{place}, was not found: it still says that it belongs to {name}"));
    }
    backend::wipe(&present)?;
    context.state.forget(name)?;
    context.output.done(&format!("Destroyed array {name}; its {} members are free.", present.len()))
}
