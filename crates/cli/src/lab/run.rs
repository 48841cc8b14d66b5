//! `cygnus lab run`

use super::failure;
use super::pictures::Pictures;
use super::side_by_side::side_by_side;
use crate::args::lab::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kept;
use crate::outfile;
use crate::output::{Output, print};
use crate::progress::Runs;
use cygnus_control::paint::{Paint, Tone};
use cygnus_lab::{
    About, Causal, Check, EXPERIMENTS, Experiment, Interval, Judgement, Laboratory, Mechanism, Read, Ruling, Run,
    Scale, Scales, Summary, Unlike, Verdict, Why, WithMechanism, experiment, experiment_files, record, unlike_recorded,
};
use serde::Serialize;
use std::fmt::Write;
use std::num::NonZeroU32;

/// What `lab run` answers.
#[derive(Debug, Serialize)]
struct Answer {
    /// What was switched on in all modelled drives of flash.
    mechanism: Option<&'static str>,
    /// Of published figures.
    summary: Summary,
    /// Of what holds a paper's claims against other drives and places.
    beyond: Summary,
    /// Ids of those whose verdict is not the recorded one; of runs with a mechanism none is recorded.
    unlike_recorded: Vec<String>,
    verdicts: Vec<Judgement>,
}

/// An experiment, how large it is to be, and how often it is run.
struct Chosen {
    of: &'static dyn Experiment,
    /// The same with the mechanism that is to be switched on.
    with: Option<WithMechanism>,
    scales: Scales,
    seeds: u32,
}

impl Chosen {
    /// What is to be run.
    fn experiment(&self) -> &dyn Experiment {
        self.with.as_ref().map_or(self.of, |with| with as &dyn Experiment)
    }
}

/// Name of the file with a line for each verdict, in the form in which they are recorded.
const VERDICTS: &str = "verdicts.txt";

pub(super) fn run(args: &RunArgs, output: Output) -> Result<Exit, Failure> {
    let chosen = chosen(args)?;
    let pictures = Pictures::new(&args.charts)?;
    let from = kept::provenance();
    let out = match args.mechanism {
        Some(mechanism) => args.out.join(format!("with-{mechanism}")),
        None => args.out.clone(),
    };
    let mut laboratory = Laboratory::default();
    let ask = |one: &Chosen| laboratory.ask(one.experiment(), one.scales, args.seed, one.seeds);
    let runs: Vec<(usize, Run)> = chosen.iter().flat_map(ask).collect();
    let bar = Runs::new(output, runs.len());
    let mut judgements: Vec<Judgement> = Vec::new();
    let carry_out = |(number, run): &(usize, Run)| {
        let part = bar.part(format!("{}: {}", run.experiment, run.name()));
        (*number, run.carry_out(move |stage| part.show(stage.progress, stage.duration)))
    };
    side_by_side(&runs, args.jobs, carry_out, |outcomes| {
        loop {
            // In the order of the experiments, whichever run ends first.
            while let Some(one) = chosen.get(judgements.len()) {
                let judged = laboratory.judge(one.experiment(), one.scales, args.seed, one.seeds);
                let Some((judgement, charts)) = judged else { break };
                let dir = out.join(&judgement.id);
                outfile::write_all(&dir, &experiment_files(&judgement, &charts))?;
                pictures.leave(&dir, &charts)?;
                if !output.json() {
                    bar.suspend(|| print(&text(&judgement, output.paint)))?;
                    bar.suspend(|| output.detail(&format!("Its files are in {}.", dir.display())));
                }
                judgements.push(judgement);
            }
            let Ok((number, outcome)) = outcomes.recv() else { return Ok(()) };
            let outcome = outcome.map_err(failure)?;
            let run = &runs.iter().find(|(asked, _)| *asked == number).expect("it was asked for").1;
            kept::leave(&out, &run.kept(&outcome, &from).map_err(failure)?, None)?;
            laboratory.learn(number, outcome);
        }
    })?;
    drop(bar);
    outfile::write(&out.join(VERDICTS), judgements.iter().map(record).collect::<String>())?;
    let unlike: Vec<(&Judgement, Vec<Unlike>)> = judgements
        .iter()
        .map(|judgement| (judgement, unlike_recorded(judgement)))
        .filter(|(_, of)| !of.is_empty())
        .collect();
    let changed = |unlike: &Unlike| format!("{} was {} and is {}", unlike.name, unlike.was, unlike.is);
    let complaint = unlike.iter().flat_map(|(_, of)| of).map(changed).collect::<Vec<_>>().join("; ");
    let complaint = format!("not the recorded verdict: {complaint}");
    let good = unlike.is_empty();
    let answer = Answer {
        mechanism: args.mechanism.map(Mechanism::name),
        summary: summary(&judgements, true),
        beyond: summary(&judgements, false),
        unlike_recorded: unlike.iter().map(|(judgement, _)| judgement.id.clone()).collect(),
        verdicts: judgements,
    };
    output.answer(&answer, |_| answer.text())?;
    Ok(output.verdict(good, &complaint))
}

