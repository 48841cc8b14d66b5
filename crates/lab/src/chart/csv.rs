//! The points of a chart as a table.

use std::fmt::Write;

use super::figure::{Body, Chart, Panel};
use crate::files::cell;

/// Without zeros behind the point that tell nothing; empty of what was not measured.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// One row for each point or bar, with the ends of its interval where it has one. Charts of maps have a row for each cell.
pub(super) fn csv(chart: &Chart) -> String {
    if let Some(Body::Map(map)) = chart.panels.first().map(|panel| &panel.body) {
        return map.header() + &chart.panels.iter().map(cells).collect::<String>();
    }
    let mut out = String::from("panel,series,x,y,low,high\n");
    for panel in &chart.panels {
        let mut row = |series: &str, x: &str, y: f64, spread: Option<&(f64, f64)>| {
            let ends = spread.map_or(",".into(), |(low, high)| format!("{},{}", number(*low), number(*high)));
            let (title, series, x, y) = (cell(&panel.title), cell(series), cell(x), number(y));
            writeln!(out, "{title},{series},{x},{y},{ends}").expect("strings take text");
        };
        match &panel.body {
            Body::Lines(lines) => {
                for line in lines {
                    for (n, &(x, y)) in line.points.iter().enumerate() {
                        row(&line.name, &number(x), y, line.spread.get(n));
                    }
                }
            }
            Body::Bars { groups, series } => {
                for bars in series {
                    for (g, (group, &height)) in groups.iter().zip(&bars.heights).enumerate() {
                        row(&bars.name, group, height, bars.spread.get(g));
                    }
                }
            }
            Body::Heat(heat) => heat.cells().for_each(|(of, x, y)| row(of, x, y, None)),
            Body::Map(_) => unreachable!("maps are among themselves"),
        }
    }
    out
}

fn cells(panel: &Panel) -> String {
    match &panel.body {
        Body::Map(map) => map.table(&panel.title),
        Body::Lines(_) | Body::Bars { .. } | Body::Heat(_) => unreachable!("maps are among themselves"),
    }
}
