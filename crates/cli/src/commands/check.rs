//! `cygnus array check`

use super::{Context, status};
use crate::args::values::ArrayName;
use crate::backend;
use crate::check;
use crate::failure::Failure;
use crate::output::LogLines;
use std::sync::Arc;

/// Does it.
pub fn run(name: &ArrayName, context: &Context) -> Result<(), Failure> {
    let record = context.state.load(name)?;
    context.require_stopped(name, "check")?;
    let assembly = status::assemble(&record)?;
    let mut report = check::superblocks(&assembly);
    let log = Arc::new(LogLines::details(context.output));
    backend::read_array(&assembly, log, async |array| {
        check::contents(array, &assembly, &mut report).map_err(Failure::Failed)
    })?;
    context.output.answer(&report, |paint| report.text(paint))?;
    match report.problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(format!("{name} has {}", report.count()))),
    }
}