/// Of published figures, or of what goes beyond them.
fn summary(judgements: &[Judgement], figures: bool) -> Summary {
    Summary::of(judgements.iter().filter(|one| one.is_of_a_figure() == figures).map(|one| &one.verdict))
}

impl Answer {
    fn text(&self) -> String {
        let nothing = Summary::default();
        let mut out = match self.mechanism {
            Some(mechanism) => {
                format!(
                    "With the mechanism {mechanism} in all modelled drives of flash: held against no recorded verdict.\n"
                )
            }
            None => String::new(),
        };
        for (what, summary) in [("Published figures", self.summary), ("Claims on other drives and places", self.beyond)]
        {
            if summary != nothing {
                writeln!(out, "{what}: {summary}").expect("strings take text");
            }
        }
        out
    }
}

fn chosen(args: &RunArgs) -> Result<Vec<Chosen>, Failure> {
    let scale = match (args.full, args.scale) {
        (true, _) => Some(Scale::FULL),
        (false, Some(divisor)) => Some(Scale::new(divisor).map_err(|error| Failure::Usage(error.to_string()))?),
        (false, None) => None,
    };
    let own = |about: About| Scale::new(about.divisor).expect("experiments have sensible scales");
    let at_scale = |experiment: &'static dyn Experiment| {
        let first = scale.unwrap_or_else(|| own(experiment.about()));
        let second = if args.second_scale { experiment.second_scale(first) } else { None };
        let seeds = args.seeds.map_or(experiment.about().seeds, NonZeroU32::get);
        let scales = Scales { first, second };
        let with = |mechanism| WithMechanism::new(experiment, mechanism, scales);
        let with = args.mechanism.map(with).transpose().map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(Chosen { of: experiment, with, scales, seeds })
    };
    let experiments = match args.all {
        true => EXPERIMENTS.to_vec(),
        false => named(&args.experiments)?,
    };
    experiments.into_iter().map(at_scale).collect()
}

/// The experiments of these names, each once however often it is named.
fn named(ids: &[String]) -> Result<Vec<&'static dyn Experiment>, Failure> {
    let known = |id: &String| {
        experiment(id).ok_or_else(|| {
            Failure::Usage(format!("there is no experiment \"{id}\"; 'cygnus lab list' shows those that there are"))
        })
    };
    let first = |(at, id): &(usize, &String)| !ids[..*at].contains(id);
    ids.iter().enumerate().filter(first).map(|(_, id)| known(id)).collect()
}

