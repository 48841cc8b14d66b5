//! Whether opening has the memory that it needs, and how it makes do with less.
//!
//! Entries of the maps that find no room are counted and left out; then all that remains of the step is done with, and the sum is the
//! error: to be killed by the system half way would help nobody.
//!
//! What is found behind the checkpoint is held at once if it has room. Else recovery remembers which stripes there are, forgets what
//! they hold, and puts that into the maps in several passes, each of which reads the headers again ([`crate::recover::window`]). So
//! that this is seldom needed, checkpoints are taken so often that what recovery finds has room at once ([`recovery_allows`]), as long
//! as the array is opened with no less memory than before. Only what would take very many passes is refused.

use std::cell::Cell;

use cygnus_format::{Discard, Entry};
use cygnus_types::{BLOCK, ByteSize};

use crate::error::ArrayError;
use crate::read::scan::FoundStripe;
use crate::recover::behind::Behind;
use crate::recover::window::Candidate;
use crate::shared::Shared;

/// Bytes of memory for a record of a discard: with its stripe, and again with all others while they are put together.
const BYTES_PER_DISCARD: u64 = 2 * size_of::<Discard>() as u64;

/// Bytes of memory for a stripe without what it holds.
const BYTES_PER_STRIPE: u64 = (size_of::<Behind>() + size_of::<FoundStripe>()) as u64;

/// Passes that may be needed before recovery is refused: each reads all headers behind the checkpoint.
const MOST_PASSES: u64 = 256;

/// Counts what a scan finds, and how much of that has room.
pub(crate) struct Findings {
    room: u64,
    at_once: u64,
    /// Bytes of what is always kept.
    kept: Cell<u64>,
    blocks: Cell<u64>,
}

impl Findings {
    pub(crate) fn of(shared: &Shared) -> Self {
        let memory = shared.controllers.memory();
        let (room, at_once) = (memory.room_for_recovery(), memory.at_once());
        Self { room, at_once, kept: Cell::new(0), blocks: Cell::new(0) }
    }

    /// Counts a stripe; says whether what it holds has room too.
    pub(crate) fn take(&self, stripe: &Behind) -> bool {
        let discards = stripe.discards.len() as u64 * BYTES_PER_DISCARD;
        self.kept.set(self.kept.get() + BYTES_PER_STRIPE + discards);
        self.blocks.set(self.blocks.get() + u64::from(stripe.blocks));
        self.fit()
    }

    /// Whether all can be held at once.
    pub(crate) fn fit(&self) -> bool {
        let blocks = self.blocks.get();
        blocks <= self.at_once && self.kept.get() + blocks * BYTES_PER_BLOCK <= self.room
    }

    /// Blocks of which the stripes tell.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.get()
    }

    /// Blocks that a window can hold now.
    pub(crate) fn window(&self, shared: &Shared) -> usize {
        if self.fit() {
            return self.blocks.get() as usize;
        }
        let room = shared.controllers.memory().room_for_recovery().saturating_sub(self.kept.get());
        (room / BYTES_PER_CANDIDATE).min(self.at_once).max(self.least()).min(self.blocks.get()) as usize
    }

    /// Blocks that a window holds at least. A window is left with half of its room in use or more.
    fn least(&self) -> u64 {
        self.blocks.get() * 2 / MOST_PASSES
    }

    /// Whether there is room for as much as is needed.
    ///
    /// # Errors
    /// When there is not.
    pub(crate) fn check(&self) -> Result<(), ArrayError> {
        let needed = self.kept.get() + self.least() * BYTES_PER_CANDIDATE;
        if self.fit() || needed <= self.room {
            return Ok(());
        }
        let what = "what was written since the last checkpoint has to be looked through, which takes";
        Err(ArrayError::Memory { what, needed: ByteSize(needed), limit: ByteSize(self.room) })
    }
}

/// Whether the maps have all that was put into them since the array is being opened.
///
/// # Errors
/// When some of it found no room.
pub(crate) fn maps_fit(shared: &Shared) -> Result<(), ArrayError> {
    let memory = shared.controllers.memory();
    if memory.has_all() {
        return Ok(());
    }
    let needed = shared.volumes().iter().map(|volume| volume.controller.needed_bytes()).sum();
    let what = "the maps of its volumes take";
    Err(ArrayError::Memory { what, needed: ByteSize(needed), limit: ByteSize(memory.limit()) })
}

/// Bytes that may be written between two checkpoints, so that a recovery has room for what it finds. It may be more
/// than that memory is good for: a checkpoint of `pages` is not written more often than each four times its size.
pub(crate) fn recovery_allows(shared: &Shared, pages: u64) -> u64 {
    let blocks = shared.controllers.memory().room_for_recovery() / BYTES_PER_BLOCK / 2;
    blocks.saturating_mul(BLOCK as u64).max(pages * BLOCK as u64 * 4)
}

/// Bytes of memory for each block in a window.
const BYTES_PER_CANDIDATE: u64 = size_of::<Candidate>() as u64;

/// Bytes of memory for each block of the stripes found, where all are held at once.
const BYTES_PER_BLOCK: u64 = size_of::<Entry>() as u64 + BYTES_PER_CANDIDATE;
