//! A map as a panel.

use super::colour::Scheme;
use super::figure::Panel;
use super::map::{Lead, Map};
use super::panel::{Frame, short};
use super::pen::{Anchor, FAINT, INK, Pen};

/// Width of the line around the cells of the one that the map is about.
const BORDER: f64 = 4.0;

pub(super) fn draw(pen: &mut Pen, panel: &Panel, map: &Map, frame: &Frame) {
    let (wide, high) = (frame.width / map.columns.len() as f64, frame.height / map.rows.len() as f64);
    let corner = |column: usize, row: usize| (frame.left + column as f64 * wide, frame.top + row as f64 * high);
    for row in 0..map.rows.len() {
        for column in 0..map.columns.len() {
            one(pen, map, (column, row), corner(column, row), (wide, high));
        }
    }
    border(pen, map, corner, (wide, high));
    let ink = format!("fill=\"{INK}\"");
    for (column, name) in map.columns.iter().enumerate() {
        let (x, _) = corner(column, 0);
        pen.text((x + wide / 2.0, frame.bottom() + 17.0), Anchor::Middle, &ink, name);
    }
    for (row, name) in map.rows.iter().enumerate() {
        let (_, y) = corner(0, row);
        pen.text((frame.left - 6.0, y + high / 2.0 + 4.0), Anchor::End, &ink, name);
    }
    debug_assert!(!panel.x.label.is_empty() && !panel.y.label.is_empty(), "an axis without a label tells nothing");
}

/// A cell: who leads, and the medians of the first two.
fn one(pen: &mut Pen, map: &Map, (column, row): (usize, usize), (x, y): (f64, f64), (wide, high): (f64, f64)) {
    let cell = map.cell(column, row);
    let lead = cell.lead(map.better);
    let (fill, ink) = match &lead {
        Lead::One(who) => (map.contenders[*who].1.colour(), "#fff"),
        Lead::Even(who) if !who.is_empty() => (FAINT, INK),
        Lead::Even(_) | Lead::Undecided(_) => ("#fff", INK),
    };
    pen.rect((x + 0.5, y + 0.5), (wide - 1.0, high - 1.0), fill);
    let style = |size: u32| format!("fill=\"{ink}\" font-size=\"{size}\"");
    let ranking = cell.ranking(map.better);
    let first: Vec<String> = ranking.iter().take(2).map(|(_, median)| short(*median)).collect();
    let middle = x + wide / 2.0;
    let words = map.words(&lead);
    let (what, names) = words.split_once(": ").unwrap_or((&words, ""));
    pen.text((middle, y + high / 2.0 - 7.0), Anchor::Middle, &style(11), what);
    pen.text((middle, y + high / 2.0 + 5.0), Anchor::Middle, &style(9), names);
    pen.text((middle, y + high / 2.0 + 17.0), Anchor::Middle, &style(9), &first.join(" : "));
}

/// The line between the cells that the one whom the map is about leads in and all others.
fn border(pen: &mut Pen, map: &Map, corner: impl Fn(usize, usize) -> (f64, f64), (wide, high): (f64, f64)) {
    let leads = |column: usize, row: usize| match map.cell(column, row).lead(map.better) {
        Lead::One(who) => scheme(map, who) == map.border,
        Lead::Even(_) | Lead::Undecided(_) => false,
    };
    for row in 0..map.rows.len() {
        for column in 0..map.columns.len() {
            let (x, y) = corner(column, row);
            if column > 0 && leads(column, row) != leads(column - 1, row) {
                pen.rect((x - BORDER / 2.0, y), (BORDER, high), INK);
            }
            if row > 0 && leads(column, row) != leads(column, row - 1) {
                pen.rect((x, y - BORDER / 2.0), (wide, BORDER), INK);
            }
        }
    }
}

fn scheme(map: &Map, who: usize) -> Scheme {
    map.contenders[who].1
}
