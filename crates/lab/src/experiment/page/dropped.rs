//! Published lines that were judged once and are judged no longer: nothing that was published vanishes.

use std::fmt::Write;

use crate::chart::escape;
use crate::experiment::published::{Dropped, Why};

/// The table.
pub(super) fn table(dropped: &[Dropped]) -> String {
    let mut out = String::from(
        "<table class=\"wide\"><tr><th>experiment</th><th>part</th><th>what</th><th>published</th><th></th><th>since</th><th>why</th></tr>\n",
    );
    for line in dropped {
        let word = match line.why {
            Why::NotMeasurable => "not measurable here",
            Why::NotJudged => "not judged",
        };
        let [figure, panel, series, said, place, day, reason] =
            [&line.figure, &line.panel, &line.series, &line.said, &line.place, &line.day, &line.reason]
                .map(|text| escape(text));
        writeln!(
            out,
            "<tr><td><a href=\"#{figure}\">{figure}</a></td><td>{panel}</td><td>{series}</td><td title=\"{place}\">{said}</td>\
             <td>{word}</td><td class=\"absent\">{day}</td><td>{reason}</td></tr>"
        )
        .expect("strings take text");
    }
    out + "</table>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::published::all_dropped;
    use crate::experiment::{EXPERIMENTS, Provenance, page};

    #[test]
    fn the_page_lists_each_line_that_is_judged_no_longer() {
        let from = Provenance { version: "1".into(), commit: "c".into() };
        let page = page(&[], "", &from, "");
        let all = all_dropped();
        assert!(!all.is_empty());
        for line in all {
            for text in [&line.series, &line.said, &line.day, &line.reason] {
                assert!(page.contains(&escape(text)), "{text} is not on the page");
            }
        }
    }

    #[test]
    fn links_lead_somewhere_where_nothing_was_run() {
        let from = Provenance { version: "1".into(), commit: "c".into() };
        let sections: Vec<_> = EXPERIMENTS.iter().map(|one| (one.about().id, one.about().title, None)).collect();
        let page = page(&sections, "", &from, "");
        for place in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert_eq!(page.matches(&format!("id=\"{place}\"")).count(), 1, "{place}");
        }
    }

    #[test]
    fn why_a_line_was_dropped_is_told() {
        let line = |why| Dropped {
            figure: "a/b".into(),
            panel: "p".into(),
            series: "s".into(),
            said: "> 4".into(),
            place: "section 1".into(),
            why,
            day: "2026-11-28".into(),
            reason: "it cannot be built".into(),
        };
        let table = table(&[line(Why::NotMeasurable), line(Why::NotJudged)]);
        for part in ["not measurable here", "<td>not judged</td>", "&gt; 4", "2026-11-28", "it cannot be built"] {
            assert!(table.contains(part), "{part} is missing in {table}");
        }
    }
}
