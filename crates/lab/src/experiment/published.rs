//! What was published: the lines of `crates/lab/published/*.toml`, and the rule that makes a bound of each.
//!
//! The rule: a value that the paper's text states may be off by 15 %, one that was read from a plot by 25 %; what was
//! published as a range, or as more or less than something, is its own bound; of two things compared the order counts,
//! of a change its sign, and a tie is neither; what is called similar may be off as a value may; and no rate may exceed
//! the hardware's by more than the 1 % to which modelled drives are calibrated. A line may ask for less than the rule
//! allows, never for more. What follows from printed numbers is bounded as they are, and is never called published.
//!
//! A line that is judged no longer is not deleted: it becomes a [`Dropped`] one. `published/ledger.txt` has all that was ever
//! published, so that neither a line nor a change of one goes without a trace (`ledger.rs`).

use serde::{Deserialize, Serialize};

use super::bound::{Bound, rounded};
use crate::interval::as_written;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A number.
    Value,
    /// Which of two is more: their ratio against 1.
    Order,
    /// Whether something rises or falls: its change against 0.
    Sign,
    /// What the hardware can do at most.
    Limit,
}

/// Where in the paper a value was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Read {
    /// It is printed.
    Text,
    /// It was read from a plot.
    Plot,
    /// The paper prints neither it nor two numbers of which it is the quotient: it follows through a model, an assumption or a choice
    /// of ours, which the line names.
    Derived,
}

impl Read {
    /// By how much a value read there may be off, as a fraction.
    pub fn tolerance(self) -> f64 {
        match self {
            Read::Text | Read::Derived => 0.15,
            Read::Plot => 0.25,
        }
    }
}

/// By how much a rate may exceed the hardware's, as a fraction.
const CALIBRATION: f64 = 0.01;

/// What a paper says a number is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Similar to this, or more.
    SimilarOrAbove(f64),
    /// Similar to this, or less.
    SimilarOrBelow(f64),
}

impl Published {
    /// What a number is off from: the nearest that was published.
    pub fn nearest(self, ours: f64) -> f64 {
        match self {
            Published::About(paper) => paper,
            Published::Range(low, high) => ours.clamp(low, high),
            Published::Above(paper) | Published::SimilarOrAbove(paper) => ours.max(paper),
            Published::Below(paper) | Published::SimilarOrBelow(paper) => ours.min(paper),
        }
    }

    /// How far a number is from it, in the number's own unit.
    pub fn distance(self, ours: f64) -> f64 {
        (ours - self.nearest(ours)).abs()
    }
}

impl std::fmt::Display for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Published::About(paper) => write!(f, "{}", rounded(*paper)),
            Published::Range(low, high) => write!(f, "{} to {}", rounded(*low), rounded(*high)),
            Published::Above(paper) => write!(f, "> {}", rounded(*paper)),
            Published::Below(paper) => write!(f, "< {}", rounded(*paper)),
            Published::SimilarOrAbove(paper) => write!(f, "similar to {} or more", rounded(*paper)),
            Published::SimilarOrBelow(paper) => write!(f, "similar to {} or less", rounded(*paper)),
        }
    }
}

/// How a line was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Was {
    /// What it said, or allowed.
    pub said: String,
    /// The day on which that was changed, as 2026-11-23.
    pub until: String,
    /// Why.
    pub reason: String,
}

/// One thing that was published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The experiment.
    pub figure: String,
    /// The part of the figure: a panel, a curve, an order. Parts are what a figure is reproduced in.
    pub panel: String,
    /// What of it.
    pub series: String,
    /// What it is about.
    pub kind: Kind,
    /// As published.
    pub published: Published,
    /// Of the value; empty for what has none.
    #[serde(default)]
    pub unit: String,
    /// Where it was read.
    pub read: Read,
    /// By how much it may be off, as a fraction, where that is less than the rule allows.
    pub within: Option<f64>,
    /// The place in the paper, and its words.
    #[serde(rename = "where")]
    pub place: String,
    /// How it was before, the latest change first.
    #[serde(default)]
    pub was: Vec<Was>,
}

impl Line {
    /// What the rule allows at most.
    pub fn rule(&self) -> Bound {
        bound(self.kind, self.published, self.read.tolerance())
    }

    /// What it allows.
    pub fn bound(&self) -> Bound {
        self.within.map_or_else(|| self.rule(), |within| bound(self.kind, self.published, within))
    }

