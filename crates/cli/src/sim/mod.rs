//! `cygnus sim`: scenarios played through in virtual time.

mod device;
mod fabric;
mod run;
mod show;

use crate::args::sim::SimCommand;
use crate::failure::Failure;
use crate::infile;
use crate::output::{Output, print};
use cygnus_control::paint::Tone;
use cygnus_control::table::{Align, Table};
use cygnus_lab::{EXAMPLES, Example, Scenario};
use serde::Serialize;
use std::path::Path;

/// Carries out `cygnus sim`.
pub fn run(command: &SimCommand, output: Output) -> Result<(), Failure> {
    match command {
        SimCommand::Run(args) => run::run(args, output),
        SimCommand::Device(args) => device::run(args, output),
        SimCommand::Fabric(args) => fabric::run(args, output),
        SimCommand::List => list(output),
        SimCommand::Example { name } => example(name, output),
    }
}

#[derive(Debug, Serialize)]
struct Listed {
    scenarios: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    about: String,
    arrays: Vec<String>,
}

impl Line {
    fn of(example: &Example) -> Line {
        let scenario = Scenario::parse(example.name, example.text).expect("the lab's tests parse what comes with it");
        let arrays = scenario.arrays().map(|array| array.name().into()).collect();
        Line { name: example.name, about: scenario.about().into(), arrays }
    }
}

fn list(output: Output) -> Result<(), Failure> {
    let listed = Listed { scenarios: EXAMPLES.iter().map(Line::of).collect() };
    output.answer(&listed, |paint| {
        let heads = ["SCENARIO", "ARRAYS", "ABOUT"].map(|name| (name, Align::Left));
        let mut table = Table::new(&heads);
        for line in &listed.scenarios {
            let cells = [line.name.into(), line.arrays.join(", "), line.about.clone()];
            table.row(cells.map(|text| (Tone::Normal, text)).into());
        }
        table.render(paint)
    })
}

/// The scenario of that name that comes with the program.
fn shipped(name: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| example.name == name)
}

/// The name and the text of a scenario: of the file, or of what comes with the program by that name if there is no such file.
pub fn load(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    match (infile::read(path), shipped(&name)) {
        (Ok(text), _) => Ok((name, text)),
        (Err(error), Some(example)) if error.kind() == std::io::ErrorKind::NotFound => Ok((name, example.text.into())),
        (Err(error), _) => {
            let remedy = "name a scenario file, or one that 'cygnus sim list' shows";
            Err(Failure::Usage(format!("{name}: {error}; {remedy}")))
        }
    }
}

fn unknown(name: &str) -> Failure {
    let known: Vec<_> = EXAMPLES.iter().map(|example| example.name).collect();
    Failure::Usage(format!("no scenario is called \"{name}\"; there are {}", known.join(", ")))
}

fn example(name: &str, output: Output) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Answer {
        name: &'static str,
        text: &'static str,
    }
    let Example { name, text } = *shipped(name).ok_or_else(|| unknown(name))?;
    match output.json() {
        true => output.answer(&Answer { name, text }, |_| String::new()),
        false => print(text),
    }
}