fn text(judgement: &Judgement, paint: Paint) -> String {
    let tone = match judgement.verdict {
        Verdict::Reproduced => Tone::Good,
        Verdict::ReproducedInPart { .. } => Tone::Normal,
        Verdict::NotReproducedCauseShown | Verdict::NotReproducedCauseUnknown => Tone::Warning,
    };
    let word = paint.tone(tone, &judgement.words());
    let seeds = match judgement.seeds.len() {
        1 => "1 seed".to_owned(),
        count => format!("{count} seeds"),
    };
    let seeds = match judgement.second_scale() {
        Some(second) => format!("{seeds}; at 1/{} and 1/{second}", judgement.scale),
        None => seeds,
    };
    let mut out = format!("{}: {}  {word}  ({seeds})\n", judgement.id, judgement.title);
    for check in &judgement.checks {
        out += &line(check, paint);
    }
    for dropped in judgement.dropped.iter().filter(|dropped| dropped.why == Why::NotMeasurable) {
        writeln!(
            out,
            "  {}  {}, {}: published {}; not measurable here, as {}",
            paint.tone(Tone::Normal, "dropped     "),
            dropped.panel,
            dropped.series,
            dropped.said,
            dropped.reason
        )
        .expect("strings take text");
    }
    out
}

fn line(check: &Check, paint: Paint) -> String {
    let tone = match check.standing() {
        Ruling::Holds => Tone::Good,
        Ruling::Undecided => Tone::Normal,
        Ruling::Fails | Ruling::Unmeasured => Tone::Warning,
    };
    let word = paint.tone(tone, &format!("{:12}", check.standing().word()));
    let off = check.gap.map_or(String::new(), |gap| format!(", off by {gap}"));
    let (ours, published, bound) = (with_unit(check.ours, &check.unit), check.published, check.bound);
    let from = match check.read {
        Read::Text | Read::Plot => "published",
        Read::Derived => "derived by us:",
    };
    let mut out =
        format!("  {word}  {}, {}: {ours} ({from} {published}; allowed {bound}){off}\n", check.panel, check.series);
    if let Some(again) = &check.again {
        let off = again.gap.map_or(String::new(), |gap| format!(", off by {gap}"));
        let text =
            format!("At 1/{}: {}, {}{off}", again.scale, with_unit(again.ours, &check.unit), again.ruling.word());
        writeln!(out, "                {}", paint.tone(Tone::Faint, &text)).expect("strings take text");
    }
    for cause in &check.causes {
        let shown = shown(cause);
        let keys: Vec<&str> = cause.changed.iter().map(|change| change.key.as_str()).collect();
        let moved = cause.moved.map_or("nothing".into(), |moved| format!("{:.0} %", moved.median * 100.0));
        let text = format!(
            "Supposed cause, {shown}: {} With that changed ({}) ours is {}, {moved} of the way.",
            cause.cause,
            keys.join(", "),
            interval(cause.ours)
        );
        writeln!(out, "                {}", paint.tone(Tone::Faint, &text)).expect("strings take text");
    }
    out
}

/// What a control says of its cause.
fn shown(cause: &Causal) -> &'static str {
    match (cause.shown, cause.is_other_hardware()) {
        (true, _) => "shown",
        (false, true) => "not shown, as this is other hardware",
        (false, false) => "not shown",
    }
}

/// [`interval`], with the unit of a number that has one.
fn with_unit(measured: Option<Interval>, unit: &str) -> String {
    let unit = if measured.is_none() || unit.is_empty() { String::new() } else { format!(" {unit}") };
    interval(measured) + &unit
}

/// A median, with its interval if it has one; "nothing" of what was not measured.
fn interval(measured: Option<Interval>) -> String {
    let shown = |of: Interval| match of.is_wide() {
        true => format!("{:.3} [{:.3} to {:.3}]", of.median, of.low, of.high),
        false => format!("{:.3}", of.median),
    };
    measured.map_or("nothing".into(), shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_that_is_named_twice_runs_once() {
        let ids = ["swan/fig1", "swan/model", "swan/fig1"].map(String::from);
        let run: Vec<_> = named(&ids).unwrap().iter().map(|experiment| experiment.about().id).collect();
        assert_eq!(run, ["swan/fig1", "swan/model"]);
        assert!(named(&["swan/nothing".into()]).err().unwrap().to_string().contains("no experiment \"swan/nothing\""));
    }
}
