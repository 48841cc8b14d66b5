//! `cygnus array destroy`

use super::Context;
use crate::backend;
use crate::confirm::confirm;
use crate::failure::Failure;
use cygnus_host::ArrayName;
use cygnus_host::members::Assembly;
use cygnus_types::counted;
use serde::Serialize;
use std::path::PathBuf;

/// What was destroyed.
#[derive(Debug, Serialize)]
struct Destroyed {
    array: String,
    uuid: String,
    /// Members and spares that are free now.
    wiped: Vec<PathBuf>,
    /// Members that were not found: if they are found again, they will say that they belong to it. One in whose place a blank device is has nothing left
    /// to say, and is not among them.
    not_found: Vec<NotFound>,
}

#[derive(Debug, Serialize)]
struct NotFound {
    index: usize,
    /// Where it was last seen, if anywhere.
    path: Option<PathBuf>,
}

/// Carries out `cygnus array destroy`.
pub fn run(name: &ArrayName, yes: bool, context: &Context) -> Result<(), Failure> {
    let record = context.state.load(name)?;
    context.require_stopped(name, "destroy")?;
    let assembly = Assembly::of_record(&record)?;
    let volumes = counted(assembly.newest.state.volumes.len(), "volume");
    confirm(&format!("Destroy array {name} and its {volumes} for good?"), yes)?;
    let place = |index: usize| record.members.iter().find(|member| member.index as usize == index);
    let not_found: Vec<NotFound> = assembly
        .missing()
        .into_iter()
        .map(|index| NotFound { index, path: place(index).map(|member| member.path.clone()) })
        .filter(|NotFound { path, .. }| path.as_ref().is_none_or(|path| !assembly.blank.contains(path)))
        .collect();
    for NotFound { index, path } in &not_found {
        let place = path.as_ref().map_or(String::new(), |path| format!(", last seen at {},", path.display()));
        context.output.warn(&format!(
            "member {index}{place} was not found: if it is found again, it will still say that it belongs to {name}"
        ));
    }
    let wiped: Vec<PathBuf> = assembly.found().map(|member| member.path.clone()).collect();
    backend::wipe(&wiped)?;
    assembly.keepers().iter().for_each(|keeper| keeper.end());
    context.state.forget(name).map_err(|why| {
        Failure::Failed(format!(
            "array {name} is destroyed and its {} free, but it is still written down: {why}",
            counted(wiped.len(), "member is").or("members are")
        ))
    })?;
    let sentence = match wiped.len() {
        1 => format!("Destroyed array {name}; its member is free."),
        count => format!("Destroyed array {name}; its {count} members are free."),
    };
    context.output.done(&Destroyed { array: record.name, uuid: record.uuid, wiped, not_found }, &sentence)
}
