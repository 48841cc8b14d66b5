//! All that is written down of an experiment.

use serde::{Deserialize, Serialize};

use super::bound::rounded;
use super::check::Check;
use super::published::Dropped;
use super::verdict::Verdict;
use crate::interval::Interval;

/// A number of ours that was not published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// Of what.
    pub what: String,
    /// In which unit.
    pub unit: String,
    /// As measured, over all seeds; nothing if there was nothing to measure.
    pub ours: Option<Interval>,
}

impl Number {
    /// Of values by seed, to four digits.
    pub fn new(what: String, unit: &str, values: &[f64]) -> Self {
        let values: Vec<f64> = values.iter().copied().map(rounded).collect();
        Self { what, unit: unit.into(), ours: Interval::measured(&values) }
    }
}

/// One array's totals: medians over all seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The trial's name.
    pub name: String,
    /// The drives.
    pub drives: String,
    /// User writes in MB/s; nothing if no time was measured, here and in the next one.
    pub write_mb_s: Option<f64>,
    /// User reads in MB/s.
    pub read_mb_s: Option<f64>,
    /// Coefficient of variation of the throughput, in percent; nothing if there were no bytes.
    pub variation_percent: Option<f64>,
    /// Blocks written to drives per block written by users; nothing if there were none.
    pub array_wa: Option<f64>,
    /// Flash pages programmed per page written to the drives; nothing if there were none.
    pub drive_wa: Option<f64>,
    /// Valid share of the segments cleaned, in percent; nothing if there were none.
    pub victims_valid_percent: Option<f64>,
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Version of this form; rises when a member is removed or changes its meaning.
    pub schema: u32,
    /// Which.
    pub id: String,
    /// Name of the mechanism that was switched on in its drives, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<String>,
    /// In a line.
    pub title: String,
    /// What the paper shows.
    pub published: String,
    /// How many times smaller than the paper's it was.
    pub scale: f64,
    /// Each of all random choices of a run: every array was run with each of them.
    pub seeds: Vec<u64>,
    /// The chance with which an interval over that many seeds encloses the median.
    pub confidence: f64,
    /// In four words.
    pub verdict: Verdict,
    /// What was published beside ours.
    pub checks: Vec<Check>,
    /// What was judged before, and is judged no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
    /// Our numbers that were not published.
    pub numbers: Vec<Number>,
    /// The arrays.
    pub trials: Vec<Measured>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Names of the charts' files, without an extension.
    pub charts: Vec<String>,
}

/// See [`Judgement::schema`].
pub(super) const SCHEMA: u32 = 4;

impl Judgement {
    /// Whether it is about a published figure; else about what papers claim, on drives or in places that they do not have.
    pub fn is_of_a_figure(&self) -> bool {
        !self.id.starts_with("beyond/")
    }
}
