//! `cygnus serve`: what the flags and the file say becomes a server's options. The server itself is `cygnus-server`.

use crate::args::serve::{LinkChoice, LogTime, ServeArgs};
use crate::backend;
use crate::commands::Context;
use crate::config::Config;
use crate::confirm::confirm;
use crate::failure::Failure;
use crate::output::LogLines;
use cygnus_host::members::Assembly;
use cygnus_server::Options;
use cygnus_types::Nanos;
use cygnus_uring::KeptAt;
use std::sync::Arc;

/// Does it; returns when the array has been stopped.
pub fn run(mut args: ServeArgs, mut config: Config, context: &Context) -> Result<(), Failure> {
    config.complete_serve(&mut args);
    if args.force {
        // Before anybody can connect: whoever is asked may take his time.
        let record = context.state.load(&args.name)?;
        context.require_stopped(&args.name, "serve")?;
        confirm_force(&args, &Assembly::of_record(&record)?, context)?;
    }
    Ok(cygnus_server::serve(options(args), &context.state, Arc::new(context.output))?)
}

fn options(args: ServeArgs) -> Options {
    Options {
        name: args.name,
        nbd: args.nbd,
        reactors: args.reactors.map_or(1, usize::from),
        pin: args.pin,
        hung_after: args.hung_after.map(|span| span.0.into()),
        suspended_for: args.suspended_for.map(|span| span.0.into()),
        scrub_every: args.scrub_every.map_or(Some(Options::SCRUB_EVERY), |interval| interval.0),
        kept_in: args.kept_in.map_or(Some(KeptAt::USUAL.into()), |place| place.0),
        memory: args.memory.map(|size| size.0),
        max_connections: args.max_connections,
        stalled_after: args.stalled_after.map(|span| span.0.into()),
        idle_after: args.idle_after.and_then(|interval| interval.0).map(Nanos::from),
        autonomics: args.autonomics,
        links: args.link.iter().filter_map(LinkChoice::declared).collect(),
        find_links: args.link.contains(&LinkChoice::Auto),
        by_force: args.force,
        record: args.record.into_iter().map(|record| record.0).collect(),
        log_times: args.log_time.unwrap_or(LogTime::Auto).wanted(),
        ready_fd: args.ready_fd,
    }
}

/// Says what force would do, and asks.
fn confirm_force(args: &ServeArgs, assembly: &Assembly, context: &Context) -> Result<(), Failure> {
    let in_place = assembly.newest.state.in_place.is_some();
    let log = Arc::new(LogLines::details(context.output));
    let foreseen = if in_place { None } else { backend::foresee(assembly, log)? };
    let Some(foreseen) = foreseen else {
        let question = format!(
            "Open {} by force? If something durable is lost, all blocks that may be concerned are given up for good, which may \
             be all there are. Without --force, 'cygnus serve' tells what is lost; 'cygnus array salvage' copies out what is \
             left.",
            args.name
        );
        return confirm(&question, args.yes);
    };
    for line in foreseen.lines() {
        context.output.remark(&line);
    }
    let question = format!(
        "Open {} by force? What cannot be read then is given up for good. Missing members that are brought back before lose \
         nothing.",
        args.name
    );
    confirm(&question, args.yes)
}
