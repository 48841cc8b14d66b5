//! Whether a figure is like the published one.

use serde::{Deserialize, Serialize};

/// What a measured number must be for a check to hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// From the first to the second.
    Between(f64, f64),
}

impl Bound {
    /// Whether a number keeps it. What is no number keeps none.
    pub fn admits(self, number: f64) -> bool {
        match self {
            Bound::AtLeast(least) => number >= least,
            Bound::AtMost(most) => number <= most,
            Bound::Between(least, most) => (least..=most).contains(&number),
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::AtLeast(least) => write!(f, "at least {}", rounded(*least)),
            Bound::AtMost(most) => write!(f, "at most {}", rounded(*most)),
            Bound::Between(least, most) => write!(f, "{} to {}", rounded(*least), rounded(*most)),
        }
    }
}

/// Something that must hold for the figure to be like the published one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// In words, with the unit of the number.
    pub claim: String,
    /// Stated beforehand.
    pub bound: Bound,
    /// What came out.
    pub measured: f64,
    /// Whether it holds.
    pub holds: bool,
    /// Why it does not, if that is known.
    pub explanation: Option<Explanation>,
}

/// Why a check does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// In words.
    pub why: String,
    /// What was measured that shows it. A difference is accounted for only if this holds.
    pub shown_by: Option<Box<Check>>,
}

impl Check {
    /// A check of a number against a bound.
    pub fn new(claim: impl Into<String>, bound: Bound, measured: f64) -> Self {
        // What is written is what was judged, to six decimals.
        let measured = (measured * 1e6).round() / 1e6;
        Self { claim: claim.into(), bound, measured, holds: bound.admits(measured), explanation: None }
    }

    /// The same, with what to say should it not hold: a guess, which accounts for nothing.
    pub fn or_else(self, why: &str) -> Self {
        self.explained(why, None)
    }

    /// The same, with the reason should it not hold, and what shows that this is the reason.
    pub fn or_because(self, why: &str, shown_by: Check) -> Self {
        self.explained(why, Some(Box::new(shown_by)))
    }

    fn explained(self, why: &str, shown_by: Option<Box<Check>>) -> Self {
        let explanation = (!self.holds).then(|| Explanation { why: why.to_owned(), shown_by });
        Self { explanation, ..self }
    }

    /// Whether it holds, or does not for a reason that was shown.
    pub fn stands(&self) -> bool {
        let shown = |explanation: &Explanation| explanation.shown_by.as_ref().is_some_and(|check| check.holds);
        self.holds || self.explanation.as_ref().is_some_and(shown)
    }

    /// "holds", "differs" (from the paper, for a reason that was shown) or "deviates".
    pub fn word(&self) -> &'static str {
        word(self.holds, self.stands())
    }
}

fn word(holds: bool, stands: bool) -> &'static str {
    match (holds, stands) {
        (true, _) => "holds",
        (false, true) => "differs",
        (false, false) => "deviates",
    }
}

/// What a paper says a number is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Published {
    /// This.
    About(f64),
    /// Something in between.
    Range(f64, f64),
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// Only words.
    Words(String),
}

impl Published {
    /// By how much a number is off, as a fraction; nothing where there is nothing to be off from.
    pub fn deviation(&self, ours: f64) -> Option<f64> {
        let from = |paper: f64| (paper != 0.0).then(|| ours / paper - 1.0);
        match *self {
            Published::About(paper) => from(paper),
            Published::Range(low, _) if ours < low => from(low),
            Published::Range(_, high) if ours > high => from(high),
            Published::Above(paper) if ours < paper => from(paper),
            Published::Below(paper) if ours > paper => from(paper),
            Published::Range(..) | Published::Above(_) | Published::Below(_) => Some(0.0),
            Published::Words(_) => None,
        }
    }
}

impl std::fmt::Display for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Published::About(paper) => write!(f, "{}", rounded(*paper)),
            Published::Range(low, high) => write!(f, "{} to {}", rounded(*low), rounded(*high)),
            Published::Above(paper) => write!(f, "> {}", rounded(*paper)),
            Published::Below(paper) => write!(f, "< {}", rounded(*paper)),
            Published::Words(words) => f.write_str(words),
        }
    }
}

/// One number of ours beside the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// Of what.
    pub what: String,
    /// In which unit.
    pub unit: String,
    /// As published; nothing if it was not.
    pub paper: Option<Published>,
    /// As measured.
    pub ours: f64,
}

