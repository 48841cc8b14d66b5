//! Pictures of results: what is drawn is data here, and becomes an SVG and a CSV file.
//!
//! A [`Chart`] is one or more panels that are looked at together. A scheme has the same colour in every chart, so that a
//! reader learns it once. The same chart gives the same bytes on every machine.

mod axis;
mod cells;
mod colour;
mod csv;
mod draw;
mod figure;
mod heat;
mod legend;
mod map;
mod merged;
mod names;
#[cfg(feature = "pictures")]
mod paint;
mod panel;
mod pen;
mod picture;
mod room;
mod seeds;
mod steps;
mod write;

pub use colour::Scheme;
pub use figure::{Axis, Bars, Body, Chart, Division, Line, Mark, Panel};
pub use heat::Heat;
pub use map::{Better, Cell, Lead, Map};
#[cfg(feature = "pictures")]
pub use paint::Painter;
pub(crate) use pen::escape;
#[cfg(feature = "pictures")]
pub use picture::NotDrawn;
#[cfg(not(feature = "pictures"))]
pub use picture::Painter;
pub use picture::{PictureError, PictureFormat};

#[cfg(test)]
mod tests;
