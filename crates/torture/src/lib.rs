//! Seeded torture of whole arrays, with an oracle that knows what every read may return.
//!
//! A seed decides everything: the shape of an array on modelled devices, what its clients do, when the power goes, what
//! happens to which member. What it decides is a [`Story`], plain data that can be written down, run again and made
//! shorter. [`run_seeds`] runs many seeds; [`shorten`] turns one that ends badly into a few lines.
//!
//! Who judges: the *oracle* knows every acknowledged, flushed and trimmed byte of every volume (`oracle`, `block`,
//! `content`); the *truth* knows which blocks of which devices are not what was written, so that an error is accepted
//! only where the damage is beyond redundancy (`truth`); the engine's own *invariants* are looked at every few requests;
//! and at the end the stopped array is checked from end to end. `coverage` counts which faults met which steps.

mod array;
mod block;
mod campaign;
mod client;
pub mod content;
mod contention;
mod coverage;
mod failure;
mod forgone;
mod journal;
mod kept;
mod members;
#[cfg(test)]
mod memory;
mod oracle;
mod patience;
mod plant;
mod recovery;
mod regroup;
mod rot;
mod run;
mod salvage;
mod scrub;
mod story;
mod tally;
mod target;
mod truth;
mod zones;

pub use campaign::{Options, Replay, Report, SeedFailure, Short, replay, run_seeds, shorten};
pub use contention::ContentionFault;
pub use coverage::Coverage;
pub use failure::{
    FailedRequest, FailureKind, ForceFault, Inexcusable, OnceMore, RunFailure, SalvageFault, ScrubFault, Step, Unsound,
};
pub use oracle::{Shown, Violation};
pub use plant::Plant;
pub use story::{Effort, Story, StoryError, Tier, WrongLine};
pub use tally::Tally;
pub use target::RequestError;
