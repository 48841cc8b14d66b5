//! `cygnus array scrub`

use super::{Context, job};
use crate::exit::Exit;
use crate::failure::Failure;
use cygnus_control::client::Client;
use cygnus_control::protocol::{Request, Response};
use cygnus_control::scrub::ScrubReport;
use cygnus_control::status::{JobState, JobStatus};
use cygnus_host::ArrayName;
use serde::Serialize;

/// The answer of `array scrub`.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    job: &'a JobStatus,
    /// What it found; absent while it runs.
    report: Option<ScrubReport>,
}

/// Carries out `cygnus array scrub`.
pub fn run(name: &ArrayName, wait: bool, context: &Context) -> Result<Exit, Failure> {
    let mut serve = context.require_served(name, "scrub it")?;
    let mut job = job::begin(&mut serve, &Request::Scrub, name, context)?;
    if wait {
        job = job::follow(&mut serve, job, context)?;
    }
    let report = match job.state {
        JobState::Running => None,
        _ => report(&mut serve)?,
    };
    let answer = Answer { job: &job, report };
    context.output.answer(&answer, |_| {
        let found = answer.report.as_ref().map_or(String::new(), ScrubReport::text);
        job::sentence(&job) + &found
    })?;
    let ended = job::verdict(&job, context);
    Ok(answer.report.as_ref().map_or(ended, |report| ended.max(judge(report, context))))
}

/// What the findings of a scrub come to: what was mended is well.
fn judge(report: &ScrubReport, context: &Context) -> Exit {
    if let Some(loss) = report.loss() {
        context.output.complain(&loss);
        return Exit::Unavailable;
    }
    if report.blocks_without_room > 0 { Exit::Attention } else { Exit::Done }
}

fn report(serve: &mut Client) -> Result<Option<ScrubReport>, Failure> {
    match serve.call(&Request::Status)? {
        Response::Status { array } => Ok(array.scrub.report),
        other => Err(serve.unexpected(&other).into()),
    }
}
