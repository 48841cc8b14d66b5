//! `cygnus lab`: published figures, drawn anew.

mod calibration;
mod pictures;
mod report;
mod run;
mod side_by_side;
mod sweep;

use crate::args::lab::LabCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use cygnus_control::paint::Tone;
use cygnus_control::table::{Align, Table};
use cygnus_lab::{EXPERIMENTS, LabError};
use serde::Serialize;

/// Carries out `cygnus lab`.
pub fn run(command: &LabCommand, output: Output) -> Result<Exit, Failure> {
    match command {
        LabCommand::List => list(output).map(Exit::from),
        LabCommand::Run(args) => run::run(args, output),
        LabCommand::Sweep(args) => sweep::run(args, output),
        LabCommand::Report(args) => report::run(args, output).map(Exit::from),
    }
}

#[derive(Debug, Serialize)]
struct Listed {
    experiments: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    id: &'static str,
    title: &'static str,
    published: &'static str,
    scale: f64,
    seeds: u32,
}

fn list(output: Output) -> Result<(), Failure> {
    let line = |about: cygnus_lab::About| Line {
        id: about.id,
        title: about.title,
        published: about.published,
        scale: about.divisor,
        seeds: about.seeds,
    };
    let listed = Listed { experiments: EXPERIMENTS.iter().map(|experiment| line(experiment.about())).collect() };
    output.answer(&listed, |paint| {
        let heads =
            [("EXPERIMENT", Align::Left), ("SCALE", Align::Right), ("SEEDS", Align::Right), ("FIGURE", Align::Left)];
        let mut table = Table::new(&heads);
        for line in &listed.experiments {
            let cells = [line.id.into(), format!("1/{}", line.scale), line.seeds.to_string(), line.title.into()];
            table.row(cells.map(|text| (Tone::Normal, text)).into());
        }
        table.render(paint)
    })
}

fn failure(error: LabError) -> Failure {
    match error {
        LabError::Scenario(error) => Failure::Usage(error.to_string()),
        error => Failure::of(error),
    }
}
