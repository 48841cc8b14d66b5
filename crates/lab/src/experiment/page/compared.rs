//! What was published beside ours: a table for each figure, and one of all of them.

use std::fmt::Write;

use super::{Section, interval};
use crate::chart::escape;
use crate::experiment::bound::Ruling;
use crate::experiment::check::{Again, Check, Gap};
use crate::experiment::published::{Kind, Read, Was};
use crate::experiment::verdict::rulings;

const HEADS: &str = "<th>part</th><th>what</th><th class=\"n\">published</th><th>read from</th><th class=\"n\">allowed</th>\
    <th class=\"n\">ours</th><th></th><th class=\"n\">off by</th><th></th>";

/// The checks of a figure.
pub(super) fn checks(checks: &[Check]) -> String {
    let rows: String = checks.iter().map(row).collect();
    let changed: String = checks.iter().flat_map(|check| check.was.iter().map(|was| changed(check, was))).collect();
    let list = if changed.is_empty() {
        changed
    } else {
        format!("<details><summary>What was allowed before</summary><ul>{changed}</ul></details>\n")
    };
    format!("<table class=\"wide\"><tr>{HEADS}</tr>\n{rows}</table>\n{list}")
}

/// All of them, with a sentence that counts.
pub(super) fn table(sections: &[Section]) -> String {
    let runs = || sections.iter().filter_map(|(.., run)| run.as_ref().map(|(judgement, _)| judgement));
    let [hold, undecided, fail, unmeasured] = rulings(runs().flat_map(|run| &run.checks));
    let mut out = format!(
        "<p>{} checks: {hold} hold, {undecided} are undecided, {fail} fail, {unmeasured} measured nothing. \"Off by\" is the distance of ours from what was \
         published, as a part of it where it is not zero. A number in brackets is printed by no paper: it was derived from what is printed, \
         as the line says when pointed at.</p>\n<table class=\"wide\"><tr>{HEADS}</tr>\n",
        hold + undecided + fail + unmeasured
    );
    for run in runs() {
        let (id, title) = (&run.id, escape(&run.title));
        writeln!(out, "<tr class=\"of\"><th colspan=\"9\"><a href=\"#{id}\">{id}</a> {title}</th></tr>")
            .expect("strings take text");
        run.checks.iter().for_each(|check| out += &row(check));
    }
    out + "</table>\n"
}

fn row(check: &Check) -> String {
    let read = match (check.kind, check.read) {
        (_, Read::Derived) => "derived, ours",
        (Kind::Limit, _) => "hardware",
        (_, Read::Text) => "text",
        (_, Read::Plot) => "plot",
    };
    // What no paper prints is in brackets in the column of what was published.
    let published = match check.read {
        Read::Derived => format!("[{}]", check.published),
        Read::Text | Read::Plot => check.published.to_string(),
    };
    let text = [&check.panel, &check.series].map(|text| format!("<td>{}</td>", escape(text)));
    let published = format!("<td class=\"n\" title=\"{}\">{}</td>", escape(&check.place), escape(&published));
    let allowed = escape(&check.bound.to_string());
    let unit = escape(&check.unit);
    let again = |words: fn(&Again) -> String| {
        let words = check.again.as_ref().map(|again| (again.scale, words(again)));
        words
            .filter(|(_, words)| !words.is_empty())
            .map_or(String::new(), |(scale, words)| format!("<br>1/{scale}: {words}"))
    };
    let ours = interval(check.ours) + &again(|again| interval(again.ours));
    let off = off_by(check.gap) + &again(|again| off_by(again.gap));
    let word = check.standing().word();
    let class = if check.standing() == Ruling::Unmeasured { "not" } else { word };
    format!(
        "<tr>{}{published}<td>{read}</td><td class=\"n\">{allowed}</td><td class=\"n\">{ours}</td><td>{unit}</td>\
         <td class=\"n\">{off}</td><td class=\"{class}\">{word}</td></tr>\n",
        text.concat()
    )
}

