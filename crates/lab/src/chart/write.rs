//! A chart as files.

use super::figure::Chart;
use super::{csv, draw};

impl Chart {
    /// As an SVG file.
    pub fn svg(&self) -> String {
        draw::svg(self)
    }

    /// Its points as a table.
    pub fn csv(&self) -> String {
        csv::csv(self)
    }
}
