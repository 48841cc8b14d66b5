//! `cygnus lab run`

use super::bar::Bar;
use super::failure;
use crate::args::lab::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outfile;
use crate::output::{Output, print};
use cygnus_control::paint::{Paint, Tone};
use cygnus_lab::{
    About, Check, EXPERIMENTS, Experiment, LabError, Laboratory, Outcome, Run, Scale, Verdict, experiment,
    experiment_files,
};
use serde::Serialize;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// What `lab run` answers.
#[derive(Debug, Serialize)]
struct Answer {
    verdicts: Vec<Verdict>,
}

/// An experiment, and how large it is to be.
struct Chosen {
    experiment: &'static dyn Experiment,
    scale: Scale,
}

pub(super) fn run(args: &RunArgs, output: Output) -> Result<Exit, Failure> {
    let chosen = chosen(args)?;
    let mut laboratory = Laboratory::default();
    let ask = |one: &Chosen| laboratory.ask(one.experiment, one.scale, args.seed);
    let runs: Vec<(usize, Run)> = chosen.iter().flat_map(ask).collect();
    let bar = Bar::new(output, runs.len());
    let mut verdicts = Vec::new();
    side_by_side(&runs, args.jobs, &bar, |outcomes| {
        loop {
            // In the order of the experiments, whichever run ends first.
            while let Some(one) = chosen.get(verdicts.len()) {
                let Some((verdict, findings)) = laboratory.judge(one.experiment, one.scale, args.seed) else { break };
                let dir = args.out.join(&verdict.id);
                outfile::write_all(&dir, &experiment_files(&verdict, &findings))?;
                if !output.json() {
                    bar.suspend(|| print(&text(&verdict, output.paint)))?;
                    bar.suspend(|| output.detail(&format!("Its files are in {}.", dir.display())));
                }
                verdicts.push(verdict);
            }
            let Ok((number, outcome)) = outcomes.recv() else { return Ok(()) };
            laboratory.learn(number, outcome.map_err(failure)?);
        }
    })?;
    bar.end();
    let deviating: Vec<String> =
        verdicts.iter().filter(|verdict| !verdict.stands).map(|verdict| verdict.id.clone()).collect();
    if output.json() {
        output.answer(&Answer { verdicts }, |_| String::new())?;
    }
    let complaint = format!("not as published: {}; the verdicts say where and why", deviating.join(", "));
    Ok(output.verdict(deviating.is_empty(), &complaint))
}

type Outcomes = Receiver<(usize, Result<Outcome, LabError>)>;

/// Runs them on several threads, in order as far as that goes, while `take` receives what comes out. Once it returns,
/// nothing new is begun.
fn side_by_side(
    runs: &[(usize, Run)],
    jobs: Option<NonZeroUsize>,
    bar: &Bar,
    take: impl FnOnce(Outcomes) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let jobs = jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let (sender, outcomes) = channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(runs.len()) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                while let Some((number, run)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let part = bar.part(run);
                    let outcome = run.carry_out(move |stage| part.show(&stage));
                    if sender.send((*number, outcome)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        take(outcomes)
    })
}

fn chosen(args: &RunArgs) -> Result<Vec<Chosen>, Failure> {
    let scale = match (args.full, args.scale) {
        (true, _) => Some(Scale::FULL),
        (false, Some(divisor)) => Some(Scale::new(divisor).map_err(Failure::Usage)?),
        (false, None) => None,
    };
    let own = |about: About| Scale::new(about.divisor).expect("experiments have sensible scales");
    let at_scale = |experiment: &'static dyn Experiment| Chosen {
        experiment,
        scale: scale.unwrap_or_else(|| own(experiment.about())),
    };
    let known = |id: &String| {
        experiment(id).ok_or_else(|| {
            Failure::Usage(format!("there is no experiment \"{id}\"; 'cygnus lab list' shows those that there are"))
        })
    };
    let experiments = match args.all {
        true => EXPERIMENTS.to_vec(),
        false => args.experiments.iter().map(known).collect::<Result<_, _>>()?,
    };
    Ok(experiments.into_iter().map(at_scale).collect())
}

fn text(verdict: &Verdict, paint: Paint) -> String {
    let tone = |word| match word {
        "holds" => Tone::Good,
        "differs" => Tone::Normal,
        _ => Tone::Warning,
    };
    let word = verdict.word();
    let mut out = format!("{}: {}  {}\n", verdict.id, verdict.title, paint.tone(tone(word), word));
    let line = |check: &Check| format!("{}: {:.3} ({})", check.claim, check.measured, check.bound);
    for check in &verdict.checks {
        let word = check.word();
        writeln!(out, "  {}  {}", paint.tone(tone(word), &format!("{word:8}")), line(check))
            .expect("strings take text");
        if let Some(explanation) = &check.explanation {
            let mut why = explanation.why.clone();
            if let Some(shown) = &explanation.shown_by {
                let verb = if shown.holds { "Shown by" } else { "Not shown by" };
                write!(why, " {verb} {}.", line(shown)).expect("strings take text");
            }
            writeln!(out, "            {}", paint.tone(Tone::Faint, &why)).expect("strings take text");
        }
    }
    out
}
