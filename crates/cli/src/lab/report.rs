//! `cygnus lab report`

use super::{calibration, failure};
use crate::args::lab::ReportArgs;
use crate::failure::Failure;
use crate::output::Output;
use cygnus_lab::{EXPERIMENTS, Provenance, page, read_verdict};
use serde::Serialize;
use std::path::PathBuf;

/// What `lab report` answers.
#[derive(Debug, Serialize)]
struct Answer {
    page: PathBuf,
    experiments: usize,
    run: usize,
    holding: usize,
}

pub(super) fn run(args: &ReportArgs, output: Output) -> Result<(), Failure> {
    let mut sections = Vec::new();
    for experiment in EXPERIMENTS {
        let about = experiment.about();
        sections.push((about.id, about.title, read_verdict(&args.out, about.id).map_err(failure)?));
    }
    let runs: Vec<_> = sections.iter().filter_map(|(_, _, run)| run.as_ref()).collect();
    if runs.is_empty() {
        let dir = args.out.display();
        return Err(Failure::Failed(format!("{dir}: no results; run 'cygnus lab run --all --out {dir}' first")));
    }
    let (run, holding) = (runs.len(), runs.iter().filter(|(verdict, _)| verdict.holds).count());
    let from = Provenance { version: env!("CARGO_PKG_VERSION").into(), commit: env!("CYGNUS_COMMIT").into() };
    let text = page(&sections, &calibration::html(), &from);
    let file = args.page.clone().unwrap_or_else(|| args.out.join("report.html"));
    std::fs::write(&file, text).map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
    let answer = Answer { page: file, experiments: EXPERIMENTS.len(), run, holding };
    output.answer(&answer, |_| {
        let missing = match answer.experiments - run {
            0 => String::new(),
            some => format!("; {some} were not run"),
        };
        format!("{}: {holding} of {run} experiments hold{missing}\n", answer.page.display())
    })
}
