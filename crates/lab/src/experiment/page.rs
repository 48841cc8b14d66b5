//! All verdicts as one page that needs nothing but itself.

mod compared;
mod dropped;
mod given;

use std::fmt::Write;

use super::causal::Causal;
use super::check::Check;
use super::files::Drawn;
use super::judgement::{Judgement, Number};
use super::published::all_dropped;
use super::registry::{EXPERIMENTS, experiment};
use super::scale::Scale;
use super::verdict::{Summary, Verdict};
use crate::chart::{PictureFormat, escape};
use crate::interval::{Interval, confidence};

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
.holds,.reproduced{color:#00704f;font-weight:600}.in-part,.undecided{color:#0072b2;font-weight:600}\
.fails,.not{color:#b34700;font-weight:600}\
td.n,td.absent{white-space:nowrap}\
table.wide{width:100%}tr.of th{padding-top:1rem}tr.of a{margin-right:.5rem}.absent{color:#777}.published{color:#555;max-width:52rem}.why{color:#555}.why+span{font-weight:400}\
svg{max-width:100%;height:auto}\
a{color:#0072b2}footer{margin-top:3rem;color:#777}";

/// A section of the page: a judgement with its charts, or the id and title of an experiment that was not run.
pub type Section<'a> = (&'a str, &'a str, Option<(Judgement, Vec<Drawn>)>);

/// The page. `calibration` is a fragment of HTML about the modelled drives; `results` leads from the page to the directory with
/// the results, and is empty or ends with a slash.
pub fn page(sections: &[Section], calibration: &str, from: &Provenance, results: &str) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    let mut say = |text: String| out.push_str(&text);
    say("<meta name=\"viewport\" content=\"width=device-width\"><title>Cygnus: published figures, redrawn</title>\n"
        .into());
    say(format!("<style>{STYLE}</style></head><body>\n<h1>Published figures, redrawn</h1>\n"));
    let runs: Vec<&Judgement> = sections.iter().filter_map(|(_, _, run)| run.as_ref().map(|(run, _)| run)).collect();
    say(format!("<p><b>{}</b></p>\n", summary(&runs)));
    say(format!(
        "<p>Cygnus {}, commit {}, {}. {} of {} experiments were run.</p>\n",
        escape(&from.version),
        escape(&from.commit),
        seeds(&runs),
        runs.len(),
        sections.len(),
    ));
    say(overview(sections));
    say("<h2 id=\"reading\">How to read it</h2>\n".into());
    say("<p>Every figure below was made by the product's own engine on modelled drives in virtual time. Drives are \
         calibrated on their data sheets and, where these are silent, on a paper's raw figure of the drive. Three are fitted so to a paper \
         whose figures they serve: the spare flash of the 850 PRO to the 140 MB/s that SWAN gives for it; of the 850 EVO, how much of its map may be dirty, to \
         what SALSA's Table 1 gives for the drive as it is; of the Seagate disk, how fast its persistent cache takes writes, to what SALSA's \
         Figure 4 gives for the disk as it is. What is fitted is shown and not judged. What may be off follows by rule from where a value was read: \
         15 % where the text prints it, 25 % where a plot shows it; orders and signs count as they are, and no rate may exceed the \
         hardware's. A cause is shown by an experiment that changes it and nothing else, on the same hardware (as many drives, as large, and with \
         parts as fast), and brings ours at least half of the way to what was published. Each scheme has the same colour everywhere; grey is what was \
         published.</p>\n"
        .into());
    say("<p>Drives here are smaller than the paper's, and so are their caches and all times that go with their size. So that this decides no verdict, an experiment may be \
         run at a second scale, with drives half as large too: then a check holds if it does so at both, is undecided where they differ, and a part that \
         holds at one of them only is not reproduced. \"Not run\" in the table above is a verdict of one scale; \"none\" has nothing that \
         a scale would change, or runs drives of two sizes as it is.</p>\n"
        .into());
    say(intervals());
    say("<p>Below: <a href=\"#numbers\">every published number beside ours</a>, <a href=\"#contradictions\">where a paper \
         contradicts itself</a>, each figure, and <a href=\"#drives\">the modelled drives beside their data sheets</a>.</p>\n".into());
    say("<h2 id=\"numbers\">Every published number beside ours</h2>\n".into());
    say(compared::table(sections));
    say("<h3 id=\"given\">Published numbers that go in</h3>\n".into());
    say(given::table());
    say("<h3 id=\"dropped\">Published lines that are judged no longer</h3>\n".into());
    say(dropped::table(&all_dropped()));
    say("<h2 id=\"contradictions\">Where a paper contradicts itself</h2>\n".into());
    say(contradictions());
    for (judgement, charts) in sections.iter().filter_map(|(.., run)| run.as_ref()) {
        say(section(judgement, charts, results));
    }
    say("<h2 id=\"drives\">The modelled drives</h2>\n".into());
    say(calibration.to_owned());
    say("</body></html>\n".into());
    out
}

/// One line for the published figures, and one for what goes beyond them.
fn summary(runs: &[&Judgement]) -> String {
    let of = |figures: bool| {
        let runs: Vec<&&Judgement> = runs.iter().filter(|run| run.is_of_a_figure() == figures).collect();
        (runs.len(), Summary::of(runs.iter().map(|run| &run.verdict)))
    };
    let ((figures, published), (others, beyond)) = (of(true), of(false));
    let mut line = format!("Published figures and tables, {figures} of them: {published}.");
    if others > 0 {
        write!(line, "<br>A paper's claims on other drives and in other places, {others} of them: {beyond}.")
            .expect("strings take text");
    }
    line
}

/// "seed 1", or all that were used.
fn seeds(runs: &[&Judgement]) -> String {
    let mut seeds: Vec<u64> = runs.iter().flat_map(|run| run.seeds.iter().copied()).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let words: Vec<String> = seeds.iter().map(u64::to_string).collect();
    format!("{} {}", if words.len() == 1 { "seed" } else { "seeds" }, words.join(", "))
}

/// What a number of several seeds is.
fn intervals() -> String {
    let with = |count: usize| format!("{:.0} % with {count}", 100.0 * confidence(count));
    format!(
        "<p>Numbers are medians over all seeds of an experiment; in brackets is an interval of order statistics, which encloses the \
         true median with a chance of {}, {}, {}. A check holds if the whole interval keeps its bound, fails if none of it does, and \
         is undecided otherwise; where there was nothing to measure with a seed it is not measured, and does not hold. Bars have the interval as whiskers, curves as a band around the median; heat maps are the first seed's.</p>\n",
        with(6),
        with(5),
        with(3)
    )
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
        "<table><tr><th>experiment</th><th></th><th>verdict</th><th class=\"n\">checks</th><th class=\"n\">seeds</th><th class=\"n\">scale</th><th class=\"n\">second scale</th></tr>",
    );
    for (id, title, run) in sections {
        let (class, word, checks, seeds, scale) = match run {
            Some((run, _)) => {
                let held = run.checks.iter().filter(|check| check.holds()).count();
                let checks = format!("{held} of {}", run.checks.len());
                let word = escape(&run.words());
                (class(&run.verdict), word, checks, run.seeds.len().to_string(), format!("1/{}", run.scale))
            }
            None => ("absent", "not run".to_owned(), String::new(), String::new(), String::new()),
        };
        let second = run.as_ref().map_or_else(String::new, |(run, _)| second_scale(run));
        let title = escape(run.as_ref().map_or(title, |(run, _)| &run.title));
        // Other tables lead to what was not run as well: this line is all that there is of it.
        let id = match run {
            Some(_) => format!("<a href=\"#{id}\">{id}</a>"),
            None => format!("<span id=\"{id}\">{id}</span>"),
        };
        writeln!(
            out,
            "<tr><td>{id}</td><td>{title}</td><td class=\"{class}\">{word}</td>\
             <td class=\"n\">{checks}</td><td class=\"n\">{seeds}</td><td class=\"n\">{scale}</td><td class=\"n\">{second}</td></tr>"
        )
        .expect("strings take text");
    }
    out += "</table>\n";
    let not_run: Vec<&str> = sections.iter().filter(|(.., run)| run.is_none()).map(|(id, ..)| *id).collect();
    if !not_run.is_empty() {
        let runs = format!("<code>cygnus lab run {}</code>", not_run.join(" "));
        writeln!(out, "<p class=\"absent\">What was not run: {runs}</p>").expect("strings take text");
    }
    out
}

/// The other scale at which all checks were made, or that there was none.
fn second_scale(run: &Judgement) -> String {
    let there_is = || {
        let scale = Scale::new(run.scale).ok()?;
        experiment(&run.id)?.second_scale(scale)
    };
    match run.second_scale() {
        Some(divisor) => format!("1/{divisor}"),
        None if there_is().is_some() => "not run".into(),
        None => "none".into(),
    }
}

fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::ReproducedInPart { .. } => "in-part",
        Verdict::NotReproducedCauseShown | Verdict::NotReproducedCauseUnknown => "not",
    }
}

