//! Room around a plot, in pixels: tick labels, axis labels and its title.

pub(super) const LEFT: f64 = 62.0;
pub(super) const RIGHT: f64 = 18.0;
pub(super) const ABOVE: f64 = 22.0;
pub(super) const BELOW: f64 = 44.0;
