//! `cygnus lab report`

use super::{calibration, failure};
use crate::args::lab::ReportArgs;
use crate::failure::Failure;
use crate::outfile;
use crate::output::Output;
use cygnus_lab::{EXPERIMENTS, Provenance, Verdict, page, read_verdict};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// What `lab report` answers.
#[derive(Debug, Serialize)]
struct Answer {
    page: PathBuf,
    experiments: usize,
    run: usize,
    holding: usize,
    /// Ids of those that hold.
    hold: Vec<&'static str>,
    /// Of those that differ from the paper for a reason that was measured.
    differ: Vec<&'static str>,
    /// Of those that are not as published, without such a reason.
    deviate: Vec<&'static str>,
    not_run: Vec<&'static str>,
}

impl Answer {
    /// `words` are the experiments' verdicts; nothing for those that were not run.
    fn new(page: PathBuf, words: &[(&'static str, Option<&str>)]) -> Self {
        let of = |wanted: Option<&str>| -> Vec<_> {
            words.iter().filter(|(_, word)| *word == wanted).map(|(id, _)| *id).collect()
        };
        let (hold, not_run) = (of(Some("holds")), of(None));
        let (experiments, run) = (words.len(), words.len() - not_run.len());
        let (differ, deviate) = (of(Some("differs")), of(Some("deviates")));
        Self { page, experiments, run, holding: hold.len(), hold, differ, deviate, not_run }
    }

    fn text(&self) -> String {
        let mut out = format!("{}: {} of {} experiments were run\n", self.page.display(), self.run, self.experiments);
        for (ids, what) in [
            (&self.hold, "hold"),
            (&self.differ, "differ from the paper for a reason that was measured"),
            (&self.deviate, "deviate"),
            (&self.not_run, "were not run"),
        ] {
            let names = if ids.is_empty() { String::new() } else { format!(": {}", ids.join(", ")) };
            writeln!(out, "  {} {what}{names}", ids.len()).expect("strings take text");
        }
        out
    }
}

pub(super) fn run(args: &ReportArgs, output: Output) -> Result<(), Failure> {
    let mut sections = Vec::new();
    for experiment in EXPERIMENTS {
        let about = experiment.about();
        sections.push((about.id, about.title, read_verdict(&args.out, about.id).map_err(failure)?));
    }
    if sections.iter().all(|(.., run)| run.is_none()) {
        let dir = args.out.display();
        return Err(Failure::Failed(format!("{dir}: no results; run 'cygnus lab run --all --out {dir}' first")));
    }
    let word = |run: &Option<(Verdict, _)>| run.as_ref().map(|(verdict, _)| verdict.word());
    let words: Vec<_> = sections.iter().map(|(id, _, run)| (*id, word(run))).collect();
    let from = Provenance { version: env!("CARGO_PKG_VERSION").into(), commit: env!("CYGNUS_COMMIT").into() };
    let text = page(&sections, &calibration::html(), &from);
    let file = args.page.clone().unwrap_or_else(|| args.out.join("report.html"));
    outfile::write(&file, &text)?;
    let answer = Answer::new(file, &words);
    output.answer(&answer, |_| answer.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_experiment_is_counted_and_named_once() {
        let words =
            [("a", Some("holds")), ("b", Some("differs")), ("c", None), ("d", Some("deviates")), ("e", Some("holds"))];
        let answer = Answer::new("page.html".into(), &words);
        assert_eq!((answer.experiments, answer.run, answer.holding), (5, 4, 2));
        let text = "page.html: 4 of 5 experiments were run\n  2 hold: a, e\n  1 differ from the paper for a reason that was \
                    measured: b\n  1 deviate: d\n  1 were not run: c\n";
        assert_eq!(answer.text(), text);
    }
}
