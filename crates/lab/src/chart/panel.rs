//! One panel: axes, what was published, and the data.

use super::axis::Placed;
use super::figure::{Bars, Body, Line, Mark, Panel};
use super::names::{self, Area};
use super::pen::{Anchor, FAINT, INK, PUBLISHED, Pen};
use super::room::{BELOW, LEFT};
use super::{cells, steps};

/// Pixels from one tick to the next, about.
const TICK_X: f64 = 80.0;
const TICK_Y: f64 = 48.0;
/// Points of a curve closer together than this many pixels are drawn as the range that they span.
const FINEST: f64 = 0.5;
/// Of the number above a bar.
const HEIGHT: f64 = 13.0;

pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Frame {
    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    fn area(&self) -> Area {
        Area { left: self.left, right: self.right(), top: self.top, bottom: self.bottom() }
    }
}

pub(super) fn draw(pen: &mut Pen, panel: &Panel, id: usize, (left, top): (f64, f64), (width, height): (f64, f64)) {
    let frame = Frame { left, top, width, height };
    match &panel.body {
        Body::Map(map) => cells::draw(pen, panel, map, &frame),
        Body::Heat(cells) => steps::draw(pen, cells, &frame),
        Body::Lines(_) | Body::Bars { .. } => data(pen, panel, id, &frame),
    }
    let style = format!("fill=\"{INK}\" font-weight=\"bold\"");
    pen.text((frame.left, frame.top - 8.0), Anchor::Start, &style, &panel.title);
    let middle = frame.left + frame.width / 2.0;
    pen.text((middle, frame.bottom() + BELOW - 8.0), Anchor::Middle, &format!("fill=\"{INK}\""), &panel.x.label);
    pen.upwards((frame.left - LEFT + 14.0, frame.top + frame.height / 2.0), &panel.y.label);
}

/// Curves or bars, and what was published.
fn data(pen: &mut Pen, panel: &Panel, id: usize, frame: &Frame) {
    let marked = panel.marks.iter().filter_map(|mark| match mark {
        Mark::Level { at, .. } => Some(*at),
        Mark::Band { to, .. } => Some(*to),
        Mark::Moment { .. } => None,
    });
    let heights: Vec<f64> = match &panel.body {
        Body::Lines(lines) => {
            let ends = |line: &Line| line.spread.iter().map(|spread| spread.1).collect::<Vec<_>>();
            lines.iter().flat_map(|line| line.points.iter().map(|point| point.1).chain(ends(line))).collect()
        }
        Body::Bars { series, .. } => {
            let highest = |bars: &Bars| bars.spread.iter().map(|spread| spread.1).collect::<Vec<_>>();
            series.iter().flat_map(|bars| bars.heights.iter().copied().chain(highest(bars))).collect()
        }
        Body::Map(_) | Body::Heat(_) => Vec::new(),
    };
    let y = Placed::new(&panel.y, heights.into_iter().chain(marked), (frame.bottom(), frame.top));
    vertical_axis(pen, panel, frame, &y);
    let x = match &panel.body {
        Body::Lines(lines) => {
            let along = lines.iter().flat_map(|line| line.points.iter().map(|point| point.0));
            let range = panel.x.range.or_else(|| span(&panel.x, lines));
            let axis = super::Axis { range, ..panel.x.clone() };
            Some(Placed::new(&axis, along, (frame.left, frame.right())))
        }
        Body::Bars { .. } | Body::Map(_) | Body::Heat(_) => None,
    };
    if let Some(x) = &x {
        horizontal_axis(pen, frame, x);
    }
    pen.enter(id, (frame.left, frame.top), (frame.width, frame.height));
    panel.marks.iter().for_each(|mark| behind(pen, mark, frame, x.as_ref(), &y));
    match (&panel.body, &x) {
        (Body::Lines(lines), Some(x)) => {
            // No curve is hidden by another one's interval.
            lines.iter().for_each(|line| around(pen, line, x, &y));
            lines.iter().for_each(|line| curve(pen, line, x, &y));
        }
        (Body::Bars { groups, series }, _) => bars(pen, series, groups.len(), frame, &y),
        (Body::Lines(_), None) => unreachable!("curves have a horizontal axis"),
        (Body::Map(_) | Body::Heat(_), _) => unreachable!("maps are drawn by themselves"),
    }
    pen.leave();
    if let Body::Bars { groups, series } = &panel.body {
        names_and_heights(pen, groups, series, frame, &y);
    }
    names::draw(pen, &panel.marks, frame.area(), (x.as_ref(), &y), &drawn(panel, frame, x.as_ref(), &y));
    pen.line((frame.left, frame.bottom()), (frame.right(), frame.bottom()), INK, None);
    pen.line((frame.left, frame.top), (frame.left, frame.bottom()), INK, None);
}

