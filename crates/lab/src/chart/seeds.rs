//! One chart of those that several seeds gave.

use super::figure::{Bars, Body, Chart, Line, Panel};
use super::map::Map;
use super::merged::merged;
use crate::interval::Interval;
use crate::series::NOTHING;

impl Chart {
    /// Of the charts of each seed: bars and the points of curves are as high as the median, with the interval around it
    /// ([`Bars::spread`], [`Line::spread`]), and so are the numbers of maps. Heat maps and marks are the first seed's.
    pub(crate) fn over_seeds<'a>(by_seed: impl Iterator<Item = &'a [Chart]>) -> Vec<Chart> {
        let by_seed: Vec<&[Chart]> = by_seed.collect();
        let Some((first, _)) = by_seed.split_first() else { return Vec::new() };
        let chart = |c: usize| {
            let panel = |p: usize| panel(&by_seed.iter().map(|charts| &charts[c].panels[p]).collect::<Vec<_>>());
            Chart { panels: (0..first[c].panels.len()).map(panel).collect(), ..first[c].clone() }
        };
        (0..first.len()).map(chart).collect()
    }
}

fn panel(by_seed: &[&Panel]) -> Panel {
    let first = by_seed[0];
    let (groups, series) = match &first.body {
        Body::Heat(_) => return first.clone(),
        Body::Lines(lines) => return Panel { body: Body::Lines(curves(lines, by_seed)), ..first.clone() },
        Body::Map(_) => return Panel { body: Body::Map(map(by_seed)), ..first.clone() },
        Body::Bars { groups, series } => (groups, series),
    };
    let of = |panel: &'_ &Panel, s: usize, g: usize| match &panel.body {
        Body::Bars { series, .. } => series[s].heights[g],
        Body::Lines(_) | Body::Map(_) | Body::Heat(_) => unreachable!("an experiment draws the same with each seed"),
    };
    let bars = |(s, bars): (usize, &Bars)| {
        let values = |g: usize| by_seed.iter().map(|panel| of(panel, s, g)).collect::<Vec<_>>();
        let intervals: Vec<_> = (0..groups.len()).map(|g| Interval::measured(&values(g))).collect();
        Bars {
            heights: intervals.iter().map(|of| of.map_or(NOTHING, |of| of.median)).collect(),
            spread: intervals.iter().map(|of| of.map_or((NOTHING, NOTHING), |of| (of.low, of.high))).collect(),
            ..bars.clone()
        }
    };
    let series = series.iter().enumerate().map(bars).collect();
    Panel { body: Body::Bars { groups: groups.clone(), series }, ..first.clone() }
}

fn curves(first: &[Line], by_seed: &[&Panel]) -> Vec<Line> {
    let of = |panel: &'_ &Panel, n: usize| match &panel.body {
        Body::Lines(lines) => lines[n].points.clone(),
        Body::Bars { .. } | Body::Map(_) | Body::Heat(_) => {
            unreachable!("an experiment draws the same with each seed")
        }
    };
    let curve = |(n, line): (usize, &Line)| merged(line, &by_seed.iter().map(|panel| of(panel, n)).collect::<Vec<_>>());
    first.iter().enumerate().map(curve).collect()
}

fn map(by_seed: &[&Panel]) -> Map {
    let of = |panel: &&'_ Panel| match &panel.body {
        Body::Map(map) => map.clone(),
        Body::Lines(_) | Body::Bars { .. } | Body::Heat(_) => {
            unreachable!("an experiment draws the same with each seed")
        }
    };
    Map::over_seeds(&by_seed.iter().map(of).collect::<Vec<_>>())
}
