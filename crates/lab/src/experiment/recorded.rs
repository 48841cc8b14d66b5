//! The verdicts as they were when somebody last looked at them, so that a change is noticed.

use super::judgement::Judgement;
use super::registry::experiment;

/// A line for each experiment that was run at its own scale with the first seeds: its id, a colon, its verdict with its parts, as
/// `cygnus lab run` writes them into `verdicts.txt`.
const RECORDED: &str = include_str!("../../published/verdicts.txt");

/// The line of a judgement, as it is recorded.
pub fn record(judgement: &Judgement) -> String {
    format!("{}: {}\n", judgement.id, judgement.verdict)
}

/// What was recorded of the experiment.
pub fn recorded(id: &str) -> Option<&'static str> {
    RECORDED.lines().filter_map(|line| line.split_once(": ")).find(|(of, _)| *of == id).map(|(_, verdict)| verdict)
}

/// The verdict that was recorded, if the experiment was run as it is recorded and this is another one.
pub fn unlike_recorded(judgement: &Judgement) -> Option<&'static str> {
    let about = experiment(&judgement.id)?.about();
    let first: Vec<u64> = (1..=u64::from(about.seeds)).collect();
    let as_recorded = judgement.scale == about.divisor && judgement.seeds == first;
    recorded(&judgement.id).filter(|verdict| as_recorded && judgement.verdict.to_string() != *verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Laboratory, Scale, Verdict};

    #[test]
    fn verdicts_are_recorded_of_experiments_that_there_are() {
        for line in RECORDED.lines() {
            let (id, verdict) = line.split_once(": ").expect("an id and a verdict");
            assert!(experiment(id).is_some(), "{id} is no experiment");
            assert!(verdict.starts_with("reproduced") || verdict.starts_with("not reproduced"), "{line}");
        }
    }

    #[test]
    fn another_verdict_is_noticed_and_another_scale_is_not() {
        let model = experiment("swan/model").expect("it is registered");
        let (scale, seeds) = (Scale::new(model.about().divisor).expect("it is in bounds"), 1);
        let judged = Laboratory::default().conduct(model, scale, 1, seeds).unwrap_or_else(|error| panic!("{error}"));
        let mut judgement = judged.0;
        assert_eq!(unlike_recorded(&judgement), None, "{}", record(&judgement));
        judgement.verdict = Verdict::NotReproducedCauseUnknown;
        assert_eq!(unlike_recorded(&judgement), recorded("swan/model"));
        judgement.scale *= 2.0;
        assert_eq!(unlike_recorded(&judgement), None);
    }
}
