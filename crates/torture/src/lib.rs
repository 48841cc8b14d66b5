//! Seeded torture of whole arrays, with an oracle that knows what every read may return.
//!
//! A seed decides everything: the shape of an array on modelled devices, what its clients do, when the power goes, which
//! members disappear. [`run_seeds`] runs many of them and tells the story of each that ends badly; the same seed tells
//! the same story again.

mod array;
mod block;
mod campaign;
mod client;
pub mod content;
#[cfg(test)]
mod memory;
mod oracle;
mod plan;
mod run;
mod story;
mod target;

pub use campaign::{Options, Plant, Report, SeedFailure, run_seeds};
pub use oracle::Violation;
pub use run::Tally;
