//! The log-structured volume controller: where the blocks of a volume are, and in which order that changes.
//!
//! The rest of the engine reaches it through the names below. `docs/decisions/030-pool-and-controllers.md` says which side of
//! the seam does what; a test (`crates/layers/tests/rules/seam.rs`) keeps its inside unnamed elsewhere.

mod by_page;
mod common;
mod controller;
mod entries;
mod l2p;
mod order;
mod paged;
mod pages;
mod recount;
mod rule;
mod tally;
#[cfg(test)]
mod tests;

pub(crate) use by_page::{PublishPage, PublishedPage};
pub(crate) use common::Controllers;
pub use controller::MAX_VOLUME_BLOCKS;
pub(crate) use controller::{Controller, Publish, Published, region_of};
pub(crate) use pages::{PageError, PageReader, PageWriter};
pub(crate) use recount::Miscount;
pub use rule::MapRule;