    /// All that the bound follows from, in the words that the ledger has: "value 800 MB/s, text".
    #[cfg(test)]
    pub(super) fn said(&self) -> String {
        let published = match self.published {
            Published::About(paper) => format!("{paper}"),
            Published::Range(low, high) => format!("{low} to {high}"),
            Published::Above(paper) => format!("> {paper}"),
            Published::Below(paper) => format!("< {paper}"),
            Published::SimilarOrAbove(paper) => format!("similar to {paper} or more"),
            Published::SimilarOrBelow(paper) => format!("similar to {paper} or less"),
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let within = self.within.map_or(String::new(), |within| format!(", within {within}"));
        let word = |of: String| of.to_lowercase();
        let (kind, read) = (word(format!("{:?}", self.kind)), word(format!("{:?}", self.read)));
        format!("{kind} {published}{unit}, {read}{within}")
    }
}

fn bound(kind: Kind, published: Published, within: f64) -> Bound {
    // By a fraction of the number, which may be negative.
    let off = |paper: f64, up: f64| as_written(paper + paper.abs() * within * up);
    match (kind, published) {
        (Kind::Limit, Published::Below(most)) => Bound::AtMost(as_written(most * (1.0 + CALIBRATION))),
        (_, Published::About(paper)) => Bound::Between(off(paper, -1.0), off(paper, 1.0)),
        (_, Published::Range(low, high)) => Bound::Between(low, high),
        (_, Published::Above(paper)) => Bound::MoreThan(paper),
        (_, Published::Below(paper)) => Bound::LessThan(paper),
        (_, Published::SimilarOrAbove(paper)) => Bound::AtLeast(off(paper, -1.0)),
        (_, Published::SimilarOrBelow(paper)) => Bound::AtMost(off(paper, 1.0)),
    }
}

/// Why a published line is judged no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// What it is about cannot be built or run here. The part of the figure that it stands in is not reproduced.
    NotMeasurable,
    /// Ours would be so by construction, or is compared with nothing of anybody else's: shown as a number instead.
    NotJudged,
}

/// A published line that was judged before, and is judged no longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    /// The experiment.
    pub figure: String,
    /// The part of the figure.
    pub panel: String,
    /// What of it.
    pub series: String,
    /// What was published, with its unit.
    pub said: String,
    /// The place in the paper, and its words.
    #[serde(rename = "where")]
    pub place: String,
    /// Why in one word.
    pub why: Why,
    /// The day on which it was dropped, as 2026-11-28.
    pub day: String,
    /// Why.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    line: Vec<Line>,
    #[serde(default)]
    dropped: Vec<Dropped>,
}

/// The files.
const FILES: [(&str, &str); 6] = [
    ("swan.toml", include_str!("../../published/swan.toml")),
    ("serial.toml", include_str!("../../published/serial.toml")),
    ("scala-afa.toml", include_str!("../../published/scala-afa.toml")),
    ("triple-a.toml", include_str!("../../published/triple-a.toml")),
    ("salsa.toml", include_str!("../../published/salsa.toml")),
    ("beyond.toml", include_str!("../../published/beyond.toml")),
];

/// Why a file of published values cannot be judged by.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {why}")]
struct WrongFile {
    file: String,
    why: WrongLine,
}

