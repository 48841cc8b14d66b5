//! Two scales: what a verdict says where drives of another size were tried as well.

use super::bound::Ruling;
use super::check::{Again, Check};
use super::judgement::Judgement;
use super::verdict::{Verdict, whole};

impl Judgement {
    /// The same with what came out at a second scale beside it: a check holds if it does so at both.
    pub(super) fn checked_at(self, second: Judgement) -> Self {
        let again = |(check, again): (Check, Check)| {
            assert_eq!((&check.panel, &check.series), (&again.panel, &again.series), "the same lines are judged");
            Check { again: Some(Again::new(second.scale, again)), ..check }
        };
        let checks: Vec<Check> = self.checks.into_iter().zip(second.checks).map(again).collect();
        Self { verdict: Verdict::of(&checks, &self.dropped), checks, ..self }
    }

    /// As it is at its own scale alone.
    pub(super) fn at_first_scale(&self) -> Self {
        let checks: Vec<Check> = self.checks.iter().map(|check| Check { again: None, ..check.clone() }).collect();
        Self { verdict: Verdict::of(&checks, &self.dropped), checks, ..self.clone() }
    }

    /// The other scale at which it was run, if it was.
    pub fn second_scale(&self) -> Option<f64> {
        self.checks.iter().find_map(|check| check.again.as_ref().map(|again| again.scale))
    }

    /// The verdict, and which of the parts that are not reproduced held at one of two scales, and at which.
    pub fn words(&self) -> String {
        let Some(second) = self.second_scale() else { return self.verdict.to_string() };
        let at_first = |check: &Check| check.ruling == Ruling::Holds;
        let at_second = |check: &Check| check.again.as_ref().is_some_and(|again| again.ruling == Ruling::Holds);
        let held = [
            (self.scale, whole(&self.checks, &self.dropped, at_first)),
            (second, whole(&self.checks, &self.dropped, at_second)),
        ];
        let at_one = |n: usize| {
            let (scale, parts) = &held[n];
            let alone: Vec<&str> = parts.iter().copied().filter(|part| !held[1 - n].1.contains(part)).collect();
            (!alone.is_empty()).then(|| format!("; at 1/{scale} only: {}", alone.join("; ")))
        };
        [0, 1].into_iter().filter_map(at_one).fold(self.verdict.to_string(), |words, more| words + &more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::published::{Kind, Line, Published, Read};
    use crate::interval::Interval;

    /// Of orders, each of which is to be more than 1.
    fn judgement(scale: f64, parts: &[(&str, f64)]) -> Judgement {
        let check = |&(panel, ours): &(&str, f64)| {
            let line = Line {
                figure: "a/b".into(),
                panel: panel.into(),
                series: "s".into(),
                kind: Kind::Order,
                published: Published::Above(1.0),
                unit: String::new(),
                read: Read::Text,
                within: None,
                place: "section 1".into(),
                was: Vec::new(),
            };
            Check::new(line, Interval::measured(&[ours]))
        };
        let checks: Vec<Check> = parts.iter().map(check).collect();
        Judgement {
            schema: 4,
            id: "a/b".into(),
            mechanism: None,
            title: String::new(),
            published: String::new(),
            scale,
            seeds: vec![1],
            confidence: 0.0,
            verdict: Verdict::of(&checks, &[]),
            checks,
            dropped: Vec::new(),
            numbers: Vec::new(),
            trials: Vec::new(),
            notes: Vec::new(),
            charts: Vec::new(),
        }
    }

    fn words(first: &[(&str, f64)], second: &[(&str, f64)]) -> String {
        judgement(64.0, first).checked_at(judgement(128.0, second)).words()
    }

    #[test]
    fn what_holds_at_both_scales_is_reproduced() {
        assert_eq!(words(&[("one", 2.0), ("two", 3.0)], &[("one", 1.5), ("two", 1.1)]), "reproduced");
    }

    #[test]
    fn what_holds_at_one_scale_is_not_reproduced_and_is_named_with_the_scale() {
        let first = [("one", 2.0), ("two", 3.0), ("three", 0.5)];
        let second = [("one", 1.5), ("two", 0.9), ("three", 2.0)];
        let expected = "reproduced in part (one; not two; three); at 1/64 only: two; at 1/128 only: three";
        assert_eq!(words(&first, &second), expected);
        assert_eq!(words(&first[1..2], &second[1..2]), "not reproduced, cause unknown; at 1/64 only: two");
        assert_eq!(words(&second[1..2], &first[1..2]), "not reproduced, cause unknown; at 1/128 only: two");
    }

    #[test]
    fn a_check_stands_as_both_scales_say_and_is_undecided_where_they_differ() {
        let two = judgement(64.0, &[("one", 2.0)]).checked_at(judgement(128.0, &[("one", 0.5)]));
        assert_eq!((two.checks[0].ruling, two.checks[0].standing()), (Ruling::Holds, Ruling::Undecided));
        assert!(!two.checks[0].holds() && !two.checks[0].cause_is_shown());
        assert_eq!((two.second_scale(), two.at_first_scale().verdict), (Some(128.0), Verdict::Reproduced));
    }
}
