//! `cygnus array ...`: to the verb's own file.

use super::{Context, check, create, destroy, scan, status};
use crate::args::array::{ArrayCommand, DumpArgs};
use crate::config::Config;
use crate::dump::{self, Selection};
use crate::failure::Failure;

/// Does what an array verb asks.
pub fn run(command: ArrayCommand, config: Config, context: &Context) -> Result<(), Failure> {
    match command {
        ArrayCommand::Create(args) => create::run(args, config, context),
        ArrayCommand::Status { name } => status::run(&name, context),
        ArrayCommand::List => scan::list(context),
        ArrayCommand::Scan { paths } => scan::run(&paths, context),
        ArrayCommand::Check { name } => check::run(&name, context),
        ArrayCommand::Dump(args) => dump(&args, context),
        ArrayCommand::Destroy { name, yes } => destroy::run(&name, yes, context),
    }
}

fn dump(args: &DumpArgs, context: &Context) -> Result<(), Failure> {
    let record = context.state.load(&args.name)?;
    context.require_stopped(&args.name, "dump")?;
    let assembly = status::assemble(&record)?;
    let selection = Selection { group: args.group, segment: args.segment };
    let dump = dump::dump(&assembly, selection).map_err(Failure::Failed)?;
    context.output.answer(&dump, |paint| dump.text(paint))
}