/// Where data is drawn, and what says how high bars are.
fn drawn(panel: &Panel, frame: &Frame, x: Option<&Placed>, y: &Placed) -> Vec<Area> {
    match (&panel.body, x) {
        (Body::Lines(lines), Some(x)) => lines.iter().flat_map(|line| Area::along(&laid(line, x, y))).collect(),
        (Body::Bars { groups, series }, _) => {
            let (at, wide) = slots(frame, groups.len(), series.len());
            let of = |(s, bars): (usize, &Bars)| -> Vec<Area> {
                let bar = |(g, &height): (usize, &f64)| {
                    let most = bars.spread.get(g).map_or(height, |spread| spread.1.max(height));
                    let (left, top) = (at(g, s), y.at(most).max(frame.top) - HEIGHT);
                    Area { left, right: left + wide, top, bottom: frame.bottom() }
                };
                measured(bars).map(bar).collect()
            };
            series.iter().enumerate().flat_map(of).collect()
        }
        (Body::Lines(_) | Body::Map(_) | Body::Heat(_), _) => Vec::new(),
    }
}

/// The whole length of the data: time series have no empty end.
fn span(axis: &super::Axis, lines: &[Line]) -> Option<(f64, f64)> {
    let most = lines.iter().flat_map(|line| line.points.iter().map(|point| point.0)).fold(0.0, f64::max);
    (axis.division == super::Division::Linear && most > 0.0).then_some((0.0, most))
}

fn vertical_axis(pen: &mut Pen, panel: &Panel, frame: &Frame, y: &Placed) {
    for (value, text) in y.ticks(((frame.height / TICK_Y) as usize).max(2)) {
        let at = y.at(value);
        pen.line((frame.left, at), (frame.right(), at), FAINT, None);
        pen.text((frame.left - 6.0, at + 4.0), Anchor::End, &format!("fill=\"{INK}\""), &text);
    }
    debug_assert!(!panel.y.label.is_empty(), "an axis without a label tells nothing");
}

fn horizontal_axis(pen: &mut Pen, frame: &Frame, x: &Placed) {
    for (value, text) in x.ticks(((frame.width / TICK_X) as usize).max(2)) {
        let at = x.at(value);
        pen.line((at, frame.bottom()), (at, frame.bottom() + 4.0), INK, None);
        pen.text((at, frame.bottom() + 17.0), Anchor::Middle, &format!("fill=\"{INK}\""), &text);
    }
}

fn behind(pen: &mut Pen, mark: &Mark, frame: &Frame, x: Option<&Placed>, y: &Placed) {
    match mark {
        Mark::Band { from, to, .. } => {
            let (top, bottom) = (y.at(*to), y.at(*from));
            pen.rect((frame.left, top), (frame.width, bottom - top), "#efefef");
        }
        Mark::Level { at, .. } => {
            pen.line((frame.left, y.at(*at)), (frame.right(), y.at(*at)), PUBLISHED, Some("6 4"));
        }
        Mark::Moment { at, .. } => {
            if let Some(at) = x.map(|x| x.at(*at)) {
                pen.line((at, frame.top), (at, frame.bottom()), PUBLISHED, Some("2 3"));
            }
        }
    }
}

/// The interval of a curve of several seeds.
fn around(pen: &mut Pen, line: &Line, x: &Placed, y: &Placed) {
    if !line.spread.iter().any(|(low, high)| low < high) {
        return;
    }
    let end = |of: fn(&(f64, f64)) -> f64| -> Vec<(f64, f64)> {
        let points = line.points.iter().zip(&line.spread).map(|(point, spread)| (x.at(point.0), y.at(of(spread))));
        thinned(&points.collect::<Vec<_>>())
    };
    let (low, high) = (end(|spread| spread.0), end(|spread| spread.1));
    pen.band(&low.into_iter().chain(high.into_iter().rev()).collect::<Vec<_>>(), line.scheme.colour());
}