#[derive(Debug, thiserror::Error)]
enum WrongLine {
    /// The text is no such file; its words have the line.
    #[error(transparent)]
    Text(#[from] toml::de::Error),
    /// Values of this kind are published otherwise.
    #[error("{name}: {published:?} is not of a line's kind {kind:?}")]
    Kind { name: String, published: Published, kind: Kind },
    /// It asks for less than the rule does.
    #[error("{name}: {bound} is looser than the rule, {rule}")]
    Looser { name: String, bound: Bound, rule: Bound },
}

fn wrong(line: &Line) -> Option<WrongLine> {
    let name = format!("{}, {}, {}", line.figure, line.panel, line.series);
    let about_one = matches!(
        line.published,
        Published::Above(1.0) | Published::Below(1.0) | Published::SimilarOrAbove(1.0) | Published::SimilarOrBelow(1.0)
    );
    let about_zero = matches!(line.published, Published::Above(0.0) | Published::Below(0.0));
    let fits = match line.kind {
        Kind::Value => true,
        Kind::Order => about_one,
        Kind::Sign => about_zero,
        Kind::Limit => matches!(line.published, Published::Below(_)),
    };
    if !fits {
        return Some(WrongLine::Kind { name, published: line.published, kind: line.kind });
    }
    let (bound, rule) = (line.bound(), line.rule());
    (!bound.is_within(rule)).then_some(WrongLine::Looser { name, bound, rule })
}

fn parsed(name: &str, text: &str) -> Result<File, WrongFile> {
    let wrong_file = |why| WrongFile { file: name.to_owned(), why };
    let file: File = toml::from_str(text).map_err(|error| wrong_file(error.into()))?;
    match file.line.iter().find_map(wrong) {
        Some(why) => Err(wrong_file(why)),
        None => Ok(file),
    }
}

/// Every line that is judged now, in the files' order.
#[cfg(test)]
pub(super) fn all_lines() -> Vec<Line> {
    files().flat_map(|file| file.line).collect()
}

fn files() -> impl Iterator<Item = File> {
    FILES.iter().map(|(name, text)| parsed(name, text).unwrap_or_else(|why| panic!("{why}")))
}

/// What was published of a figure, in the files' order.
pub fn lines(figure: &str) -> Vec<Line> {
    files().flat_map(|file| file.line).filter(|line| line.figure == figure).collect()
}

/// What was judged of all figures before and is judged no longer, in the files' order.
pub fn all_dropped() -> Vec<Dropped> {
    files().flat_map(|file| file.dropped).collect()
}

/// [`all_dropped`] of a figure.
pub fn dropped(figure: &str) -> Vec<Dropped> {
    all_dropped().into_iter().filter(|dropped| dropped.figure == figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rest: &str) -> Result<Bound, WrongFile> {
        let head = "[[line]]\nfigure = \"a/b\"\npanel = \"p\"\nseries = \"s\"\nwhere = \"section 1\"\n";
        parsed("x.toml", &format!("{head}{rest}\n")).map(|file| file.line[0].bound())
    }

    #[test]
    fn no_line_is_looser_than_its_rule() {
        for line in all_lines() {
            assert!(line.bound().is_within(line.rule()), "{line:?}");
        }
        let looser = line("kind = \"value\"\nread = \"text\"\npublished = { about = 800 }\nwithin = 0.2");
        assert!(looser.is_err_and(|wrong| matches!(wrong.why, WrongLine::Looser { .. })));
        let tighter = line("kind = \"value\"\nread = \"plot\"\npublished = { about = 800 }\nwithin = 0.2");
        assert_eq!(tighter.unwrap(), Bound::Between(640.0, 960.0));
    }

    #[test]
    fn bounds_follow_from_the_rule() {
        let of = |kind: &str, read: &str, published: &str| {
            line(&format!("kind = \"{kind}\"\nread = \"{read}\"\npublished = {{ {published} }}"))
        };
        assert_eq!(of("value", "text", "about = 800").unwrap(), Bound::Between(680.0, 920.0));
        assert_eq!(of("value", "plot", "about = 800").unwrap(), Bound::Between(600.0, 1000.0));
        assert_eq!(of("value", "plot", "range = [300, 750]").unwrap(), Bound::Between(300.0, 750.0));
        assert_eq!(of("value", "text", "above = 4").unwrap(), Bound::MoreThan(4.0));
        assert_eq!(of("value", "text", "about = 0").unwrap(), Bound::Between(0.0, 0.0));
        assert_eq!(of("value", "derived", "about = 800").unwrap(), of("value", "text", "about = 800").unwrap());
        assert_eq!(of("order", "text", "below = 1").unwrap(), Bound::LessThan(1.0));
        assert_eq!(of("order", "text", "similar-or-above = 1").unwrap(), Bound::AtLeast(0.85));
        assert_eq!(of("sign", "plot", "above = 0").unwrap(), Bound::MoreThan(0.0));
        assert_eq!(of("limit", "text", "below = 400").unwrap(), Bound::AtMost(404.0));
        for (kind, published) in
            [("order", "about = 1"), ("order", "above = 2"), ("sign", "above = 1"), ("limit", "above = 1")]
        {
            assert!(of(kind, "text", published).is_err(), "{kind} {published}");
        }
    }

    #[test]
    fn each_thing_is_published_once_and_changes_have_a_day_and_a_reason() {
        let all = all_lines();
        for (n, line) in all.iter().enumerate() {
            let same = |other: &&Line| {
                (&other.figure, &other.panel, &other.series) == (&line.figure, &line.panel, &line.series)
            };
            assert!(!all[..n].iter().any(|other| same(&other)), "{line:?} twice");
            assert!(!line.place.is_empty() && !line.panel.is_empty() && !line.series.is_empty(), "{line:?}");
            for was in &line.was {
                let day = was.until.len() == 10 && was.until.starts_with("20");
                assert!(day && !was.said.is_empty() && !was.reason.is_empty(), "{line:?}");
            }
        }
    }

    #[test]
    fn what_is_judged_no_longer_has_a_day_and_a_reason_and_is_no_line() {
        let all = all_lines();
        for dropped in all_dropped() {
            assert!(crate::experiment::experiment(&dropped.figure).is_some(), "{dropped:?} is of no experiment");
            let names = (&dropped.figure, &dropped.panel, &dropped.series);
            assert!(
                !all.iter().any(|line| (&line.figure, &line.panel, &line.series) == names),
                "{dropped:?} is judged"
            );
            let day = dropped.day.len() == 10 && dropped.day.starts_with("20");
            let words = [&dropped.panel, &dropped.series, &dropped.said, &dropped.place, &dropped.reason];
            assert!(day && words.iter().all(|word| !word.is_empty()), "{dropped:?}");
        }
    }

    #[test]
    fn a_number_is_off_from_the_nearest_that_was_published() {
        assert_eq!(Published::About(800.0).distance(760.0), 40.0);
        assert_eq!(Published::Range(300.0, 750.0).distance(500.0), 0.0);
        assert_eq!((Published::Range(300.0, 750.0).distance(150.0), Published::Above(4.0).distance(3.0)), (150.0, 1.0));
        assert_eq!(Published::SimilarOrBelow(1.0).distance(0.5), 0.0);
    }
}
