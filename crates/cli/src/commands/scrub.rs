//! `cygnus array scrub`

use super::{Context, job};
use crate::args::values::ArrayName;
use crate::failure::Failure;
use cygnus_control::client::Client;
use cygnus_control::protocol::{Request, Response};
use cygnus_control::scrub::ScrubReport;
use cygnus_control::status::{JobState, JobStatus};
use serde::Serialize;

/// The answer of `array scrub`.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    job: &'a JobStatus,
    /// What it found; absent while it runs.
    report: Option<ScrubReport>,
}

/// Does it.
pub fn run(name: &ArrayName, wait: bool, context: &Context) -> Result<(), Failure> {
    let mut serve = context.require_served(name, "scrub it")?;
    let mut job = job::ask(&mut serve, &Request::Scrub)?;
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
    job::verdict(&job)?;
    match answer.report.and_then(|report| report.loss()) {
        None => Ok(()),
        Some(loss) => Err(Failure::Failed(loss)),
    }
}

fn report(serve: &mut Client) -> Result<Option<ScrubReport>, Failure> {
    match serve.call(&Request::Status)? {
        Response::Status { array } => Ok(array.scrub.report),
        other => Err(serve.unexpected(&other).into()),
    }
}
