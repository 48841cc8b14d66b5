//! The modelled drives beside their data sheets, as a fragment of HTML: the tables of `docs/devices.md`.

use std::fmt::Write;

const DEVICES: &str = include_str!("../../../../docs/devices.md");

/// Headings, and the tables below them; the reasoning stays in the document.
pub(super) fn html() -> String {
    let mut out = String::from("<p>The reasoning behind each is in docs/devices.md.</p>\n");
    let mut in_table = false;
    for line in DEVICES.lines() {
        let row = line.starts_with('|');
        if in_table && !row {
            out.push_str("</table>\n");
        }
        match line.strip_prefix("## ") {
            Some(name) => writeln!(out, "<h3>{}</h3>", escape(&name.replace('`', ""))).expect("strings take text"),
            None if row && !line.starts_with("|---") => {
                let cell = if in_table { "td" } else { "th" };
                let open = if in_table { "" } else { "<table>" };
                let cells = line.trim_matches('|').split('|');
                let cells: String = cells.map(|text| format!("<{cell}>{}</{cell}>", escape(text.trim()))).collect();
                writeln!(out, "{open}<tr>{cells}</tr>").expect("strings take text");
            }
            None => {}
        }
        in_table = row;
    }
    if in_table { out + "</table>\n" } else { out }
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
        assert_eq!((html.matches("<table>").count(), html.matches("</table>").count()), (tables, tables));
    }
}