fn off_by(gap: Option<Gap>) -> String {
    gap.map_or(String::new(), |gap| gap.to_string())
}

fn changed(check: &Check, was: &Was) -> String {
    let text = format!("{}, {}: {}, until {}; {}.", check.panel, check.series, was.said, was.until, was.reason);
    format!("<li>{}</li>\n", escape(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::published::{Line, Published};
    use crate::experiment::verdict::Verdict;
    use crate::experiment::{Judgement, Number};
    use crate::interval::Interval;

    fn check(series: &str, published: Published, ours: &[f64]) -> Check {
        let line = Line {
            figure: "a/fig1".into(),
            panel: "<part>".into(),
            series: series.into(),
            kind: Kind::Value,
            published,
            unit: "MB/s".into(),
            read: Read::Plot,
            within: None,
            place: "Figure 1".into(),
            was: vec![Was { said: "900".into(), until: "2026-11-23".into(), reason: "misread".into() }],
        };
        Check::new(line, Interval::measured(ours))
    }

    fn judgement() -> Judgement {
        let checks = vec![
            check("rate", Published::About(800.0), &[700.0, 760.0, 790.0]),
            check("later", Published::Above(4.0), &[3.0, 3.0, 3.0]),
            check("last", Published::Below(4.0), &[3.0, 3.5, 4.5]),
            check("none", Published::Below(4.0), &[3.0, f64::NAN, 3.0]),
        ];
        Judgement {
            schema: 4,
            id: "a/fig1".into(),
            mechanism: None,
            title: "A <title>".into(),
            published: "Words.".into(),
            scale: 64.0,
            seeds: vec![7, 8, 9],
            confidence: 0.75,
            verdict: Verdict::of(&checks, &[]),
            checks,
            dropped: Vec::new(),
            numbers: vec![Number::new("of no line".into(), "", &[1.0])],
            trials: Vec::new(),
            notes: Vec::new(),
            charts: Vec::new(),
        }
    }

    #[test]
    fn the_table_counts_names_and_escapes() {
        let run = Some((judgement(), Vec::new()));
        let table = table(&[("a/fig1", "A <title>", run), ("a/fig2", "Not run", None)]);
        for part in [
            "4 checks: 1 hold, 1 are undecided, 1 fail, 1 measured nothing",
            "<td class=\"n\">-</td><td>MB/s</td><td class=\"n\"></td><td class=\"not\">not measured<",
            "href=\"#a/fig1\"",
            "A &lt;title&gt;",
            "&lt;part&gt;",
            "&gt; 4",
            "760 [700 to 790]",
            "600 to 1000",
            "-25 %",
            "title=\"Figure 1\">800<",
            ">plot<",
        ] {
            assert!(table.contains(part), "{part} is missing in {table}");
        }
        assert_eq!(table.matches("a/fig2").count(), 0);
        assert!(!table.contains("of no line"));
    }

    #[test]
    fn a_second_scale_stands_below_the_first_one() {
        let first = check("rate", Published::About(800.0), &[790.0]);
        let second = Again::new(128.0, check("rate", Published::About(800.0), &[1600.0]));
        let row = row(&Check { again: Some(second), ..first });
        for part in [">790<br>1/128: 1600<", "<br>1/128: +100 %<", ">undecided<"] {
            assert!(row.contains(part), "{part} is missing in {row}");
        }
    }

    #[test]
    fn what_no_paper_prints_is_not_called_published() {
        let derived = Check { read: Read::Derived, ..check("share", Published::About(33.0), &[30.0]) };
        let row = row(&derived);
        assert!(row.contains(">[33]<") && row.contains("<td>derived, ours</td>"), "{row}");
    }

    #[test]
    fn what_a_line_said_before_is_there() {
        let text = checks(&judgement().checks);
        assert_eq!(text.matches("rate: 900, until 2026-11-23; misread.").count(), 1);
    }
}
