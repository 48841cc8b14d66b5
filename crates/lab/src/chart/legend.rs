//! What the colours mean, above the panels.

use super::colour::Scheme;
use super::figure::Chart;
use super::pen::{Anchor, INK, Pen};

/// About how wide a letter of 12 pixels is.
const LETTER: f64 = 6.4;
const SWATCH: f64 = 22.0;
const GAP: f64 = 18.0;
const ROW: f64 = 18.0;

/// Every name once, in the order of first use, and whether that is a curve, which may be dashed.
fn entries(chart: &Chart) -> Vec<(&str, Scheme, bool)> {
    let mut entries: Vec<(&str, Scheme, bool)> = Vec::new();
    for panel in &chart.panels {
        for (name, scheme) in panel.names() {
            if !entries.iter().any(|entry| (entry.0, entry.1) == (name, scheme)) {
                entries.push((name, scheme, panel.has_curves()));
            }
        }
    }
    entries
}

/// Places of the entries in rows of at most this width, and the height of all rows.
fn places(entries: &[(&str, Scheme, bool)], width: f64) -> (Vec<(f64, f64)>, f64) {
    let (mut x, mut y) = (0.0, 0.0);
    let mut places = Vec::new();
    for (name, ..) in entries {
        let wide = SWATCH + name.chars().count() as f64 * LETTER + GAP;
        if x > 0.0 && x + wide > width {
            (x, y) = (0.0, y + ROW);
        }
        places.push((x, y));
        x += wide;
    }
    (places, y + ROW)
}

/// How much height it takes.
pub(super) fn height(chart: &Chart, width: f64) -> f64 {
    places(&entries(chart), width).1
}

pub(super) fn draw(pen: &mut Pen, chart: &Chart, (left, top): (f64, f64), width: f64) {
    let entries = entries(chart);
    for ((name, scheme, is_curve), (x, y)) in entries.iter().zip(places(&entries, width).0) {
        let (x, y) = (left + x, top + y + ROW / 2.0);
        if *is_curve && scheme.is_dashed() {
            pen.line((x, y), (x + SWATCH - 6.0, y), scheme.colour(), Some("5 4"));
        } else {
            pen.rect((x, y - 4.0), (SWATCH - 6.0, 8.0), scheme.colour());
        }
        pen.text((x + SWATCH, y + 4.0), Anchor::Start, &format!("fill=\"{INK}\""), name);
    }
}
