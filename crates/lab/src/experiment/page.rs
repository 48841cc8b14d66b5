//! All verdicts as one page that needs nothing but itself.

mod compared;
mod given;

use std::fmt::Write;

use super::{Check, EXPERIMENTS, Number, Verdict};
use crate::chart::escape;

/// Where the results come from.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Its commit.
    pub commit: String,
}

const STYLE: &str = "\
body{font:15px/1.5 Helvetica,Arial,sans-serif;color:#222;max-width:1080px;margin:2rem auto;padding:0 1rem}\
h1{margin-bottom:.2rem}h2{margin-top:3rem;border-top:1px solid #ddd;padding-top:1.2rem}\
table{border-collapse:collapse;margin:.8rem 0}td,th{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top;\
border-bottom:1px solid #eee}th{font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
.holds{color:#00704f;font-weight:600}.differs{color:#0072b2;font-weight:600}.deviates{color:#b34700;font-weight:600}\
td.n,td.absent{white-space:nowrap}td.words{text-align:right;font-style:italic}\
table.wide{width:100%}tr.of th{padding-top:1rem}tr.of a{margin-right:.5rem}.absent{color:#777}.published{color:#555;max-width:52rem}.why{color:#555}.why+span{font-weight:400}\
svg{max-width:100%;height:auto}\
a{color:#0072b2}footer{margin-top:3rem;color:#777}";

/// A section of the page: a verdict with its charts, or the id and title of an experiment that was not run.
pub type Section<'a> = (&'a str, &'a str, Option<(Verdict, Vec<String>)>);

/// The page. `calibration` is a fragment of HTML about the modelled drives.
pub fn page(sections: &[Section], calibration: &str, from: &Provenance) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    let mut say = |text: String| out.push_str(&text);
    say("<meta name=\"viewport\" content=\"width=device-width\"><title>Cygnus: figures reproduced</title>\n".into());
    say(format!("<style>{STYLE}</style></head><body>\n<h1>Published figures, redrawn</h1>\n"));
    say("<p>Every figure below was made by the product's own engine on modelled drives in virtual time. Drives are \
         calibrated on their data sheets and, where these are silent, on a paper's raw figure of the drive: the spare flash of \
         the 850 PRO is fitted to the 140 MB/s that SWAN gives for it. What a check allows is stated in its \
         experiment's file; where ours differs, the page says so. Each scheme has the same colour everywhere; grey is what \
         was published.</p>\n"
        .into());
    let runs: Vec<_> = sections.iter().filter_map(|(_, _, run)| run.as_ref()).collect();
    let of = |word| runs.iter().filter(|(verdict, _)| verdict.word() == word).count();
    say(format!(
        "<p>Cygnus {}, commit {}, {}. {} of {} experiments were run; {} hold, {} differ from the paper for a reason that was \
         measured, {} deviate.</p>\n",
        escape(&from.version),
        escape(&from.commit),
        seeds(&runs),
        runs.len(),
        sections.len(),
        of("holds"),
        of("differs"),
        of("deviates")
    ));
    say("<p>Below: <a href=\"#numbers\">every published number beside ours</a>, <a href=\"#contradictions\">where a paper \
         contradicts itself</a>, each figure, and <a href=\"#drives\">the modelled drives beside their data sheets</a>.</p>\n".into());
    say(overview(sections));
    say("<h2 id=\"numbers\">Every published number beside ours</h2>\n".into());
    say(compared::table(sections));
    say("<h3 id=\"given\">Published numbers that go in</h3>\n".into());
    say(given::table());
    say("<h2 id=\"contradictions\">Where a paper contradicts itself</h2>\n".into());
    say(contradictions());
    for (id, title, run) in sections {
        match run {
            Some((verdict, charts)) => say(section(verdict, charts)),
            None => say(format!(
                "<h2 id=\"{id}\">{id}: {}</h2>\n<p class=\"absent\">Not run: cygnus lab run {id}</p>\n",
                escape(title)
            )),
        }
    }
    say("<h2 id=\"drives\">The modelled drives</h2>\n".into());
    say(calibration.to_owned());
    say("</body></html>\n".into());
    out
}

/// "seed 1", or all that were used.
fn seeds(runs: &[&(Verdict, Vec<String>)]) -> String {
    let mut seeds: Vec<u64> = runs.iter().map(|(verdict, _)| verdict.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let words: Vec<String> = seeds.iter().map(u64::to_string).collect();
    format!("{} {}", if words.len() == 1 { "seed" } else { "seeds" }, words.join(", "))
}

/// What no result can agree with, whichever it is.
fn contradictions() -> String {
    let items = EXPERIMENTS.iter().filter_map(|experiment| {
        let id = experiment.about().id;
        let item = |text| format!("<li><a href=\"#{id}\">{id}</a>: {}</li>\n", escape(text));
        experiment.contradiction().map(item)
    });
    format!("<ul>\n{}</ul>\n", items.collect::<String>())
}

fn overview(sections: &[Section]) -> String {
    let mut out = String::from(
        "<table><tr><th>experiment</th><th></th><th>verdict</th><th class=\"n\">checks</th><th class=\"n\">scale</th></tr>",
    );
    for (id, title, run) in sections {
        let (class, word, checks, scale) = match run {
            Some((verdict, _)) => {
                let held = verdict.checks.iter().filter(|check| check.holds).count();
                let checks = format!("{held} of {}", verdict.checks.len());
                (verdict.word(), verdict.word(), checks, format!("1/{}", verdict.scale))
            }
            None => ("absent", "not run", String::new(), String::new()),
        };
        let title = escape(title);
        writeln!(
            out,
            "<tr><td><a href=\"#{id}\">{id}</a></td><td>{title}</td><td class=\"{class}\">{word}</td>\
             <td class=\"n\">{checks}</td><td class=\"n\">{scale}</td></tr>"
        )
        .expect("strings take text");
    }
    out + "</table>\n"
}

fn section(verdict: &Verdict, charts: &[String]) -> String {
    let (id, word) = (&verdict.id, verdict.word());
    let mut out = format!(
        "<h2 id=\"{id}\">{id}: {} <span class=\"{word}\">{word}</span></h2>\n<p class=\"published\">{}</p>\n",
        escape(&verdict.title),
        escape(&verdict.published)
    );
    for (n, chart) in charts.iter().enumerate() {
        // Clips are known by name all over a page.
        let own = format!("{}-{n}-c", id.replace('/', "-"));
        let svg = chart.replace("id=\"c", &format!("id=\"{own}")).replace("url(#c", &format!("url(#{own}"));
        writeln!(out, "<p>{svg}</p>").expect("strings take text");
    }
    out += &checks(&verdict.checks);
    out += &numbers(&verdict.numbers);
    out += &trials(verdict);
    for note in &verdict.notes {
        writeln!(out, "<p>{}</p>", escape(note)).expect("strings take text");
    }
    let scale =
        if verdict.scale == 1.0 { "the paper's size".into() } else { format!("1/{} of the paper's", verdict.scale) };
    writeln!(out, "<p class=\"absent\">Drives and times: {scale}. Seed {}.</p>", verdict.seed)
        .expect("strings take text");
    out
}

fn checks(checks: &[Check]) -> String {
    let mut out = String::from(
        "<table><tr><th>check</th><th class=\"n\">allowed</th><th class=\"n\">measured</th><th></th></tr>\n",
    );
    for check in checks {
        let word = check.word();
        writeln!(
            out,
            "<tr><td>{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"{word}\">{word}</td></tr>",
            escape(&check.claim),
            why(check),
            check.bound,
            digits(check.measured)
        )
        .expect("strings take text");
    }
    out + "</table>\n"
}

/// Why a check does not hold, and what shows it.
fn why(check: &Check) -> String {
    let Some(explanation) = &check.explanation else { return String::new() };
    let shown = explanation.shown_by.as_ref().map_or(String::new(), |shown| {
        let (claim, word) = (escape(&shown.claim), shown.word());
        let (measured, bound) = (digits(shown.measured), shown.bound);
        format!(" <span class=\"{word}\">Shown by: {claim}: {measured} ({bound}): {word}.</span>")
    });
    format!("<br><span class=\"why\">{}</span>{shown}", escape(&explanation.why))
}

fn numbers(numbers: &[Number]) -> String {
    if numbers.is_empty() {
        return String::new();
    }
    let heads = "<th class=\"n\">paper</th><th class=\"n\">ours</th><th></th><th class=\"n\">off by</th>";
    let mut out = format!("<table><tr><th>number</th>{heads}</tr>\n");
    for number in numbers {
        let paper = number.paper.as_ref();
        let off = paper.map_or(String::new(), |paper| compared::off(paper, number.ours));
        let paper = paper.map_or(String::new(), |paper| escape(&paper.to_string()));
        writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{paper}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{off}</td></tr>",
            escape(&number.what),
            digits(number.ours),
            escape(&number.unit)
        )
        .expect("strings take text");
    }
    out + "</table>\n"
}

fn trials(verdict: &Verdict) -> String {
    let heads = ["MB/s written", "MB/s read", "variation", "array WA", "drive WA", "victims valid"];
    let heads: String = heads.iter().map(|head| format!("<th class=\"n\">{head}</th>")).collect();
    let mut out = format!("<table><tr><th>array</th><th>drives</th>{heads}</tr>\n");
    for trial in &verdict.trials {
        let cells = [
            digits(trial.write_mb_s),
            digits(trial.read_mb_s),
            format!("{:.1} %", trial.variation_percent),
            format!("{:.2}", trial.array_wa),
            format!("{:.2}", trial.drive_wa),
            format!("{:.0} %", trial.victims_valid_percent),
        ];
        let cells: String = cells.iter().map(|cell| format!("<td class=\"n\">{cell}</td>")).collect();
        let (name, drives) = (escape(&trial.name), escape(&trial.drives));
        writeln!(out, "<tr><td>{name}</td><td>{drives}</td>{cells}</tr>").expect("strings take text");
    }
    out + "</table>\n"
}

/// Three digits or a little more.
fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
