//! `cygnus lab report`

use super::{calibration, failure};
use crate::args::lab::ReportArgs;
use crate::failure::Failure;
use crate::kept;
use crate::outfile;
use crate::output::Output;
use cygnus_lab::{EXPERIMENTS, Judgement, Summary, Verdict, page, read_judgement};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// What `lab report` answers.
#[derive(Debug, Serialize)]
struct Answer {
    page: PathBuf,
    experiments: usize,
    run: usize,
    /// Of published figures.
    summary: Summary,
    /// Of what holds a paper's claims against other drives and places.
    beyond: Summary,
    verdicts: Vec<Line>,
    not_run: Vec<&'static str>,
}

/// An experiment's verdict.
#[derive(Debug, Serialize)]
struct Line {
    id: String,
    verdict: Verdict,
}

impl Answer {
    fn new(page: PathBuf, runs: &[(&'static str, Option<&Judgement>)]) -> Self {
        let judged = || runs.iter().filter_map(|(_, run)| *run);
        let of =
            |figures: bool| Summary::of(judged().filter(|run| run.is_of_a_figure() == figures).map(|run| &run.verdict));
        let not_run: Vec<_> = runs.iter().filter(|(_, run)| run.is_none()).map(|(id, _)| *id).collect();
        let line = |run: &Judgement| Line { id: run.id.clone(), verdict: run.verdict.clone() };
        Self {
            page,
            experiments: runs.len(),
            run: runs.len() - not_run.len(),
            summary: of(true),
            beyond: of(false),
            verdicts: judged().map(line).collect(),
            not_run,
        }
    }

    fn text(&self) -> String {
        let mut out = format!("{}: {} of {} experiments were run\n", self.page.display(), self.run, self.experiments);
        let mut say = |text: std::fmt::Arguments| writeln!(out, "  {text}").expect("strings take text");
        say(format_args!("published figures: {}", self.summary));
        if self.beyond != Summary::default() {
            say(format_args!("claims on other drives and places: {}", self.beyond));
        }
        if !self.not_run.is_empty() {
            say(format_args!("not run: {}", self.not_run.join(", ")));
        }
        out
    }
}

pub(super) fn run(args: &ReportArgs, output: Output) -> Result<(), Failure> {
    let mut sections = Vec::new();
    for experiment in EXPERIMENTS {
        let about = experiment.about();
        sections.push((about.id, about.title, read_judgement(&args.out, about.id).map_err(failure)?));
    }
    if sections.iter().all(|(.., run)| run.is_none()) {
        let dir = args.out.display();
        return Err(Failure::Failed(format!("{dir}: no results; run 'cygnus lab run --all --out {dir}' first")));
    }
    let runs: Vec<_> = sections.iter().map(|(id, _, run)| (*id, run.as_ref().map(|(run, _)| run))).collect();
    let from = kept::provenance();
    let file = args.page.clone().unwrap_or_else(|| args.out.join("report.html"));
    let text = page(&sections, &calibration::html(), &from, &results(args)?);
    outfile::write(&file, &text)?;
    let answer = Answer::new(file, &runs);
    output.answer(&answer, |_| answer.text())
}

/// What leads from the page to the results: nothing beside them, else the whole path.
fn results(args: &ReportArgs) -> Result<String, Failure> {
    if args.page.as_ref().is_none_or(|page| page.parent() == Some(&args.out)) {
        return Ok(String::new());
    }
    let failed = |error| Failure::Failed(format!("{}: {error}", args.out.display()));
    Ok(format!("{}/", args.out.canonicalize().map_err(failed)?.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(id: &str, verdict: Verdict) -> Judgement {
        Judgement {
            schema: 4,
            id: id.into(),
            mechanism: None,
            title: String::new(),
            published: String::new(),
            scale: 1.0,
            seeds: vec![1],
            confidence: 0.0,
            verdict,
            checks: Vec::new(),
            dropped: Vec::new(),
            numbers: Vec::new(),
            trials: Vec::new(),
            notes: Vec::new(),
            charts: Vec::new(),
        }
    }

    #[test]
    fn each_experiment_is_counted_once() {
        let (a, b) = (judgement("a/b", Verdict::Reproduced), judgement("a/c", Verdict::NotReproducedCauseUnknown));
        let other = judgement("beyond/d", Verdict::NotReproducedCauseShown);
        let runs = [("a/b", Some(&a)), ("a/c", Some(&b)), ("a/e", None), ("beyond/d", Some(&other))];
        let answer = Answer::new("page.html".into(), &runs);
        assert_eq!((answer.experiments, answer.run, answer.verdicts.len()), (4, 3, 3));
        let text = "page.html: 3 of 4 experiments were run\n  published figures: 1 reproduced, 0 in part, 0 not reproduced \
                    (cause shown), 1 not reproduced (cause unknown)\n  claims on other drives and places: 0 reproduced, 0 in part, \
                    1 not reproduced (cause shown), 0 not reproduced (cause unknown)\n  not run: a/e\n";
        assert_eq!(answer.text(), text);
    }
}
