//! Whether a figure is as published, in four words.

use serde::{Deserialize, Serialize};

use super::bound::Ruling;
use super::check::Check;
use super::published::{Dropped, Kind, Why};

/// What came of comparing a figure with the published one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum Verdict {
    /// Every check holds.
    Reproduced,
    /// Every check of some parts holds: panels, curves, orders.
    ReproducedInPart {
        /// Those.
        reproduced: Vec<String>,
        /// The others.
        not: Vec<String>,
    },
    /// No part is, and an experiment has shown why for every check that does not hold.
    NotReproducedCauseShown,
    /// No part is, and why is not known.
    NotReproducedCauseUnknown,
}

impl Verdict {
    /// Of all checks of a figure, and of what was judged of it before. What the hardware can do at most is no part of a figure: such
    /// a check can spoil the part that it stands in, and cannot make one. What cannot be measured here spoils its part too, and no
    /// experiment shows a cause for it.
    pub fn of(checks: &[Check], dropped: &[Dropped]) -> Self {
        let panels = panels(checks);
        let unmeasured = unmeasured(dropped);
        let reproduced = whole(checks, dropped, Check::holds);
        let not: Vec<&str> = panels.iter().copied().filter(|panel| !reproduced.contains(panel)).collect();
        let spoilt = !unmeasured.is_empty() || checks.iter().any(|check| !check.holds());
        let names = |panels: Vec<&str>| panels.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let alone = unmeasured.iter().filter(|panel| !panels.contains(panel));
        let not = names(not).into_iter().chain(alone.map(|panel| format!("{panel}: not measurable here"))).collect();
        let shown = || unmeasured.is_empty() && checks.iter().all(|check| check.holds() || check.cause_is_shown());
        match (reproduced.is_empty(), spoilt) {
            (_, false) => Verdict::Reproduced,
            (false, true) => Verdict::ReproducedInPart { reproduced: names(reproduced), not },
            (true, true) if shown() => Verdict::NotReproducedCauseShown,
            (true, true) => Verdict::NotReproducedCauseUnknown,
        }
    }

    /// The word alone.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::ReproducedInPart { .. } => "reproduced in part",
            Verdict::NotReproducedCauseShown => "not reproduced, cause shown",
            Verdict::NotReproducedCauseUnknown => "not reproduced, cause unknown",
        }
    }
}

/// The parts of a figure, each once. A limit makes none.
fn panels(checks: &[Check]) -> Vec<&str> {
    let mut panels: Vec<&str> = Vec::new();
    for check in checks.iter().filter(|check| check.kind != Kind::Limit) {
        if !panels.contains(&check.panel.as_str()) {
            panels.push(&check.panel);
        }
    }
    panels
}

/// Parts of which every check holds, in the sense of `holds`, and nothing is lacking.
pub(super) fn whole<'a>(checks: &'a [Check], dropped: &[Dropped], holds: impl Fn(&Check) -> bool) -> Vec<&'a str> {
    let unmeasured = unmeasured(dropped);
    let is_whole =
        |panel: &&str| !unmeasured.contains(panel) && checks.iter().filter(|check| check.panel == *panel).all(&holds);
    panels(checks).into_iter().filter(is_whole).collect()
}

/// Parts in which something that was published cannot be measured here, each once.
fn unmeasured(dropped: &[Dropped]) -> Vec<&str> {
    let mut panels: Vec<&str> = Vec::new();
    for dropped in dropped.iter().filter(|dropped| dropped.why == Why::NotMeasurable) {
        if !panels.contains(&dropped.panel.as_str()) {
            panels.push(&dropped.panel);
        }
    }
    panels
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())?;
        match self {
            Verdict::ReproducedInPart { reproduced, not } => {
                write!(f, " ({}; not {})", reproduced.join("; "), not.join("; "))
            }
            _ => Ok(()),
        }
    }
}

/// How many experiments have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    /// Wholly.
    pub reproduced: usize,
    /// Some parts.
    pub in_part: usize,
    /// Not at all, and why is shown.
    pub cause_shown: usize,
    /// Not at all, and why is not known.
    pub cause_unknown: usize,
}

impl Summary {
    /// Counts them.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Self {
        let mut summary = Self::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Reproduced => &mut summary.reproduced,
                Verdict::ReproducedInPart { .. } => &mut summary.in_part,
                Verdict::NotReproducedCauseShown => &mut summary.cause_shown,
                Verdict::NotReproducedCauseUnknown => &mut summary.cause_unknown,
            } += 1;
        }
        summary
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} reproduced, {} in part, {} not reproduced (cause shown), {} not reproduced (cause unknown)",
            self.reproduced, self.in_part, self.cause_shown, self.cause_unknown
        )
    }
}

