//! `cygnus lab run`

use super::bar::Bar;
use super::failure;
use crate::args::lab::RunArgs;
use crate::failure::Failure;
use crate::output::{Output, print};
use cygnus_control::paint::{Paint, Tone};
use cygnus_lab::{EXPERIMENTS, Experiment, Laboratory, Scale, Verdict, experiment, write_experiment};
use serde::Serialize;
use std::fmt::Write;

/// What `lab run` answers.
#[derive(Debug, Serialize)]
struct Answer {
    verdicts: Vec<Verdict>,
}

pub(super) fn run(args: &RunArgs, output: Output) -> Result<(), Failure> {
    let chosen = chosen(args)?;
    let scale = match (args.full, args.scale) {
        (true, _) => Some(Scale::FULL),
        (false, Some(divisor)) => Some(Scale::new(divisor).map_err(Failure::Usage)?),
        (false, None) => None,
    };
    let laboratory = Laboratory::default();
    let mut verdicts = Vec::new();
    for experiment in chosen {
        let about = experiment.about();
        let own = || Scale::new(about.divisor).expect("experiments have sensible scales");
        let bar = Bar::new(output, about.id);
        let shown = bar.clone();
        let done =
            laboratory.conduct(experiment, scale.unwrap_or_else(own), args.seed, move |stage| shown.show(&stage));
        bar.end();
        let (verdict, findings) = done.map_err(failure)?;
        let dir = write_experiment(&args.out, &verdict, &findings).map_err(failure)?;
        if !output.json() {
            print(&text(&verdict, output.paint))?;
            output.detail(&format!("Its files are in {}.", dir.display()));
        }
        verdicts.push(verdict);
    }
    let deviating: Vec<String> =
        verdicts.iter().filter(|verdict| !verdict.holds).map(|verdict| verdict.id.clone()).collect();
    if output.json() {
        output.answer(&Answer { verdicts }, |_| String::new())?;
    }
    match deviating.as_slice() {
        [] => Ok(()),
        ids => Err(Failure::Deviates(ids.join(", "))),
    }
}

fn chosen(args: &RunArgs) -> Result<Vec<&'static dyn Experiment>, Failure> {
    if args.all {
        return Ok(EXPERIMENTS.to_vec());
    }
    let known = |id: &String| {
        experiment(id).ok_or_else(|| {
            Failure::Usage(format!("there is no experiment \"{id}\"; 'cygnus lab list' shows those that there are"))
        })
    };
    args.experiments.iter().map(known).collect()
}

fn text(verdict: &Verdict, paint: Paint) -> String {
    let tone = |holds| if holds { Tone::Good } else { Tone::Warning };
    let mut out = format!("{}: {}  {}\n", verdict.id, verdict.title, paint.tone(tone(verdict.holds), verdict.word()));
    for check in &verdict.checks {
        let word = paint.tone(tone(check.holds), if check.holds { "holds   " } else { "deviates" });
        writeln!(out, "  {word}  {}: {:.3} ({})", check.claim, check.measured, check.bound).expect("strings take text");
        if let Some(why) = &check.explanation {
            writeln!(out, "            {}", paint.tone(Tone::Faint, why)).expect("strings take text");
        }
    }
    out
}