fn section(run: &Judgement, charts: &[Drawn], results: &str) -> String {
    let (id, word, class) = (&run.id, run.verdict.word(), class(&run.verdict));
    let mut out = format!(
        "<h2 id=\"{id}\">{id}: {} <span class=\"{class}\">{word}</span></h2>\n<p class=\"published\">{}</p>\n",
        escape(&run.title),
        escape(&run.published)
    );
    for (n, chart) in charts.iter().enumerate() {
        // Clips are known by name all over a page.
        let own = format!("{}-{n}-c", id.replace('/', "-"));
        let svg = chart.svg.replace("id=\"c", &format!("id=\"{own}")).replace("url(#c", &format!("url(#{own}"));
        let links =
            run.charts.get(n).map_or(String::new(), |name| links(&format!("{results}{id}/{name}"), &chart.pictures));
        writeln!(out, "<p>{svg}{links}</p>").expect("strings take text");
    }
    out += &compared::checks(&run.checks);
    out += &causes(&run.checks);
    out += &numbers(&run.numbers);
    out += &trials(run);
    for note in &run.notes {
        writeln!(out, "<p>{}</p>", escape(note)).expect("strings take text");
    }
    let scale = if run.scale == 1.0 { "the paper's size".into() } else { format!("1/{} of the paper's", run.scale) };
    writeln!(out, "<p class=\"absent\">Drives and times: {scale}. {} {}</p>", scales(run), chance(run))
        .expect("strings take text");
    out
}

