//! The table of a sweep: a row for each run, as comma-separated values.

use super::run::{RunFailed, SweepRun};
use crate::files::{cell, cells, fixed, in_unit};
use crate::outcome::{Outcome, quotient_per_second};
use std::collections::BTreeMap;
use std::fmt::Display;
use toml::Value;

/// Kinds of requests that rows tell of, and the percentiles of their latencies.
const KINDS: [&str; 2] = ["read", "write"];
const PERCENTILES: [(&str, u64); 5] =
    [("p50", 50_000), ("p99", 99_000), ("p99_9", 99_900), ("p99_99", 99_990), ("p99_999", 99_999)];

/// The rows of a sweep's output: how they are written, and which there are already.
#[derive(Clone, Debug)]
pub struct Rows {
    keys: Vec<String>,
    /// What made them, so that rows of different programs do not come together.
    made_by: String,
}

/// A line of an output that is no row of the sweep: why, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}: name another output, or move this one away")]
pub struct WrongRow {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl Rows {
    /// Rows with these keys, made by this version of the program.
    pub fn new<'a>(keys: impl Iterator<Item = &'a str>, made_by: &str) -> Self {
        Self { keys: keys.map(str::to_owned).collect(), made_by: made_by.into() }
    }

    /// The names of the columns.
    pub fn columns(&self) -> Vec<String> {
        let fixed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut columns = fixed(&["id", "version", "array"]);
        columns.extend(self.keys.iter().cloned());
        columns.extend(fixed(&["seed", "drive", "drives", "volume_bytes", "measured_s", "makespan_s"]));
        for kind in KINDS {
            columns.extend(["iops", "mb_s", "mean_us"].map(|name| format!("{kind}_{name}")));
            columns.extend(PERCENTILES.map(|(name, _)| format!("{kind}_{name}_us")));
            columns.push(format!("{kind}_max_us"));
        }
        columns.extend(fixed(&[
            "throughput_variation",
            "array_write_amplification",
            "cleaning_amplification",
            "drive_write_amplification",
            "rotations",
            "victims",
            "victims_valid",
            "cpu_cores",
            "busiest_core",
            "error",
        ]));
        columns
    }

    /// The first line, without its end.
    pub fn header(&self) -> String {
        self.columns().iter().map(|name| cell(name)).collect::<Vec<_>>().join(",")
    }

    /// The row of a run, without its end: its numbers, or why there are none.
    pub fn row(&self, run: &SweepRun, outcome: Result<&Outcome, &RunFailed>) -> String {
        let mut cells = vec![run.id.clone(), cell(&self.made_by), cell(run.array())];
        cells.extend(run.values.iter().map(|(_, value)| cell(&plain(value))));
        cells.push(run.seed.to_string());
        match outcome {
            Ok(outcome) => {
                cells.extend(numbers(outcome));
                cells.push(String::new());
            }
            Err(why) => {
                cells.resize(self.columns().len() - 1, String::new());
                cells.push(cell(&why.to_string()));
            }
        }
        cells.join(",")
    }

    /// The cells of a row that this wrote.
    pub fn cells(row: &str) -> Vec<String> {
        cells(row)
    }

    /// The rows of `runs` that are in the text of an output, by the number of the run, and how many bytes of the text are
    /// whole lines. What a run left that failed, or that was killed as it wrote, is no row.
    ///
    /// # Errors
    /// When a line is no row of one of these runs, or was made by another version of the program.
    pub fn read(&self, text: &str, runs: &[SweepRun]) -> Result<(BTreeMap<usize, String>, usize), WrongRow> {
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines().zip(1..);
        let wrong = |line, message: &str| Err(WrongRow { line, message: message.into() });
        if lines.next().is_some_and(|(header, _)| header != self.header()) {
            return wrong(1, "the columns are not those of this sweep");
        }
        let numbers: BTreeMap<&str, usize> = runs.iter().map(|run| run.id.as_str()).zip(0..).collect();
        let mut done = BTreeMap::new();
        for (row, line) in lines {
            let cells = Self::cells(row);
            let failed = cells.len() == self.columns().len() && cells.last().is_some_and(|error| !error.is_empty());
            let number = match numbers.get(cells[0].as_str()) {
                Some(&number) => number,
                // A run whose trace was not there, or was another one, is told otherwise once it can be played.
                None if failed => continue,
                None => return wrong(line, "not a row of this sweep"),
            };
            if cells.len() != self.columns().len() {
                return wrong(line, "a row with columns missing or too many");
            }
            if cells[1] != self.made_by {
                let message = format!("made by version {}, and this is {}", cells[1], self.made_by);
                return Err(WrongRow { line, message });
            }
            match failed {
                true => done.remove(&number),
                false => done.insert(number, row.to_owned()),
            };
        }
        Ok((done, whole))
    }
}

