//! What clients do to a volume: streams of block requests, made up, replayed or synthesised.
//!
//! A [`WorkloadConfig`] is what a scenario file says. [`WorkloadConfig::build`] makes of it one or more [`Source`]s:
//! each is one client with its own queue depth, and all of them run side by side. What a source asks for is a pure
//! function of its configuration and seed, never of how fast it is answered, so that two arrays can be compared under
//! the very same requests. No clock, no thread, no platform's mathematics ([`libm`] computes what std leaves to the C
//! library): the same seed gives the same requests everywhere.

mod arrivals;
mod config;
mod distribution;
mod error;
mod fio;
pub mod kv;
mod objects;
mod random;
pub mod recording;
mod request;
mod shuffle;
pub mod stat;
pub mod synth;
pub mod trace;
mod values;

pub use arrivals::{Arrivals, Rate};
pub use config::WorkloadConfig;
pub use distribution::Distribution;
pub use error::WorkloadError;
pub use fio::{Job, Pattern};
pub use objects::Objects;
pub use request::{Kind, Part, Request, SHORT_READ, Schedule, Source};
pub use values::{BlockSizes, Percent, Size, Span, ValueError};
