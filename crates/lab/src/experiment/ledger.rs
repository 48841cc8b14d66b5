//! The ledger of published values: nothing that was published goes, or becomes something else, without a trace.
//!
//! `published/ledger.txt` has a line for each value that a file beside it has, or ever had since there is a ledger: the figure,
//! the part, the series, and what was published with all that its bound follows from. Lines are sorted and are only ever added. What the
//! ledger has must be among the values as they are, or be told under `was` (the value is another one now) or in a `[[dropped]]` entry (it
//! is judged no longer): both have the day and the reason. So whoever deletes a value deletes it in two places, one of which says of itself that
//! nothing is deleted there.

use std::collections::BTreeSet;

use super::published::{Dropped, Line, all_dropped, all_lines};

const LEDGER: &str = include_str!("../../published/ledger.txt");

/// Between the parts of a line.
const BAR: &str = " | ";

/// The ledger's lines that stand for the published files as they are.
fn told(lines: &[Line], dropped: &[Dropped]) -> BTreeSet<String> {
    let entry = |[figure, panel, series]: [&String; 3], said: &str| [figure, panel, series, said].join(BAR);
    let of_line = |line: &Line| {
        let names = [&line.figure, &line.panel, &line.series];
        let before = line.was.iter().map(|was| was.said.clone());
        before.chain([line.said()]).map(|said| entry(names, &said)).collect::<Vec<_>>()
    };
    let of_dropped = |of: &Dropped| entry([&of.figure, &of.panel, &of.series], &of.said);
    lines.iter().flat_map(of_line).chain(dropped.iter().map(of_dropped)).collect()
}

/// How ledger and files differ.
#[derive(Debug, Default, PartialEq, Eq)]
struct Differences {
    /// In the ledger, and told by no file any more.
    gone: Vec<String>,
    /// In a file, and not in the ledger yet.
    new: Vec<String>,
}

impl Differences {
    fn of(ledger: &str, told: &BTreeSet<String>) -> Self {
        let known: BTreeSet<String> = ledger.lines().map(str::to_owned).collect();
        Self { gone: known.difference(told).cloned().collect(), new: told.difference(&known).cloned().collect() }
    }

    /// What is to be done about it; empty if there is nothing to do.
    fn complaint(&self) -> String {
        let gone = |line: &String| {
            let said = line.rsplit(BAR).next().unwrap_or_default();
            format!(
                "gone without a trace: {line}\n  Tell the day and the reason, and repeat what was published as it stands here, said = \"{said}\": \
                 under \"was\" if the value is another one now, in a [[dropped]] entry with the same figure, panel and series if it \
                 is judged no longer.\n"
            )
        };
        let new = |line: &String| {
            format!(
                "not in the ledger: {line}\n  'UPDATE_SNAPSHOTS=1 cargo test -p cygnus-lab ledger' adds it to \
                 crates/lab/published/ledger.txt.\n"
            )
        };
        self.gone.iter().map(gone).chain(self.new.iter().map(new)).collect()
    }

    /// The ledger with what is new. Nothing leaves it.
    fn added_to(&self, ledger: &str) -> String {
        let lines: BTreeSet<&str> = ledger.lines().chain(self.new.iter().map(String::as_str)).collect();
        lines.into_iter().map(|line| format!("{line}\n")).collect()
    }
}

#[test]
fn nothing_that_was_published_is_gone_and_nothing_new_is_missing() {
    let differences = Differences::of(LEDGER, &told(&all_lines(), &all_dropped()));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/published/ledger.txt");
        std::fs::write(path, differences.added_to(LEDGER)).expect("the source can be written");
    }
    let left = match std::env::var_os("UPDATE_SNAPSHOTS") {
        Some(_) => Differences { new: Vec::new(), ..differences },
        None => differences,
    };
    assert!(left.complaint().is_empty(), "{}", left.complaint());
}

#[test]
fn the_ledger_is_sorted_and_each_line_names_one_thing() {
    let sorted: Vec<&str> = LEDGER.lines().collect::<BTreeSet<_>>().into_iter().collect();
    assert_eq!(LEDGER.lines().collect::<Vec<_>>(), sorted, "sorted, each line once");
    for line in sorted {
        assert_eq!(line.split(BAR).count(), 4, "figure, part, series and what was published: {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::published::{Kind, Published, Read, Was, Why};

    const RATE: &str = "a/b | front | rate | value 800 MB/s, text";

    fn rate() -> Line {
        Line {
            figure: "a/b".into(),
            panel: "front".into(),
            series: "rate".into(),
            kind: Kind::Value,
            published: Published::About(800.0),
            unit: "MB/s".into(),
            read: Read::Text,
            within: None,
            place: "section 1".into(),
            was: Vec::new(),
        }
    }

    fn differences(line: Line) -> Differences {
        Differences::of(RATE, &told(&[line], &[]))
    }

    #[test]
    fn a_value_that_is_deleted_is_missed_until_it_is_dropped() {
        let missed = Differences::of(RATE, &told(&[], &[]));
        assert_eq!(missed, Differences { gone: vec![RATE.into()], new: Vec::new() });
        assert!(missed.complaint().contains("said = \"value 800 MB/s, text\""), "{}", missed.complaint());
        let dropped = Dropped {
            figure: "a/b".into(),
            panel: "front".into(),
            series: "rate".into(),
            said: "value 800 MB/s, text".into(),
            place: "section 1".into(),
            why: Why::NotJudged,
            day: "2026-11-28".into(),
            reason: "it is an input".into(),
        };
        assert_eq!(Differences::of(RATE, &told(&[], &[dropped])), Differences::default());
    }

    #[test]
    fn whatever_the_bound_follows_from_cannot_change_in_silence() {
        let changes: [fn(&mut Line); 5] = [
            |line| line.published = Published::About(700.0),
            |line| line.read = Read::Plot,
            |line| line.kind = Kind::Limit,
            |line| line.unit = "GB/s".into(),
            |line| line.series = "speed".into(),
        ];
        for change in changes {
            let mut line = rate();
            change(&mut line);
            let found = differences(line);
            assert_eq!((found.gone, found.new.len()), (vec![RATE.to_owned()], 1));
        }
        let within = Line { within: Some(0.1), ..rate() };
        assert_eq!(differences(within).new, ["a/b | front | rate | value 800 MB/s, text, within 0.1"]);
    }

    #[test]
    fn a_value_that_says_what_it_was_may_be_another_one() {
        let was = Was { said: "value 800 MB/s, text".into(), until: "2026-11-28".into(), reason: "misread".into() };
        let line = Line { published: Published::About(700.0), was: vec![was], ..rate() };
        assert_eq!(differences(line), Differences { gone: Vec::new(), new: vec![RATE.replace("800", "700")] });
    }

    #[test]
    fn what_is_new_is_refused_with_the_command_that_adds_it_and_nothing_leaves() {
        let mut second = rate();
        second.series = "later".into();
        let found = Differences::of(RATE, &told(&[second], &[]));
        assert!(found.complaint().contains("UPDATE_SNAPSHOTS=1 cargo test -p cygnus-lab ledger"));
        let added = found.added_to(RATE);
        assert_eq!(added, format!("{}\n{RATE}\n", RATE.replace("rate", "later")));
    }
}