/// What a second scale says of the verdict.
fn scales(run: &Judgement) -> String {
    let said = match run.second_scale() {
        Some(second) => {
            format!(
                "All of it was run at 1/{second} too, and what holds at one of the two only is not reproduced: {}.",
                run.words()
            )
        }
        None if second_scale(run) == "none" => return "There is no second scale.".into(),
        None => "It was not run at a second scale.".into(),
    };
    escape(&said)
}

/// How many seeds there were, and what that tells.
fn chance(run: &Judgement) -> String {
    match run.seeds.len() {
        1 => format!("Seed {} alone: no interval.", run.seeds[0]),
        count => {
            format!("{count} seeds: intervals enclose the median with a chance of {:.1} %.", 100.0 * run.confidence)
        }
    }
}

/// Where a chart is by itself, and its points.
fn links(file: &str, pictures: &[PictureFormat]) -> String {
    let file = escape(file);
    let picture = |format: &PictureFormat| {
        let extension = format.extension();
        format!(" <a href=\"{file}.{extension}\">{}</a>", extension.to_uppercase())
    };
    let pictures: String = pictures.iter().map(picture).collect();
    format!("<br><a href=\"{file}.csv\">its points (CSV)</a> <a href=\"{file}.svg\">the drawing (SVG)</a>{pictures}")
}