fn curve(pen: &mut Pen, line: &Line, x: &Placed, y: &Placed) {
    pen.curve(&laid(line, x, y), line.scheme.colour(), line.scheme.is_dashed());
}

/// A curve's points in pixels.
fn laid(line: &Line, x: &Placed, y: &Placed) -> Vec<(f64, f64)> {
    thinned(&line.points.iter().map(|&(a, b)| (x.at(a), y.at(b))).collect::<Vec<_>>())
}

/// Of points within the same half pixel, the lowest and the highest.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let column = |point: &(f64, f64)| (point.0 / FINEST).floor();
    let mut out = Vec::new();
    for together in points.chunk_by(|a, b| column(a) == column(b)) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        match (together.iter().min_by(by_height), together.iter().max_by(by_height)) {
            (Some(top), Some(bottom)) if together.len() > 2 => out.extend([together[0], *top, *bottom]),
            _ => out.extend(together),
        }
    }
    out
}

/// Where a group's bars begin, and how wide each is.
fn slots(frame: &Frame, groups: usize, series: usize) -> (impl Fn(usize, usize) -> f64, f64) {
    let group = frame.width / groups.max(1) as f64;
    let wide = (group * 0.76 / series.max(1) as f64).min(70.0);
    let margin = (group - wide * series as f64) / 2.0;
    let left = frame.left;
    (move |g, s| left + g as f64 * group + margin + s as f64 * wide, wide)
}

/// The heights that there are, with the place of each one's group.
fn measured(bars: &Bars) -> impl Iterator<Item = (usize, &f64)> {
    bars.heights.iter().enumerate().filter(|(_, height)| height.is_finite())
}

fn bars(pen: &mut Pen, series: &[Bars], groups: usize, frame: &Frame, y: &Placed) {
    let (at, wide) = slots(frame, groups, series.len());
    for (s, bars) in series.iter().enumerate() {
        for (g, &height) in measured(bars) {
            let top = y.at(height).max(frame.top);
            pen.rect((at(g, s), top), ((wide - 1.5).max(1.0), frame.bottom() - top), bars.scheme.colour());
        }
        for (g, &(low, high)) in bars.spread.iter().enumerate().filter(|(_, (low, high))| low < high) {
            whisker(
                pen,
                at(g, s) + (wide - 1.5).max(1.0) / 2.0,
                (wide / 5.0).min(5.0),
                y.at(low),
                y.at(high).max(frame.top),
            );
        }
    }
}

/// From the lower end of an interval to its upper one; with a rim of white, without which it could not be seen on dark bars.
fn whisker(pen: &mut Pen, x: f64, half: f64, low: f64, high: f64) {
    let strokes = [[(x, low), (x, high)], [(x - half, low), (x + half, low)], [(x - half, high), (x + half, high)]];
    for [from, to] in strokes {
        pen.rim(from, to);
    }
    for [from, to] in strokes {
        pen.line(from, to, INK, None);
    }
}

fn names_and_heights(pen: &mut Pen, groups: &[String], series: &[Bars], frame: &Frame, y: &Placed) {
    let (at, wide) = slots(frame, groups.len(), series.len());
    for (g, name) in groups.iter().enumerate() {
        let middle = (at(g, 0) + at(g, series.len())) / 2.0;
        pen.text((middle, frame.bottom() + 17.0), Anchor::Middle, &format!("fill=\"{INK}\""), name);
    }
    for (s, bars) in series.iter().enumerate().filter(|_| wide > 22.0) {
        for (g, &height) in measured(bars) {
            let top = bars.spread.get(g).map_or(height, |spread| spread.1.max(height));
            let place = (at(g, s) + wide / 2.0 - 0.75, y.at(top).max(frame.top) - 3.0);
            pen.text(place, Anchor::Middle, &format!("fill=\"{INK}\" font-size=\"10\""), &short(height));
        }
    }
}

/// Three digits.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
