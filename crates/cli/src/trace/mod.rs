//! `cygnus trace`: block traces described, made up and converted.

mod list;
mod stat;
mod write;

use crate::args::trace::{ReadArgs, TraceCommand};
use crate::failure::Failure;
use crate::output::Output;
use cygnus_workload::trace::{ASSUMED_LEN, BadLine, ReadOptions, Skipped, TraceReader};
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
