//! What an array knows of itself beyond this process: its superblocks and its write-intent log.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use cygnus_engine::Log;
use cygnus_format::{ArrayState, Superblock};
use cygnus_runtime::Rounds;
use cygnus_types::Uuid;

use crate::error::RaidError;
use crate::intent::Intent;

/// See the module's text.
pub(crate) struct Ledger {
    pub uuid: Uuid,
    pub state: RefCell<ArrayState>,
    pub log: Arc<dyn Log>,
    pub generation: Cell<u64>,
    pub committing: Rounds<Result<(), RaidError>>,
    /// How many departures are on record.
    pub recorded: Cell<u64>,
    /// None for a level without redundancy: there is nothing to be renewed.
    intent: Option<Intent>,
}

impl Ledger {
    /// Of an array whose newest superblock is this one.
    pub(crate) fn new(newest: Superblock, intent: Option<Intent>, log: Arc<dyn Log>) -> Self {
        Self {
            uuid: newest.array,
            state: RefCell::new(newest.state),
            log,
            generation: Cell::new(newest.generation),
            committing: Rounds::default(),
            recorded: Cell::new(0),
            intent,
        }
    }

    pub(crate) fn intent(&self) -> Option<&Intent> {
        self.intent.as_ref()
    }

    pub(crate) fn is_stale(&self, stripe: u64) -> bool {
        self.intent.as_ref().is_some_and(|intent| intent.is_stale(stripe))
    }
}
