//! One table of all published numbers, each beside ours, and what is made of it.

use std::fmt::Write;

use super::{Section, digits};
use crate::chart::escape;
use crate::experiment::{Bound, Check, Number, Published, Verdict};

/// A published number, or a check's bound, beside ours.
#[derive(Debug, PartialEq)]
struct Compared<'a> {
    what: &'a str,
    unit: &'a str,
    published: Option<&'a Published>,
    /// By the check of that name, if there is one.
    allowed: Option<Bound>,
    ours: f64,
    /// The check's word. A number without a check is not judged by itself.
    word: Option<&'static str>,
}

impl<'a> Compared<'a> {
    fn number(number: &'a Number, check: Option<&Check>) -> Self {
        Self {
            what: &number.what,
            unit: &number.unit,
            published: number.paper.as_ref(),
            allowed: check.map(|check| check.bound),
            ours: number.ours,
            word: check.map(Check::word),
        }
    }

    fn check(check: &'a Check) -> Self {
        let (what, allowed, word) = (&check.claim, Some(check.bound), Some(check.word()));
        Self { what, unit: "", published: None, allowed, ours: check.measured, word }
    }

    /// By how much ours is off what was published, or else outside of what the check allows.
    fn off(&self) -> String {
        let bound = self.allowed.map(Published::from);
        self.published.or(bound.as_ref()).map_or(String::new(), |from| off(from, self.ours))
    }
}

/// By how much a number of ours is off; nothing where words were published.
pub(super) fn off(from: &Published, ours: f64) -> String {
    match (from, from.deviation(ours)) {
        (_, None) => String::new(),
        (Published::Range(..) | Published::Above(_) | Published::Below(_), Some(0.0)) => "within".into(),
        (_, Some(off)) => percent(off),
    }
}

impl From<Bound> for Published {
    fn from(bound: Bound) -> Self {
        match bound {
            Bound::AtLeast(least) => Published::Above(least),
            Bound::AtMost(most) => Published::Below(most),
            Bound::Between(least, most) => Published::Range(least, most),
        }
    }
}

/// A fraction in percent: a digit after the point as long as it tells something.
fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.abs() {
        p if p < 0.05 => "0 %".into(),
        p if p < 9.95 => format!("{percent:+.1} %"),
        _ => format!("{percent:+.0} %"),
    }
}

/// Whether a check is of this number: it bears its name, perhaps with the unit.
fn is_of(check: &Check, number: &Number) -> bool {
    let unit = check.claim.strip_prefix(&number.what);
    unit.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(", ") == Some(&number.unit))
}

/// What was published, with its check; then the checks of what was published only in words.
fn compared(verdict: &Verdict) -> Vec<Compared<'_>> {
    let published = || verdict.numbers.iter().filter(|number| number.paper.is_some());
    let check_of = |number| verdict.checks.iter().find(|check| is_of(check, number));
    let others = verdict.checks.iter().filter(|check| !published().any(|number| is_of(check, number)));
    let numbers = published().map(|number| Compared::number(number, check_of(number)));
    numbers.chain(others.map(Compared::check)).collect()
}

/// The table, with a sentence that counts.
pub(super) fn table(sections: &[Section]) -> String {
    let runs = || sections.iter().filter_map(|(.., run)| run.as_ref().map(|(verdict, _)| verdict));
    let all: Vec<Compared> = runs().flat_map(compared).collect();
    let published = all.iter().filter(|row| row.published.is_some()).count();
    let judged = |word| all.iter().filter(|row| row.word == Some(word)).count();
    let mut out = format!(
        "<p>{published} published numbers, and what else is checked: {} checks hold, {} differ for a reason that was measured, \
         {} deviate. \"Off by\" is the distance from what was published, or else from what the check allows. A number for which \
         no check was stated is shown, not judged.</p>\n<table class=\"wide\"><tr><th>what</th><th class=\"n\">published</th><th class=\"n\">allowed</th>\
         <th class=\"n\">ours</th><th></th><th class=\"n\">off by</th><th>verdict</th></tr>\n",
        judged("holds"),
        judged("differs"),
        judged("deviates")
    );
    for verdict in runs() {
        let (id, title) = (&verdict.id, escape(&verdict.title));
        writeln!(out, "<tr class=\"of\"><th colspan=\"7\"><a href=\"#{id}\">{id}</a> {title}</th></tr>")
            .expect("strings take text");
        compared(verdict).iter().for_each(|compared| out += &row(compared));
    }
    out + "</table>\n"
}

