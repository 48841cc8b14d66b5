//! What a chart is made of.

use super::colour::Scheme;
use super::heat::Heat;
use super::map::Map;

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Name of its files, without an extension.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// Panels beside one another; more go below.
    pub columns: usize,
    /// Width and height of each panel's plot in pixels.
    pub plot: (f64, f64),
    /// The panels, row by row.
    pub panels: Vec<Panel>,
}

/// One pair of axes and what lies between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What sets it apart from the others; may be empty.
    pub title: String,
    /// The horizontal axis. Of bars only the label counts.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub body: Body,
    /// What the paper says of it.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures, with its unit.
    pub label: String,
    /// Its ends; `None`: as the data have it, from zero unless it is logarithmic.
    pub range: Option<(f64, f64)>,
    /// How it divides.
    pub division: Division,
}

/// How an axis divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Evenly.
    Linear,
    /// By powers of ten.
    Logarithmic,
    /// Percentiles, evenly by their nines: 0, 90, 99, 99.9, 99.99.
    Nines,
}

/// What a panel shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Curves.
    Lines(Vec<Line>),
    /// Bars in groups.
    Bars {
        /// Names of the groups.
        groups: Vec<String>,
        /// A bar of each group.
        series: Vec<Bars>,
    },
    /// Cells that somebody leads in.
    Map(Map),
    /// Cells whose colour says how much.
    Heat(Heat),
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Whose it is.
    pub scheme: Scheme,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// The interval around each point's height, where several seeds have given one; else nothing.
    pub spread: Vec<(f64, f64)>,
}

/// A bar in each group.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Name in the legend.
    pub name: String,
    /// Whose they are.
    pub scheme: Scheme,
    /// Its heights, one for each group; no number where nothing was measured, and there is no bar then.
    pub heights: Vec<f64>,
    /// The interval around each height, where several seeds have given one; else nothing.
    pub spread: Vec<(f64, f64)>,
}

/// Something published, drawn behind the data.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A horizontal line.
    Level {
        /// Where.
        at: f64,
        /// What it is.
        label: String,
    },
    /// A horizontal band.
    Band {
        /// Its lower edge.
        from: f64,
        /// Its upper edge.
        to: f64,
        /// What it is.
        label: String,
    },
    /// A moment.
    Moment {
        /// Where on the horizontal axis.
        at: f64,
        /// What it is.
        label: String,
    },
}

impl Axis {
    /// An axis that divides evenly.
    pub fn linear(label: &str) -> Self {
        Self { label: label.into(), range: None, division: Division::Linear }
    }

    /// An axis by powers of ten.
    pub fn logarithmic(label: &str) -> Self {
        Self { division: Division::Logarithmic, ..Self::linear(label) }
    }

    /// An axis of percentiles.
    pub fn nines(label: &str) -> Self {
        Self { division: Division::Nines, range: Some((0.0, 99.99)), ..Self::linear(label) }
    }

    /// The same between these ends.
    pub fn between(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }
}

impl Panel {
    /// Curves without a title.
    pub fn lines(x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        Self { title: String::new(), x, y, body: Body::Lines(lines), marks: Vec::new() }
    }

    /// Bars without a title.
    pub fn bars(y: Axis, groups: Vec<String>, series: Vec<Bars>) -> Self {
        let body = Body::Bars { groups, series };
        Self { title: String::new(), x: Axis::linear(""), y, body, marks: Vec::new() }
    }

    /// A map without a title.
    pub fn map(x: Axis, y: Axis, map: Map) -> Self {
        Self { title: String::new(), x, y, body: Body::Map(map), marks: Vec::new() }
    }

    /// A heat map without a title.
    pub fn heat(x: Axis, y: Axis, heat: Heat) -> Self {
        Self { title: String::new(), x, y, body: Body::Heat(heat), marks: Vec::new() }
    }

    /// The same with a title.
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// The same with what was published.
    pub fn marked(self, marks: Vec<Mark>) -> Self {
        Self { marks, ..self }
    }

    /// What the legend has to explain.
    pub(super) fn names(&self) -> Vec<(&str, Scheme)> {
        match &self.body {
            Body::Lines(lines) => lines.iter().map(|line| (line.name.as_str(), line.scheme)).collect(),
            Body::Bars { series, .. } => series.iter().map(|bars| (bars.name.as_str(), bars.scheme)).collect(),
            Body::Map(map) => map.contenders.iter().map(|(name, scheme)| (name.as_str(), *scheme)).collect(),
            Body::Heat(_) => Vec::new(),
        }
    }

    pub(super) fn has_curves(&self) -> bool {
        matches!(self.body, Body::Lines(_))
    }
}

impl Line {
    /// A curve. Points of what was not measured are left out.
    pub fn new(name: &str, scheme: Scheme, mut points: Vec<(f64, f64)>) -> Self {
        points.retain(|(x, y)| x.is_finite() && y.is_finite());
        Self { name: name.into(), scheme, points, spread: Vec::new() }
    }
}

impl Bars {
    /// A bar in each group.
    pub fn new(name: &str, scheme: Scheme, heights: Vec<f64>) -> Self {
        Self { name: name.into(), scheme, heights, spread: Vec::new() }
    }
}

impl Chart {
    /// A chart of one panel.
    pub fn single(name: &str, title: &str, panel: Panel) -> Self {
        Self { name: name.into(), title: title.into(), columns: 1, plot: (640.0, 280.0), panels: vec![panel] }
    }

    /// A chart of several panels, `columns` beside one another.
    pub fn grid(name: &str, title: &str, columns: usize, plot: (f64, f64), panels: Vec<Panel>) -> Self {
        Self { name: name.into(), title: title.into(), columns, plot, panels }
    }
}