/// A value as a cell shows it: text without quotes, the rest as TOML writes it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn numbers(outcome: &Outcome) -> Vec<String> {
    let mut cells: Vec<String> = vec![
        cell(&outcome.drive),
        outcome.drives.to_string(),
        outcome.volume_bytes.to_string(),
        in_unit(outcome.measured_ns, 1_000_000_000),
        outcome.makespan_ns.map_or(String::new(), |span| in_unit(span, 1_000_000_000)),
    ];
    for kind in KINDS {
        cells.extend(of_kind(outcome, kind));
    }
    // A quotient of nothing is none.
    let quotient = |milli: Option<u64>| milli.map_or(String::new(), fixed);
    let amplifications = [
        outcome.array_write_amplification_milli,
        outcome.cleaning_amplification_milli,
        outcome.drive_write_amplification_milli,
    ];
    cells.push(quotient(outcome.throughput_variation_milli));
    cells.extend(amplifications.map(quotient));
    let counts: [&dyn Display; 2] = [&outcome.rotations, &outcome.victims];
    cells.extend(counts.map(ToString::to_string));
    cells.push(quotient(outcome.victim_valid_milli));
    cells.extend([outcome.cpu_milli, outcome.busiest_core_milli].map(fixed));
    cells
}

/// Rates and latencies of all clients' requests of a kind; the former are empty if no time was measured, the latter if there were none.
fn of_kind(outcome: &Outcome, kind: &str) -> Vec<String> {
    let rows = || outcome.latency.iter().filter(|row| row.kind == kind);
    let sum = |of: fn(&crate::LatencyRow) -> u64| rows().map(of).sum::<u64>();
    let (count, bytes) = (sum(|row| row.count), sum(|row| row.bytes));
    let rate = |of: u64| quotient_per_second(of, outcome.measured_ns);
    let rates = [rate(count).map(|rate| rate.to_string()), rate(bytes).map(|rate| fixed(rate / 1000))];
    let rates = rates.map(Option::unwrap_or_default);
    let mut latencies = vec![String::new(); PERCENTILES.len() + 2];
    if count > 0 {
        let micros = |ns: u64| in_unit(ns, 1000);
        let total: u128 = rows().map(|row| u128::from(row.mean_ns) * u128::from(row.count)).sum();
        let max = rows().map(|row| row.max_ns).max().unwrap_or(0);
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        for (bound, count) in rows().flat_map(|row| &row.buckets) {
            *buckets.entry(bound.0).or_default() += count;
        }
        let at = |share: u64| micros(percentile(&buckets, count, share).min(max));
        latencies[0] = micros((total / u128::from(count)) as u64);
        for (n, (_, share)) in PERCENTILES.iter().enumerate() {
            latencies[n + 1] = at(*share);
        }
        *latencies.last_mut().expect("there are some") = micros(max);
    }
    rates.into_iter().chain(latencies).collect()
}

/// The latency that this share, in hundred thousandths, does not exceed.
fn percentile(buckets: &BTreeMap<u64, u64>, count: u64, share: u64) -> u64 {
    let rank = (u128::from(count) * u128::from(share)).div_ceil(100_000).max(1);
    let mut seen = 0;
    let reaches = buckets.iter().find(|(_, count)| {
        seen += u128::from(**count);
        seen >= rank
    });
    reaches.map_or(0, |(bound, _)| *bound)
}
