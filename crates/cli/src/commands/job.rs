//! Jobs as the commands see them: started, followed with a bar until they end, cancelled.

use super::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::{Bar, Counts};
use cygnus_control::client::{Client, ClientError};
use cygnus_control::protocol::{Request, Response};
use cygnus_control::show;
use cygnus_control::status::{JobState, JobStatus};
use cygnus_host::ArrayName;
use cygnus_types::ByteSize;
use serde::Serialize;
use std::time::Duration;

/// How often a job is asked for.
const POLL: Duration = Duration::from_millis(200);

/// What a command that starts a job answers.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    job: &'a JobStatus,
}

/// Sends a request that starts a job.
pub fn begin(
    serve: &mut Client,
    request: &Request,
    array: &ArrayName,
    context: &Context,
) -> Result<JobStatus, Failure> {
    match context.change(serve, request, array)? {
        Response::Job { job } => Ok(*job),
        other => Err(serve.unexpected(&other).into()),
    }
}

/// With `wait` returns when a job has ended, and complains when that was not well; without, as soon as it runs.
pub fn conclude(serve: &mut Client, mut job: JobStatus, wait: bool, context: &Context) -> Result<Exit, Failure> {
    if wait {
        job = follow(serve, job, context)?;
    }
    context.output.answer(&Answer { job: &job }, |_| sentence(&job))?;
    Ok(verdict(&job, context))
}

/// `cygnus array cancel`
pub fn cancel(name: &ArrayName, id: u64, context: &Context) -> Result<(), Failure> {
    let mut serve = context.require_served(name, "cancel a job")?;
    let job = ask(&mut serve, &Request::CancelJob { id })?;
    let job = follow(&mut serve, job, context)?;
    context.output.answer(&Answer { job: &job }, |_| sentence(&job))
}

pub(super) fn ask(serve: &mut Client, request: &Request) -> Result<JobStatus, Failure> {
    match serve.call(request)? {
        Response::Job { job } => Ok(*job),
        other => Err(serve.unexpected(&other).into()),
    }
}

/// Shows a bar (on a terminal) until the job has ended.
pub(super) fn follow(serve: &mut Client, mut job: JobStatus, context: &Context) -> Result<JobStatus, Failure> {
    let bar = Bar::new(context.output, Counts::OwnWords, None);
    while job.state == JobState::Running {
        bar.reach_of(job.done_bytes, job.total_bytes);
        bar.say(&format!("{} {}: {}", job.kind, job.subject, progress(&job)));
        std::thread::sleep(POLL);
        job = ask(serve, &Request::Job { id: job.id }).map_err(|failure| match failure {
            // It had begun, and may have ended or go on with the next server.
            Failure::Control(error @ (ClientError::Io { .. } | ClientError::Timeout { .. })) => Failure::Unknown(format!(
                "{error}: what has become of the {} of {}, which had begun, 'cygnus array status' tells once the array is served",
                job.kind, job.subject
            )),
            other => other,
        })?;
    }
    Ok(job)
}

fn progress(job: &JobStatus) -> String {
    let left = job.eta_seconds.map_or(String::new(), |left| format!(", {} left", show::span(left)));
    let (done, total) = (ByteSize(job.done_bytes), ByteSize(job.total_bytes));
    format!("{done} of {total}, {}{left}", show::rate(job.rate))
}

pub(super) fn sentence(job: &JobStatus) -> String {
    let what = format!("{} of {}", job.kind, job.subject);
    let (done, span) = (ByteSize(job.done_bytes), show::span(job.elapsed_seconds));
    match job.state {
        JobState::Running => format!("Job {}: {what} has begun; 'cygnus array status' shows its progress.\n", job.id),
        JobState::Done => format!("The {what} is done: {done} in {span}, {}.\n", show::rate(job.rate)),
        JobState::Cancelled => format!("The {what} was cancelled after {span}.\n"),
        // The complaint says so.
        JobState::Failed => String::new(),
    }
}

/// Complains if it did not come to its end.
pub(super) fn verdict(job: &JobStatus, context: &Context) -> Exit {
    let what = format!("the {} of {}", job.kind, job.subject);
    let complaint = match (&job.state, &job.why) {
        (JobState::Running | JobState::Done, _) => return Exit::Done,
        (JobState::Cancelled, _) => format!("{what} was cancelled"),
        (JobState::Failed, why) => format!("{what} failed: {}", why.as_deref().unwrap_or("it did not say why")),
    };
    context.output.verdict(false, &complaint)
}