/// The experiments that were to show why checks fail, written out: each supposed cause once, with all checks that it was tried on.
fn causes(checks: &[Check]) -> String {
    let tried: Vec<(&Check, &Causal)> =
        checks.iter().flat_map(|check| check.causes.iter().map(move |cause| (check, cause))).collect();
    let same = |a: &Causal, b: &Causal| a.cause == b.cause && a.changed == b.changed;
    let mut out = String::new();
    for (n, (_, cause)) in tried.iter().enumerate() {
        if tried[..n].iter().any(|(_, earlier)| same(earlier, cause)) {
            continue;
        }
        let found = tried[n..].iter().filter(|(_, later)| same(later, cause));
        let found: String = found.map(|(check, cause)| found_for(check, cause)).collect();
        writeln!(
            out,
            "<p class=\"why\">Supposed cause: {} Changed, and nothing else: {}.</p>\n<ul class=\"why\">{found}</ul>",
            escape(&cause.cause),
            changed(cause)
        )
        .expect("strings take text");
    }
    out
}

fn changed(cause: &Causal) -> String {
    let side = |text: &str| {
        if text.is_empty() { "not there".to_owned() } else { format!("\u{201c}{}\u{201d}", escape(text)) }
    };
    let one = |change: &super::causal::Change| {
        format!("<code>{}</code> from {} to {}", escape(&change.key), side(&change.from), side(&change.to))
    };
    cause.changed.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// What the change of a supposed cause did to a check.
fn found_for(check: &Check, cause: &Causal) -> String {
    let (class, words) = match (cause.shown, cause.is_other_hardware()) {
        (true, _) => ("holds", "The cause is shown."),
        (false, true) => ("fails", "This is other hardware, which shows no cause."),
        (false, false) => ("fails", "The cause is not shown."),
    };
    format!(
        "<li><b>{}, {}</b>: ours goes from {} to {}, {} of the way to {}. <span class=\"{class}\">{words}</span></li>\n",
        escape(&check.panel),
        escape(&check.series),
        interval(check.ours),
        interval(cause.ours),
        share(cause.moved),
        escape(&check.published.to_string())
    )
}

fn share(moved: Option<Interval>) -> String {
    let Some(moved) = moved else { return "nothing".into() };
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    match moved.is_wide() {
        true => format!("{} % [{} to {}]", percent(moved.median), percent(moved.low), percent(moved.high)),
        false => format!("{} %", percent(moved.median)),
    }
}

fn numbers(numbers: &[Number]) -> String {
    if numbers.is_empty() {
        return String::new();
    }
    let mut out = String::from("<table><tr><th>not published</th><th class=\"n\">ours</th><th></th></tr>\n");
    for number in numbers {
        let (what, unit) = (escape(&number.what), escape(&number.unit));
        writeln!(out, "<tr><td>{what}</td><td class=\"n\">{}</td><td>{unit}</td></tr>", interval(number.ours))
            .expect("strings take text");
    }
    out + "</table>\n"
}

fn trials(run: &Judgement) -> String {
    let heads = ["MB/s written", "MB/s read", "variation", "array WA", "drive WA", "victims valid"];
    let heads: String = heads.iter().map(|head| format!("<th class=\"n\">{head}</th>")).collect();
    let mut out = format!("<table><tr><th>array</th><th>drives</th>{heads}</tr>\n");
    for trial in &run.trials {
        let cells = [
            quotient(trial.write_mb_s, digits),
            quotient(trial.read_mb_s, digits),
            quotient(trial.variation_percent, |percent| format!("{percent:.1} %")),
            quotient(trial.array_wa, |times| format!("{times:.2}")),
            quotient(trial.drive_wa, |times| format!("{times:.2}")),
            quotient(trial.victims_valid_percent, |percent| format!("{percent:.0} %")),
        ];
        let cells: String = cells.iter().map(|cell| format!("<td class=\"n\">{cell}</td>")).collect();
        let (name, drives) = (escape(&trial.name), escape(&trial.drives));
        writeln!(out, "<tr><td>{name}</td><td>{drives}</td>{cells}</tr>").expect("strings take text");
    }
    out + "</table>\n"
}

/// A cell; one of nothing has a dash.
fn quotient(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or("-".into(), show)
}

/// A median, with its interval if it has one; a dash of what was not measured.
fn interval(measured: Option<Interval>) -> String {
    let shown = |of: Interval| match of.is_wide() {
        true => format!("{} [{} to {}]", digits(of.median), digits(of.low), digits(of.high)),
        false => digits(of.median),
    };
    measured.map_or("-".into(), shown)
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