/// How many checks came out which way.
pub fn rulings<'a>(checks: impl Iterator<Item = &'a Check>) -> [usize; 4] {
    checks.fold([0; 4], |mut counts, check| {
        counts[match check.standing() {
            Ruling::Holds => 0,
            Ruling::Undecided => 1,
            Ruling::Fails => 2,
            Ruling::Unmeasured => 3,
        }] += 1;
        counts
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::causal::Causal;
    use crate::experiment::published::{Line, Published, Read};
    use crate::interval::Interval;

    fn check(panel: &str, kind: Kind, ours: [f64; 2]) -> Check {
        let published = if kind == Kind::Limit { Published::Below(1.0) } else { Published::Above(1.0) };
        let line = Line {
            figure: "a/b".into(),
            panel: panel.into(),
            series: "s".into(),
            kind,
            published,
            unit: String::new(),
            read: Read::Text,
            within: None,
            place: "section 1".into(),
            was: Vec::new(),
        };
        Check::new(line, Interval::measured(&ours))
    }

    fn median(check: &Check) -> f64 {
        check.ours.expect("it was measured").median
    }

    fn because(check: Check, with: f64) -> Check {
        let cause = Causal::new("why".into(), Vec::new(), check.published, &[median(&check)], &[with]);
        Check { causes: vec![cause], ..check }
    }

    /// With nothing dropped.
    fn of(checks: &[Check]) -> Verdict {
        Verdict::of(checks, &[])
    }

    #[test]
    fn what_cannot_be_measured_is_a_part_that_is_not_reproduced() {
        let good = check("a", Kind::Order, [2.0, 3.0]);
        let bad = because(check("a", Kind::Order, [0.4, 0.4]), 0.9);
        let dropped = |panel: &str, why| Dropped {
            figure: "a/b".into(),
            panel: panel.into(),
            series: "t".into(),
            said: "0".into(),
            place: "section 1".into(),
            why,
            day: "2026-11-28".into(),
            reason: "it cannot be built".into(),
        };
        let verdict = |checks: &[Check], panel, why| Verdict::of(checks, &[dropped(panel, why)]).to_string();
        let whole = [good];
        assert_eq!(verdict(&whole, "z", Why::NotMeasurable), "reproduced in part (a; not z: not measurable here)");
        assert_eq!(verdict(&whole, "z", Why::NotJudged), "reproduced");
        // A part is whole, or it is not reproduced.
        assert_eq!(verdict(&whole, "a", Why::NotMeasurable), "not reproduced, cause unknown");
        assert_eq!(verdict(&[bad], "z", Why::NotMeasurable), "not reproduced, cause unknown");
    }

    #[test]
    fn a_part_is_reproduced_if_all_of_it_is() {
        let (good, bad) = ([2.0, 3.0], [0.4, 0.5]);
        let order = |panel, ours| check(panel, Kind::Order, ours);
        assert_eq!(of(&[order("a", good), order("b", good)]), Verdict::Reproduced);
        let part = of(&[order("a", good), order("b", bad), order("b", good)]);
        assert_eq!(part.to_string(), "reproduced in part (a; not b)");
        assert_eq!(of(&[order("a", good), order("a", bad)]), Verdict::NotReproducedCauseUnknown);
        // What some seeds contradict is not reproduced.
        assert_eq!(of(&[order("a", [0.9, 1.1])]), Verdict::NotReproducedCauseUnknown);
    }

    #[test]
    fn what_was_not_measured_holds_nothing_whatever_was_published() {
        for kind in [Kind::Order, Kind::Limit] {
            let nothing = check("a", kind, [0.0, f64::NAN]);
            assert_eq!((nothing.ours, nothing.ruling, nothing.gap), (None, Ruling::Unmeasured, None));
            let whole = check("b", Kind::Order, [2.0, 3.0]);
            assert_eq!(rulings([&nothing, &whole].into_iter()), [1, 0, 0, 1]);
            let verdict = of(&[check("a", Kind::Order, [2.0, 3.0]), whole, nothing]);
            assert_eq!(verdict.to_string(), "reproduced in part (b; not a)");
        }
    }

    #[test]
    fn what_hardware_cannot_do_spoils_and_what_it_can_makes_nothing() {
        let (limit, order) = (|ours| check("a", Kind::Limit, ours), |ours| check("a", Kind::Order, ours));
        assert_eq!(of(&[limit([0.5, 0.6]), order([0.4, 0.5])]), Verdict::NotReproducedCauseUnknown);
        assert_eq!(of(&[limit([2.0, 2.0]), order([2.0, 3.0])]), Verdict::NotReproducedCauseUnknown);
    }

    #[test]
    fn a_cause_is_shown_for_all_that_fails_or_it_is_unknown() {
        let bad = || check("a", Kind::Order, [0.4, 0.4]);
        assert_eq!(of(&[because(bad(), 0.9)]), Verdict::NotReproducedCauseShown);
        assert_eq!(of(&[because(bad(), 0.9), bad()]), Verdict::NotReproducedCauseUnknown);
        assert_eq!(of(&[because(bad(), 0.5)]), Verdict::NotReproducedCauseUnknown);
    }

    #[test]
    fn verdicts_are_counted_in_a_line() {
        let all = [Verdict::Reproduced, Verdict::NotReproducedCauseUnknown, Verdict::NotReproducedCauseUnknown];
        let line = "1 reproduced, 0 in part, 0 not reproduced (cause shown), 2 not reproduced (cause unknown)";
        assert_eq!(Summary::of(&all).to_string(), line);
    }
}