fn row(row: &Compared) -> String {
    let what = escape(row.what);
    let published = row.published.map_or(String::new(), |published| escape(&published.to_string()));
    let allowed = row.allowed.map_or(String::new(), |bound| bound.to_string());
    let (ours, unit, off) = (digits(row.ours), escape(row.unit), row.off());
    let word = row
        .word
        .map_or("<td class=\"absent\">not judged</td>".into(), |word| format!("<td class=\"{word}\">{word}</td>"));
    let class = if matches!(row.published, Some(Published::Words(_))) { "words" } else { "n" };
    let figures =
        format!("<td class=\"{class}\">{published}</td><td class=\"n\">{allowed}</td><td class=\"n\">{ours}</td>");
    format!("<tr><td>{what}</td>{figures}<td>{unit}</td><td class=\"n\">{off}</td>{word}</tr>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict() -> Verdict {
        let fails = |claim, shown| {
            Check::new(claim, Bound::AtLeast(4.0), 3.0).or_because("why", Check::new("b", Bound::AtMost(1.0), shown))
        };
        Verdict {
            schema: 2,
            id: "a/fig1".into(),
            title: "A <title>".into(),
            published: "Words.".into(),
            scale: 64.0,
            seed: 7,
            holds: false,
            stands: false,
            checks: vec![
                Check::new("rate, MB/s", Bound::Between(700.0, 900.0), 760.0),
                fails("A / B", 0.5),
                fails("of no number", 1.5),
            ],
            numbers: vec![
                Number::beside("rate", "MB/s", Published::About(800.0), 760.0),
                Number::beside("A / B", "", Published::Above(4.0), 3.0),
                Number::beside("rate, later", "MB/s", Published::Range(300.0, 750.0), 500.0),
                Number::ours("nobody published", "", 1.0),
            ],
            trials: Vec::new(),
            notes: Vec::new(),
            charts: Vec::new(),
        }
    }

    #[test]
    fn each_published_number_and_each_check_is_there_once() {
        let verdict = verdict();
        let rows: Vec<_> = compared(&verdict).iter().map(|row| (row.what, row.off(), row.word)).collect();
        let expected = [
            ("rate", "-5.0 %", Some("holds")),
            ("A / B", "-25 %", Some("differs")),
            ("rate, later", "within", None),
            ("of no number", "-25 %", Some("deviates")),
        ];
        assert_eq!(rows, expected.map(|(what, off, word)| (what, off.to_owned(), word)));
    }

    #[test]
    fn the_table_counts_names_and_escapes() {
        let run = Some((verdict(), Vec::new()));
        let table = table(&[("a/fig1", "A <title>", run), ("a/fig2", "Not run", None)]);
        for part in [
            "3 published numbers",
            "1 checks hold, 1 differ for a reason that was measured, 1 deviate",
            "href=\"#a/fig1\"",
            "A &lt;title&gt;",
            "&gt; 4",
        ] {
            assert!(table.contains(part), "{part} is missing in {table}");
        }
        assert_eq!((table.matches("not judged<").count(), table.matches("a/fig2").count()), (1, 0));
        assert!(!table.contains("nobody published"));
    }

    #[test]
    fn percentages_tell_what_they_can() {
        assert_eq!(
            [0.000_4, -0.004, 0.0994, 0.0996, -1.5].map(percent),
            ["0 %", "-0.4 %", "+9.9 %", "+10 %", "-150 %"]
        );
    }
}
