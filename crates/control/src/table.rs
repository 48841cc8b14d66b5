//! Aligned columns for people.

use crate::paint::{Paint, Tone};

/// Which side a column's cells stand at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left side, as words are.
    Left,
    /// At the right side, as numbers are.
    Right,
}

/// A table: headings, then rows of toned cells.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<(Tone, String)>>,
}

impl Table {
    /// A table with these headings.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; it must have as many cells as the table has columns.
    pub fn row(&mut self, cells: Vec<(Tone, String)>) {
        assert_eq!(cells.len(), self.columns.len(), "a row of another width than its table");
        self.rows.push(cells);
    }

    /// Lays the table out, two spaces between columns, no spaces at line ends.
    pub fn render(&self, paint: Paint) -> String {
        let headings: Vec<_> = self.columns.iter().map(|(name, _)| (Tone::Heading, (*name).to_string())).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&headings]).map(|row| row[column].1.chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut out = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            out.push_str(&self.line(row, &widths, paint));
            out.push('\n');
        }
        out
    }

    fn line(&self, row: &[(Tone, String)], widths: &[usize], paint: Paint) -> String {
        let mut line = String::new();
        let mut owed = 0;
        for (index, (tone, text)) in row.iter().enumerate() {
            let pad = widths[index] - text.chars().count();
            let (before, after) = if self.columns[index].1 == Align::Right { (pad, 0) } else { (0, pad) };
            // Spaces are owed until another cell follows, so that no line ends in them.
            line.extend(std::iter::repeat_n(' ', owed + before));
            line.push_str(&paint.tone(*tone, text));
            owed = after + 2;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_headings() {
        let mut table = Table::new(&[("NAME", Align::Left), ("SIZE", Align::Right), ("STATE", Align::Left)]);
        table.row(vec![(Tone::Normal, "a".into()), (Tone::Normal, "12 GiB".into()), (Tone::Good, "ok".into())]);
        table.row(vec![(Tone::Normal, "longer".into()), (Tone::Normal, "1 B".into()), (Tone::Bad, "failed".into())]);
        let expect = "NAME      SIZE  STATE\na       12 GiB  ok\nlonger     1 B  failed\n";
        assert_eq!(table.render(Paint::Plain), expect);
        assert!(table.render(Paint::Colour).contains("\x1b[1;31mfailed\x1b[0m"));
    }
}
