//! `cygnus array check`

use super::Context;
use crate::backend;
use crate::check::Report;
use crate::confirm::confirm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::LogLines;
use crate::progress::{Bar, Counts};
use cygnus_control::scrub::ScrubReport;
use cygnus_engine::{CheckProgress, JobStatus};
use cygnus_host::ArrayName;
use cygnus_host::members::Assembly;
use cygnus_host::state::ArrayRecord;
use cygnus_server::status::scrub_report;
use cygnus_types::counted;
use serde::Serialize;
use std::sync::Arc;

/// The answer: what was found, or after a repair, what is left.
#[derive(Debug, Serialize)]
struct Answer {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<Repair>,
}

#[derive(Debug, Serialize)]
struct Repair {
    /// What was found before.
    before: Report,
    /// What was done.
    done: Done,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Done {
    /// Of a log-structured array.
    Scrub(ScrubReport),
    /// Of one in place.
    InPlace {
        /// Stripes whose copies or parity were written anew.
        renewed_stripes: u64,
    },
}

impl Done {
    fn text(&self) -> String {
        match self {
            Self::Scrub(report) => report.text(),
            Self::InPlace { renewed_stripes } => {
                format!("{} had copies or parity written anew\n", counted(*renewed_stripes, "stripe"))
            }
        }
    }
}

/// Carries out `cygnus array check`.
pub fn run(name: &ArrayName, repair: bool, yes: bool, context: &Context) -> Result<Exit, Failure> {
    context.state.load(name)?;
    context.require_stopped(name, if repair { "repair" } else { "check" })?;
    let (record, assembly) = Assembly::at_rest(&context.state, name)?;
    for why in assembly.left_out.values() {
        context.output.warn(&format!("{why}: the check goes on without it"));
    }
    if let Some(has_left) = assembly.left_in_memory() {
        context.output.warn(&format!(
            "a server of {name} that was killed {has_left}: they are no part of this check, and the next start \
             puts them on the members"
        ));
    }
    let mut answer = Answer { report: check(&record, &assembly, context)?, repair: None };
    let refused = if repair { may_mend(name, &answer.report, yes).err() } else { None };
    if repair && refused.is_none() && answer.report.exit() != Exit::Done {
        let done = match is_in_place(&assembly) {
            true => mend_in_place(&assembly, context),
            false => mend(&assembly, context),
        }?;
        let before = std::mem::replace(&mut answer.report, check(&record, &assembly, context)?);
        answer.repair = Some(Repair { before, done });
    }
    context.output.answer(&answer, |paint| match &answer.repair {
        None => answer.report.text(paint),
        Some(Repair { before, done }) => {
            format!("{}repair: {}{}", before.text(paint), done.text(), answer.report.text(paint))
        }
    })?;
    if let Some(why) = refused {
        context.output.complain(&format!("nothing was repaired: {why}"));
    } else if let (Some(damage), Some(_)) = (answer.report.damage(), &answer.repair) {
        context.output.complain(&format!("{name} has {damage} left, which redundancy cannot mend"));
    }
    Ok(answer.report.exit())
}

fn is_in_place(assembly: &Assembly) -> bool {
    assembly.newest.state.in_place.is_some()
}

fn check(record: &ArrayRecord, assembly: &Assembly, context: &Context) -> Result<Report, Failure> {
    let log = Arc::new(LogLines::details(context.output));
    let bar = bar(context, "segments");
    let show = move |now: CheckProgress| bar.reach_of(now.segments as u64, now.of as u64);
    let report = match is_in_place(assembly) {
        true => backend::inplace::check(record, assembly, show),
        false => backend::check(record, assembly, log, show),
    };
    report.map(if is_in_place(assembly) { Report::in_place } else { Report::new })
}

/// Whether a repair is wanted that may overwrite what is right.
fn may_mend(name: &ArrayName, report: &Report, yes: bool) -> Result<(), Failure> {
    let question = format!(
        "In {name} copies or parity do not fit, and nothing tells which side is right. Take the first copy, and data rather than \
         parity, and overwrite the other?"
    );
    if report.contradicts() { confirm(&question, yes) } else { Ok(()) }
}

fn mend_in_place(assembly: &Assembly, context: &Context) -> Result<Done, Failure> {
    let log = Arc::new(LogLines::details(context.output));
    let bar = bar(context, "stripes repaired");
    let renewed = backend::inplace::repair(assembly, log, |done, all| {
        bar.reach_of(done, all);
    });
    renewed.map(|renewed_stripes| Done::InPlace { renewed_stripes })
}

fn mend(assembly: &Assembly, context: &Context) -> Result<Done, Failure> {
    let log = Arc::new(LogLines::details(context.output));
    let bar = bar(context, "bytes repaired");
    let report = backend::repair(assembly, log, |job: &JobStatus| {
        bar.reach_of(job.done, job.total);
    });
    report.map(scrub_report).map(Done::Scrub)
}

/// The whole is known when it has begun.
fn bar(context: &Context, things: &'static str) -> Bar {
    Bar::new(context.output, Counts::Things(things), None)
}
