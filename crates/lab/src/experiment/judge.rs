//! From the outcomes of all seeds to a judgement.

use std::rc::Rc;

use super::bound::Ruling;
use super::causal::{Causal, changes};
use super::check::Check;
use super::findings::{Experiment, Findings, Supposed, Trial, Trialled};
use super::judgement::{Judgement, Measured, Number, SCHEMA};
use super::published::{Line, dropped, lines};
use super::scale::Scale;
use super::verdict::Verdict;
use crate::chart::Chart;
use crate::interval::{Interval, confidence};
use crate::outcome::Outcome;

/// What the trials' outcomes, a list for each seed, amount to.
pub(super) fn judged(
    experiment: &dyn Experiment,
    scale: Scale,
    seeds: &[u64],
    trials: &[Trial],
    by_seed: &[Vec<Rc<Outcome>>],
) -> (Judgement, Vec<Chart>) {
    let about = experiment.about();
    let trialled: Vec<Vec<Trialled>> = by_seed
        .iter()
        .map(|outcomes| trials.iter().zip(outcomes).map(|(trial, outcome)| Trialled { trial, outcome }).collect())
        .collect();
    let findings: Vec<Findings> = trialled.iter().map(|trials| experiment.findings(scale, trials)).collect();
    let lines = lines(about.id);
    assert!(!lines.is_empty(), "{}: an experiment beside which nothing was published cannot be judged", about.id);
    for found in &findings[0].found {
        let known = lines.iter().any(|line| line.panel == found.panel && line.series == found.series);
        assert!(known, "{}: {}, {} is not among what was published", about.id, found.panel, found.series);
    }
    let checks: Vec<Check> = lines.into_iter().map(|line| check(line, &findings, &trialled)).collect();
    let dropped = dropped(about.id);
    let mechanism = experiment.mechanism();
    let charts = Chart::over_seeds(findings.iter().map(|findings| findings.charts.as_slice()));
    let judgement = Judgement {
        schema: SCHEMA,
        id: about.id.into(),
        mechanism: mechanism.map(|mechanism| mechanism.name().into()),
        title: mechanism.map_or_else(|| about.title.into(), |mechanism| mechanism.titled(about.title)),
        published: about.published.into(),
        scale: experiment.scale(scale).divisor(),
        seeds: seeds.into(),
        confidence: confidence(seeds.len()),
        verdict: Verdict::of(&checks, &dropped),
        checks,
        dropped,
        numbers: numbers(&findings),
        trials: (0..trials.len()).map(|n| measured(&trials[n], by_seed.iter().map(|outcomes| &*outcomes[n]))).collect(),
        notes: findings[0].notes.clone(),
        charts: charts.iter().map(|chart| chart.name.clone()).collect(),
    };
    (judgement, charts)
}

fn check(line: Line, findings: &[Findings], trialled: &[Vec<Trialled>]) -> Check {
    let of = |findings: &Findings| {
        let found = findings.found.iter().find(|found| found.panel == line.panel && found.series == line.series);
        found.unwrap_or_else(|| panic!("{}: {}, {} was not measured", line.figure, line.panel, line.series)).ours
    };
    let ours: Vec<f64> = findings.iter().map(of).collect();
    let check = Check::new(line, Interval::measured(&ours));
    if check.ruling != Ruling::Fails {
        return check;
    }
    let about = |supposed: &Supposed| supposed.panel == check.panel && supposed.series == check.series;
    let tried = (0..findings[0].supposed.len()).filter(|&n| about(&findings[0].supposed[n]));
    let causes = tried.map(|n| cause(&check, n, &ours, findings, trialled)).collect();
    Check { causes, ..check }
}

/// What came of the experiment number `n`, which was to show why this check fails.
fn cause(check: &Check, n: usize, ours: &[f64], findings: &[Findings], trialled: &[Vec<Trialled>]) -> Causal {
    let first = &findings[0].supposed[n];
    let mut changed = first.changed.clone();
    for trials in trialled {
        let of_trials = first.trials.iter().flat_map(|&(judged, with)| changes(&trials[judged], &trials[with]));
        of_trials.for_each(|change| {
            if !changed.contains(&change) {
                changed.push(change);
            }
        });
    }
    let with: Vec<f64> = findings.iter().map(|findings| findings.supposed[n].ours).collect();
    Causal::new(first.cause.into(), changed, check.published, ours, &with)
}

fn numbers(findings: &[Findings]) -> Vec<Number> {
    let of = |n: usize| {
        let extra = &findings[0].extra[n];
        let values: Vec<f64> = findings.iter().map(|findings| findings.extra[n].ours).collect();
        Number::new(extra.what.clone(), extra.unit, &values)
    };
    (0..findings[0].extra.len()).map(of).collect()
}

fn measured<'a>(trial: &Trial, outcomes: impl Iterator<Item = &'a Outcome> + Clone) -> Measured {
    // Of the seeds that have one.
    let quotient = |of: &dyn Fn(&Outcome) -> Option<u64>, unit: f64| {
        let values: Vec<f64> = outcomes.clone().filter_map(of).map(|value| value as f64 / unit).collect();
        (!values.is_empty()).then(|| Interval::of(&values).median)
    };
    let first = outcomes.clone().next().expect("each trial was run");
    Measured {
        name: trial.name.clone(),
        drives: format!("{} {}", first.drives, first.drive),
        write_mb_s: quotient(&|outcome| outcome.write_bytes_per_second, 1e6),
        read_mb_s: quotient(&|outcome| outcome.read_bytes_per_second, 1e6),
        variation_percent: quotient(&|outcome| outcome.throughput_variation_milli, 10.0),
        array_wa: quotient(&|outcome| outcome.array_write_amplification_milli, 1000.0),
        drive_wa: quotient(&|outcome| outcome.drive_write_amplification_milli, 1000.0),
        victims_valid_percent: quotient(&|outcome| outcome.victim_valid_milli, 10.0),
    }
}
