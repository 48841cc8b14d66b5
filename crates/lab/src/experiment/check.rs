//! One published thing beside ours.

use serde::{Deserialize, Serialize};

use super::bound::{Bound, Ruling, rounded};
use super::causal::Causal;
use super::published::{Kind, Line, Published, Read, Was};
use crate::interval::{Interval, as_written};

/// One published thing beside ours, and what is made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The experiment.
    pub figure: String,
    /// The part of the figure.
    pub panel: String,
    /// What of it.
    pub series: String,
    /// What it is about.
    pub kind: Kind,
    /// As published.
    pub published: Published,
    /// Of the value.
    pub unit: String,
    /// Where it was read.
    pub read: Read,
    /// The place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// How the line was before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub was: Vec<Was>,
    /// What is allowed.
    pub bound: Bound,
    /// Ours, over all seeds; nothing if there was nothing to measure.
    pub ours: Option<Interval>,
    /// What is made of it.
    pub ruling: Ruling,
    /// Unless it holds or was not measured: how far ours is off.
    pub gap: Option<Gap>,
    /// Should it fail: the experiments that were to show why, one for each supposed cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Causal>,
    /// The same at a second scale, if it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
}

/// What came of a check on drives of another size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Again {
    /// How many times smaller than the paper's these were.
    pub scale: f64,
    /// Ours there, over all seeds.
    pub ours: Option<Interval>,
    /// What is made of it there.
    pub ruling: Ruling,
    /// Unless it holds there: how far ours is off.
    pub gap: Option<Gap>,
    /// Should it fail there: the experiments that were to show why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Causal>,
}

impl Again {
    /// A check as it came out at that scale.
    pub(super) fn new(scale: f64, check: Check) -> Self {
        Self { scale, ours: check.ours, ruling: check.ruling, gap: check.gap, causes: check.causes }
    }
}

/// How far ours is off what was published.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Ours less the nearest that was published, in the unit of the number.
    pub by: f64,
    /// The same as a fraction of what was published; nothing of zero.
    pub share: Option<f64>,
}

impl Gap {
    /// Of a median, or of an interval's farther end where the median is not off at all.
    fn of(published: Published, ours: Interval) -> Self {
        let farthest =
            [ours.low, ours.high].into_iter().max_by(|a, b| published.distance(*a).total_cmp(&published.distance(*b)));
        let off = if published.distance(ours.median) > 0.0 { Some(ours.median) } else { farthest };
        let ours = off.unwrap_or(ours.median);
        let from = published.nearest(ours);
        Self { by: as_written(ours - from), share: (from != 0.0).then(|| as_written((ours - from) / from.abs())) }
    }
}

impl std::fmt::Display for Gap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.share {
            Some(share) if share.abs() < 0.0995 => write!(f, "{:+.1} %", share * 100.0),
            Some(share) if share < 9.0 => write!(f, "{:+.0} %", share * 100.0),
            Some(share) => write!(f, "{:.0} times as much", share + 1.0),
            None => write!(f, "{}{}", if self.by > 0.0 { "+" } else { "" }, rounded(self.by)),
        }
    }
}

impl Check {
    /// Judges a number by its line. What was not measured does not hold, whatever was published.
    pub fn new(line: Line, ours: Option<Interval>) -> Self {
        let (bound, published) = (line.bound(), line.published);
        let ruling = ours.map_or(Ruling::Unmeasured, |ours| bound.rule(ours));
        let gap = ours.filter(|_| ruling != Ruling::Holds).map(|ours| Gap::of(published, ours));
        Self {
            figure: line.figure,
            panel: line.panel,
            series: line.series,
            kind: line.kind,
            published,
            unit: line.unit,
            read: line.read,
            place: line.place,
            was: line.was,
            bound,
            ours,
            ruling,
            gap,
            causes: Vec::new(),
            again: None,
        }
    }

    /// What is made of it at all scales that were run: where they say different things, nothing is decided.
    pub fn standing(&self) -> Ruling {
        match &self.again {
            Some(again) if again.ruling != self.ruling => Ruling::Undecided,
            _ => self.ruling,
        }
    }

    /// Whether the whole interval keeps the bound, at each scale that was run.
    pub fn holds(&self) -> bool {
        self.standing() == Ruling::Holds
    }

    /// Whether experiments have shown why it does not hold, at each scale at which it does not.
    pub fn cause_is_shown(&self) -> bool {
        let shown = |ruling, causes: &[Causal]| ruling == Ruling::Holds || causes.iter().any(|cause| cause.shown);
        let again = self.again.as_ref().is_none_or(|again| shown(again.ruling, &again.causes));
        !self.holds() && again && shown(self.ruling, &self.causes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(published: Published, low: f64, median: f64, high: f64) -> String {
        Gap::of(published, Interval { median, low, high }).to_string()
    }

    #[test]
    fn gaps_are_from_what_was_published_not_from_the_bound() {
        assert_eq!(gap(Published::About(800.0), 390.0, 400.0, 410.0), "-50 %");
        assert_eq!(gap(Published::Range(300.0, 750.0), 1500.0, 1500.0, 1500.0), "+100 %");
        assert_eq!(gap(Published::About(800.0), 700.0, 776.0, 780.0), "-3.0 %");
        assert_eq!(gap(Published::About(2.0), 40.0, 40.0, 40.0), "20 times as much");
        assert_eq!(
            (gap(Published::About(0.0), 30.0, 31.0, 33.0), gap(Published::Above(0.0), -2.0, -1.5, -1.0)),
            ("+31".into(), "-1.5".into())
        );
    }

    #[test]
    fn what_is_undecided_is_off_at_its_farther_end() {
        assert_eq!(gap(Published::Below(1.0), 0.9, 0.98, 1.2), "+20 %");
    }
}
