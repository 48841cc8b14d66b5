//! The modelled drives beside their data sheets, as a fragment of HTML: the tables of `docs/devices.md`.

use std::fmt::Write;

const DEVICES: &str = include_str!("../../../../docs/devices.md");

/// Columns of numbers: published, model, residual.
const FIGURES: std::ops::RangeInclusive<usize> = 1..=3;

/// Headings, and the tables below them; the reasoning stays in the document.
pub(super) fn html() -> String {
    let mut out = String::from("<p>The reasoning behind each is in docs/devices.md.</p>\n");
    let (mut heading, mut in_table) = (String::new(), false);
    for line in DEVICES.lines() {
        let row = line.starts_with('|');
        if in_table && !row {
            out.push_str("</table>\n");
        }
        if let Some(name) = line.strip_prefix("## ") {
            heading = format!("<h3>{}</h3>\n", escape(&name.replace('`', "")));
        } else if row && !line.starts_with("|---") {
            let cell = if in_table { "td" } else { "th" };
            let open = if in_table { String::new() } else { format!("{}<table>", std::mem::take(&mut heading)) };
            let cells = line.trim_matches('|').split('|').enumerate();
            let cells: String = cells.map(|(column, text)| html_cell(cell, column, text.trim())).collect();
            writeln!(out, "{open}<tr>{cells}</tr>").expect("strings take text");
        }
        in_table = row;
    }
    if in_table { out + "</table>\n" } else { out }
}

fn html_cell(tag: &str, column: usize, text: &str) -> String {
    let class = if FIGURES.contains(&column) { " class=\"n\"" } else { "" };
    format!("<{tag}{class}>{}</{tag}>", escape(text))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_table_of_the_document_is_there_and_closed() {
        let (html, tables) = (super::html(), super::DEVICES.matches("\n|---").count());
        assert!(tables > 3 && html.contains("850-pro"));
        assert!(!html.contains("</h3>\n<h3>"), "a heading without a table");
        assert_eq!((html.matches("<table>").count(), html.matches("</table>").count()), (tables, tables));
    }
}
