//! A small experiment, to the byte: what it finds, draws and writes down is the same wherever it runs.

use std::fs;
use std::path::Path;

use cygnus_lab::{
    EXPERIMENTS, Laboratory, Mechanism, Provenance, Scale, WithMechanism, experiment, experiment_files, page,
    read_judgement, record, unlike_recorded,
};

const ID: &str = "swan/fig5";

/// What is run, how many times smaller than the paper's, and with how many seeds.
const FIGURES: [(&str, f64, u32); 2] = [(ID, 1024.0, 2), ("serial/fig7", 96.0, 1)];

/// FNV-1a, of 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn a_small_figure_is_as_it_was_and_makes_a_page() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("experiments");
    let mut kept_text = String::new();
    let mut judgements = Vec::new();
    for (id, divisor, seeds) in FIGURES {
        let figure = experiment(id).expect("it is registered");
        let scale = Scale::new(divisor).expect("it is in bounds");
        let (judgement, charts) =
            Laboratory::default().conduct(figure, scale, 1, seeds).unwrap_or_else(|error| panic!("{error}"));
        let written = dir.join(&judgement.id);
        fs::create_dir_all(&written).expect("the target directory can be written");
        for (name, text) in experiment_files(&judgement, &charts) {
            fs::write(written.join(name), text).expect("the target directory can be written");
        }
        for name in ["verdict.json", "throughput.csv", "throughput.svg"] {
            let bytes = fs::read(written.join(name)).expect("it was just written");
            kept_text += &format!("{:016x}  {id} {name}\n", hash(&bytes));
        }
        // In words too, so that a change of a verdict is seen and not only that something changed.
        kept_text += &record(&judgement);
        for check in &judgement.checks {
            kept_text += &format!("  {}: {}, {}\n", check.ruling.word(), check.panel, check.series);
        }
        judgements.push(judgement);
    }
    let judgement = judgements.swap_remove(0);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/experiments.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&kept, &kept_text).expect("the source can be written");
    }
    assert_eq!(
        fs::read_to_string(&kept).expect("it is part of the source"),
        kept_text,
        "the figure is not as it was. If engine, models or the experiment changed, that is right: run this test with \
         UPDATE_SNAPSHOTS=1, and look at the verdict. If only the machine changed, something depends on it."
    );

    let read = read_judgement(&dir, ID).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.as_ref().map(|(judgement, _)| judgement), Some(&judgement));
    assert!(read_judgement(&dir, "swan/none").is_ok_and(|none| none.is_none()));
    let from = Provenance { version: "0".into(), commit: "c0ffee".into() };
    let page = page(&[(ID, "Title", read), ("swan/none", "Not yet", None)], "<p>drives</p>", &from, "up/");
    for part in [
        "<svg",
        "c0ffee, seeds 1, 2",
        "Published figures and tables, 1 of them: ",
        "id=\"numbers\"",
        "prints N = 1.89",
        "cygnus lab run swan/none",
        &format!("<a href=\"up/{ID}/{}.csv\">its points", judgement.charts[0]),
        judgement.verdict.word(),
        "<p>drives</p>",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(!page.contains("src="), "it needs nothing but itself");
    assert!(!page.contains("figures reproduced"), "that is for the verdicts to say");
}

/// Drives that are too small are an error when they are to be run, and a setup comes to its end before.
#[test]
fn every_experiment_can_be_set_up_at_every_scale() {
    for figure in EXPERIMENTS {
        for divisor in [1.0, figure.about().divisor, 4096.0] {
            let scale = figure.scale(Scale::new(divisor).expect("it is in bounds"));
            let names: Vec<String> = figure.setup(scale).into_iter().map(|trial| trial.name).collect();
            assert!(names.iter().all(|name| !name.is_empty()), "{}: {names:?}", figure.about().id);
        }
    }
}

#[test]
fn a_figure_with_a_mechanism_says_so_and_is_held_against_no_record() {
    let (id, divisor, seeds) = FIGURES[1];
    let figure = experiment(id).expect("it is registered");
    let scale = Scale::new(divisor).expect("it is in bounds");
    let with = WithMechanism::new(figure, Mechanism::SPARE_7_4, scale).unwrap_or_else(|why| panic!("{why}"));
    let judged = Laboratory::default().conduct(&with, scale, 1, seeds).unwrap_or_else(|error| panic!("{error}"));
    let (judgement, charts) = judged;
    assert_eq!((judgement.id.as_str(), judgement.mechanism.as_deref()), (id, Some("spare-7.4")));
    let titles = std::iter::once(&judgement.title).chain(charts.iter().map(|chart| &chart.title));
    assert!(titles.into_iter().all(|title| title.ends_with(" (mechanism: spare 7.4 %)")), "{}", judgement.title);
    assert!(judgement.notes.iter().any(|note| note.starts_with("Drives have a spare of 7.4 %")));
    assert!(judgement.checks.iter().all(|check| check.causes.is_empty()));
    assert!(record(&judgement).starts_with("serial/fig7 with spare-7.4: "), "{}", record(&judgement));
    let mut of_own_size = judgement;
    of_own_size.scale = figure.about().divisor;
    of_own_size.seeds = (1..=u64::from(figure.about().seeds)).collect();
    of_own_size.checks.clear();
    assert_eq!(unlike_recorded(&of_own_size), []);
    of_own_size.mechanism = None;
    assert_eq!(unlike_recorded(&of_own_size).len(), 1, "without the mechanism it would be another verdict");
}
