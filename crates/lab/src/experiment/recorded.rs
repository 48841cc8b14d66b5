//! The verdicts as they were when somebody last looked at them, so that a change is noticed.

use super::judgement::Judgement;
use super::registry::experiment;

/// A line for each experiment that was run at its own scale with the first seeds: its id, a colon, its verdict with its parts, as
/// `cygnus lab run` writes them into `verdicts.txt`. Of those that were run at a second scale too there is another line, whose name has both
/// scales ("serial/fig6 at 1/4 and 1/8"): an experiment without one was run at its own scale alone.
const RECORDED: &str = include_str!("../../published/verdicts.txt");

/// A judgement that is not as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// The experiment, with its scales if there are two.
    pub name: String,
    /// The verdict that was recorded.
    pub was: &'static str,
    /// The verdict that it is.
    pub is: String,
}

/// Its name and its verdict at its own scale, and at both if it was run at two. The mechanism in its drives is part of the name.
fn entries(judgement: &Judgement) -> Vec<(String, String)> {
    let id = match &judgement.mechanism {
        Some(mechanism) => format!("{} with {mechanism}", judgement.id),
        None => judgement.id.clone(),
    };
    let own = (id.clone(), judgement.at_first_scale().words());
    let both = |second: f64| {
        let name = format!("{id} at 1/{} and 1/{second}", judgement.scale);
        (name, judgement.words())
    };
    std::iter::once(own).chain(judgement.second_scale().map(both)).collect()
}

/// The lines of a judgement, as they are recorded.
pub fn record(judgement: &Judgement) -> String {
    entries(judgement).iter().map(|(name, words)| format!("{name}: {words}\n")).collect()
}

/// What was recorded under a name.
fn recorded(name: &str) -> Option<&'static str> {
    RECORDED.lines().filter_map(|line| line.split_once(": ")).find(|(of, _)| *of == name).map(|(_, verdict)| verdict)
}

/// Where another verdict was recorded, if the experiment was run as it is recorded: with its own drives, at its own scale and with its own
/// seeds.
pub fn unlike_recorded(judgement: &Judgement) -> Vec<Unlike> {
    let Some(about) = experiment(&judgement.id).map(|experiment| experiment.about()) else { return Vec::new() };
    let first: Vec<u64> = (1..=u64::from(about.seeds)).collect();
    if judgement.mechanism.is_some() || judgement.scale != about.divisor || judgement.seeds != first {
        return Vec::new();
    }
    let unlike =
        |(name, is): (String, String)| recorded(&name).filter(|was| *was != is).map(|was| Unlike { name, was, is });
    entries(judgement).into_iter().filter_map(unlike).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Laboratory, Scale, Verdict};

    #[test]
    fn verdicts_are_recorded_of_experiments_that_there_are() {
        for line in RECORDED.lines() {
            let (name, verdict) = line.split_once(": ").expect("a name and a verdict");
            let (id, scales) = name.split_once(" at ").map_or((name, None), |(id, scales)| (id, Some(scales)));
            let experiment = experiment(id).unwrap_or_else(|| panic!("{id} is no experiment"));
            assert!(verdict.starts_with("reproduced") || verdict.starts_with("not reproduced"), "{line}");
            if let Some(scales) = scales {
                let first = Scale::new(experiment.about().divisor).expect("it is in bounds");
                let second = experiment.second_scale(first).expect("it has a second scale");
                assert_eq!(scales, format!("1/{} and 1/{}", first.divisor(), second.divisor()), "{line}");
            }
        }
    }

    #[test]
    fn another_verdict_is_noticed_and_another_scale_is_not() {
        let model = experiment("swan/model").expect("it is registered");
        let (scale, seeds) = (Scale::new(model.about().divisor).expect("it is in bounds"), 1);
        assert_eq!(model.second_scale(scale), None, "nothing is run");
        let judged = Laboratory::default().conduct(model, scale, 1, seeds).unwrap_or_else(|error| panic!("{error}"));
        let mut judgement = judged.0;
        assert_eq!(unlike_recorded(&judgement), [], "{}", record(&judgement));
        judgement.checks.clear();
        judgement.dropped.clear();
        judgement.verdict = Verdict::Reproduced;
        let unlike = unlike_recorded(&judgement);
        assert_eq!(unlike.len(), 1);
        assert_eq!((unlike[0].is.as_str(), Some(unlike[0].was)), ("reproduced", recorded("swan/model")));
        judgement.scale *= 2.0;
        assert_eq!(unlike_recorded(&judgement), []);
    }

    #[test]
    fn two_scales_are_two_lines() {
        let model = experiment("swan/model").expect("it is registered");
        let judge = |divisor: f64| {
            let scale = Scale::new(divisor).expect("it is in bounds");
            Laboratory::default().conduct(model, scale, 1, 1).unwrap_or_else(|error| panic!("{error}")).0
        };
        let (one, two) = (judge(1.0), judge(1.0).checked_at(judge(2.0)));
        let expected = format!("{}swan/model at 1/1 and 1/2: {}\n", record(&one), one.verdict);
        assert_eq!(record(&two), expected);
    }
}
