//! Whose turn it is at a stripe.
//!
//! Parity belongs to a whole row of blocks, so of everything that renews it, or makes data from it, only one may be at
//! work in a stripe. Writes that come meanwhile are collected, and carried out together afterwards.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cygnus_runtime::{BufSlice, Event, OneshotSender};

use crate::error::RaidError;

/// A write to a data column that waits for its stripe.
pub(crate) struct Waiting {
    pub column: usize,
    pub row: u32,
    pub data: BufSlice,
    pub done: OneshotSender<Result<(), RaidError>>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Stripes {
    /// Stripes at which somebody is at work, with the writes that wait for them.
    pub busy: RefCell<BTreeMap<u64, Vec<Waiting>>>,
    pub freed: Event,
}