impl Number {
    /// A number that was published.
    pub fn beside(what: impl Into<String>, unit: &str, paper: Published, ours: f64) -> Self {
        Self { what: what.into(), unit: unit.into(), paper: Some(paper), ours: rounded(ours) }
    }

    /// A number that was not.
    pub fn ours(what: impl Into<String>, unit: &str, ours: f64) -> Self {
        Self { what: what.into(), unit: unit.into(), paper: None, ours: rounded(ours) }
    }
}

/// Four digits: the rest is noise.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// One array's totals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The trial's name.
    pub name: String,
    /// The drives.
    pub drives: String,
    /// User writes in MB/s.
    pub write_mb_s: f64,
    /// User reads in MB/s.
    pub read_mb_s: f64,
    /// Coefficient of variation of the throughput, in percent.
    pub variation_percent: f64,
    /// Blocks written to drives per block written by users.
    pub array_wa: f64,
    /// Flash pages programmed per page written to the drives.
    pub drive_wa: f64,
    /// Valid share of the segments cleaned, in percent.
    pub victims_valid_percent: f64,
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Version of this form; rises when a member is removed or changes its meaning.
    pub schema: u32,
    /// Which.
    pub id: String,
    /// In a line.
    pub title: String,
    /// What the paper shows.
    pub published: String,
    /// How many times smaller than the paper's it was.
    pub scale: f64,
    /// Of all random choices.
    pub seed: u64,
    /// Whether all checks hold.
    pub holds: bool,
    /// Whether all checks hold, or do not for a reason that was shown.
    pub stands: bool,
    /// The checks.
    pub checks: Vec<Check>,
    /// Our numbers beside the paper's.
    pub numbers: Vec<Number>,
    /// The arrays.
    pub trials: Vec<Measured>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Names of the charts' files, without an extension.
    pub charts: Vec<String>,
}

/// See [`Verdict::schema`].
pub(super) const SCHEMA: u32 = 2;

impl Verdict {
    /// "holds", "differs" (some check does, but for a reason that was shown) or "deviates".
    pub fn word(&self) -> &'static str {
        word(self.holds, self.stands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_admit_their_ends_and_no_nonsense() {
        assert!(Bound::AtLeast(0.95).admits(0.95) && !Bound::AtLeast(0.95).admits(0.949));
        assert!(Bound::Between(1.0, 2.0).admits(2.0) && !Bound::Between(1.0, 2.0).admits(2.01));
        assert!(!Bound::AtMost(1.0).admits(f64::NAN) && !Bound::AtLeast(1.0).admits(f64::NAN));
    }

    #[test]
    fn people_are_shown_four_digits_of_a_bound() {
        assert_eq!(Bound::Between(300.0 / 1120.0, 0.95).to_string(), "0.2679 to 0.95");
        assert_eq!(
            (Bound::AtLeast(1250.0).to_string().as_str(), Published::Above(4.0).to_string().as_str()),
            ("at least 1250", "> 4")
        );
    }

    #[test]
    fn deviations_are_from_the_nearest_published_value() {
        assert_eq!(Published::About(800.0).deviation(760.0), Some(760.0 / 800.0 - 1.0));
        assert_eq!(Published::Range(300.0, 750.0).deviation(500.0), Some(0.0));
        assert_eq!(Published::Range(300.0, 750.0).deviation(150.0), Some(-0.5));
        assert_eq!(Published::Above(4.0).deviation(3.0), Some(-0.25));
    }

    #[test]
    fn only_a_check_that_fails_is_explained() {
        let why = |check: Check| check.explanation.map(|explanation| explanation.why);
        assert_eq!(why(Check::new("a", Bound::AtLeast(1.0), 2.0).or_else("why")), None);
        assert_eq!(why(Check::new("a", Bound::AtLeast(3.0), 2.0).or_else("why")).as_deref(), Some("why"));
    }

    #[test]
    fn a_difference_stands_only_on_what_was_measured() {
        let fails = || Check::new("a", Bound::AtLeast(3.0), 2.0);
        let shown = |measured| fails().or_because("why", Check::new("b", Bound::AtMost(1.0), measured));
        assert_eq!((fails().word(), fails().or_else("a guess").word()), ("deviates", "deviates"));
        assert_eq!((shown(0.5).word(), shown(1.5).word()), ("differs", "deviates"));
        assert!(shown(0.5).stands() && !shown(0.5).holds);
    }
}
