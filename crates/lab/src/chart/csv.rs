//! The points of a chart as a table.

use std::fmt::Write;

use super::{Body, Chart};

/// In quotes if it has a comma.
fn cell(text: &str) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

/// Without zeros behind the point that tell nothing.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// One row for each point or bar.
pub(super) fn csv(chart: &Chart) -> String {
    let mut out = String::from("panel,series,x,y\n");
    for panel in &chart.panels {
        let mut row = |series: &str, x: &str, y: f64| {
            writeln!(out, "{},{},{},{}", cell(&panel.title), cell(series), cell(x), number(y))
                .expect("strings take text");
        };
        match &panel.body {
            Body::Lines(lines) => {
                for line in lines {
                    line.points.iter().for_each(|&(x, y)| row(&line.name, &number(x), y));
                }
            }
            Body::Bars { groups, series } => {
                for bars in series {
                    groups.iter().zip(&bars.heights).for_each(|(group, &height)| row(&bars.name, group, height));
                }
            }
        }
    }
    out
}
