//! A chart as an SVG file: title, legend, and panels row by row.

use super::figure::Chart;
use super::pen::{Anchor, INK, Pen};
use super::room::{ABOVE, BELOW, LEFT, RIGHT};
use super::{legend, panel};

const MARGIN: f64 = 14.0;
const TITLE: f64 = 30.0;

pub(super) fn svg(chart: &Chart) -> String {
    let columns = chart.columns.clamp(1, chart.panels.len().max(1));
    let cell = (LEFT + chart.plot.0 + RIGHT, ABOVE + chart.plot.1 + BELOW);
    let inner = cell.0 * columns as f64;
    let top = MARGIN + TITLE + legend::height(chart, inner);
    let rows = chart.panels.len().div_ceil(columns);
    let mut pen = Pen::new(inner + 2.0 * MARGIN, top + cell.1 * rows as f64 + MARGIN, &chart.title);
    let style = format!("fill=\"{INK}\" font-size=\"15\" font-weight=\"bold\"");
    pen.text((MARGIN, MARGIN + 16.0), Anchor::Start, &style, &chart.title);
    legend::draw(&mut pen, chart, (MARGIN, MARGIN + TITLE), inner);
    for (n, part) in chart.panels.iter().enumerate() {
        let (column, row) = (n % columns, n / columns);
        let corner = (MARGIN + column as f64 * cell.0 + LEFT, top + row as f64 * cell.1 + ABOVE);
        panel::draw(&mut pen, part, n, corner, chart.plot);
    }
    pen.end()
}
