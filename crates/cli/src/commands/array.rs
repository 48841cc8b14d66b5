//! `cygnus array ...`: to the verb's own file.

use super::{Context, check, create, destroy, forget, grow, job, replace, salvage, scan, scrub, status};
use crate::args::array::{ArrayCommand, DumpArgs};
use crate::backend;
use crate::config::Config;
use crate::dump::{self, Selection, locate};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::LogLines;
use cygnus_engine::{Log, SegmentInfo};
use cygnus_host::members::Assembly;
use std::sync::Arc;

/// Does what an array verb asks.
pub fn run(command: ArrayCommand, config: Config, context: &Context) -> Result<Exit, Failure> {
    match command {
        ArrayCommand::Create(args) => create::run(args, config, context).map(Exit::from),
        ArrayCommand::Status { name } => status::run(&name, context),
        ArrayCommand::List => scan::list(context).map(Exit::from),
        ArrayCommand::Scan { paths } => scan::run(&paths, context).map(Exit::from),
        ArrayCommand::Check { name, repair, yes } => check::run(&name, repair, yes, context),
        ArrayCommand::Salvage(args) => salvage::run(&args, context),
        ArrayCommand::Add(args) => grow::add(&args, context).map(Exit::from),
        ArrayCommand::Retire(args) => grow::retire(&args, context),
        ArrayCommand::Replace(args) => replace::run(&args, context),
        ArrayCommand::Drain(args) => replace::drain(&args, context),
        ArrayCommand::Spare { command } => replace::spare(command, context).map(Exit::from),
        ArrayCommand::Scrub { name, wait } => scrub::run(&name, wait, context),
        ArrayCommand::Cancel { name, job } => job::cancel(&name, job, context).map(Exit::from),
        ArrayCommand::Dump(args) => dump(&args, context).map(Exit::from),
        ArrayCommand::Destroy { name, yes } => destroy::run(&name, yes, context).map(Exit::from),
        ArrayCommand::Forget { name } => forget::run(&name, context).map(Exit::from),
    }
}

fn dump(args: &DumpArgs, context: &Context) -> Result<(), Failure> {
    context.state.load(&args.name)?;
    context.require_stopped(&args.name, "dump")?;
    let (_, assembly) = Assembly::at_rest(&context.state, &args.name)?;
    context.warn_if_elsewhere(&assembly);
    let parts = args.group.is_some() || args.segment.is_some() || args.volume.is_some() || args.stripes;
    if parts {
        status::refuse_in_place(&assembly, "dump")?;
    }
    let log = Arc::new(LogLines::details(context.output));
    if let (Some(volume), Some(lba)) = (&args.volume, args.lba) {
        let found = backend::read_array(&assembly, log, async |array| locate::find(array, volume, lba).await)?;
        return context.output.answer(&found, |paint| found.text(paint));
    }
    // Of an array that cannot be opened the superblocks and stripes can still be shown.
    let segments = match assembly.newest.state.in_place {
        Some(_) => Vec::new(),
        None => segments(&assembly, log, context),
    };
    let selection = Selection { group: args.group, segment: args.segment, stripes: args.stripes };
    let dump = dump::dump(&assembly, &segments, selection)?;
    context.output.answer(&dump, |paint| dump.text(paint))
}

fn segments(assembly: &Assembly, log: Arc<dyn Log>, context: &Context) -> Vec<SegmentInfo> {
    match backend::read_array(assembly, log, async |array| Ok(array.segments())) {
        Ok(segments) => segments,
        Err(why) => {
            context.output.warn(&format!("states of segments unknown: {why}"));
            Vec::new()
        }
    }
}
