//! `cygnus trace`: block traces described, made up and converted.

mod list;
mod stat;
mod write;

use crate::args::trace::{ReadArgs, TraceCommand};
use crate::failure::Failure;
use crate::output::Output;
use cygnus_types::Nanos;
use cygnus_workload::trace::{ASSUMED_LEN, BadLine, ReadOptions, Record, Reorder, Skipped, Spread, TraceReader};
use serde::Serialize;
use std::path::Path;

/// Carries out `cygnus trace`.
pub fn run(command: &TraceCommand, output: Output) -> Result<(), Failure> {
    match command {
        TraceCommand::Stat(args) => stat::run(args, output),
        TraceCommand::Synth(args) => write::synth(args, output),
        TraceCommand::Convert(args) => write::convert(args, output),
        TraceCommand::List => list::run(output),
    }
}

fn open(path: &Path, args: &ReadArgs) -> Result<TraceReader<'static>, Failure> {
    let options = ReadOptions { format: args.format, columns: args.columns.clone(), skip: args.skip };
    TraceReader::open(path, options).map_err(Failure::of)
}

/// The requests of a trace as a replay has them.
struct InOrder(Spread<Reorder<TraceReader<'static>>>);

impl InOrder {
    fn of(reader: TraceReader<'static>) -> Self {
        let tick = reader.tick();
        Self(Spread::new(Reorder::new(reader), tick))
    }

    fn reader(&self) -> &TraceReader<'static> {
        self.0.source().source()
    }

    /// Requests found behind a later one.
    fn out_of_order(&self) -> u64 {
        self.0.source().out_of_order()
    }

    /// Seconds over which requests of one time are spread, if they are.
    fn step_seconds(&self) -> Option<f64> {
        self.0.step().map(Nanos::as_secs_f64)
    }

    fn next(&mut self) -> Result<Option<Record>, Failure> {
        self.0.next().transpose().map_err(Failure::of)
    }
}

/// A sentence about a clock that is coarse, or nothing.
fn spread(step_seconds: Option<f64>) -> String {
    step_seconds.map_or(String::new(), |step| {
        let step = Nanos((step * 1e9) as u64);
        format!("The clock counts {step}: requests of one such step are spread evenly over it\n")
    })
}

/// A sentence about requests whose lengths the trace does not tell, or nothing.
fn assumed(requests: u64) -> String {
    match requests {
        0 => String::new(),
        _ => format!("{requests} requests have no length in the file and are taken for {ASSUMED_LEN} bytes\n"),
    }
}

/// The lines that were skipped, for answers.
#[derive(Debug, Serialize)]
struct SkippedLines {
    count: u64,
    first: Vec<SkippedLine>,
    #[serde(skip)]
    sentence: String,
}

#[derive(Debug, Serialize)]
struct SkippedLine {
    line: u64,
    reason: String,
}

impl From<&Skipped> for SkippedLines {
    fn from(skipped: &Skipped) -> Self {
        let line = |bad: &BadLine| SkippedLine { line: bad.line, reason: bad.reason.to_string() };
        Self { count: skipped.count, first: skipped.first.iter().map(line).collect(), sentence: format!("{skipped}\n") }
    }
}

impl SkippedLines {
    /// A sentence, or nothing.
    fn text(&self) -> String {
        if self.count == 0 { String::new() } else { self.sentence.clone() }
    }
}
