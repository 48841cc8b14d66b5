//! Whether opening has the memory that it needs. If not, the array is not opened, and the words say how much that is: to be
//! killed by the system half way would help nobody.
//!
//! Entries of the maps that find no room are counted and left out, headers of stripes that find none likewise; then all that
//! remains of the step is done with, and the sum is the error. Checkpoints are taken so often that what recovery finds after
//! a crash has room ([`recovery_allows`]), as long as the array is opened with no less memory than before.

use std::cell::Cell;

use cygnus_format::Entry;
use cygnus_types::{BLOCK, ByteSize};

use crate::error::ArrayError;
use crate::read::scan::FoundStripe;
use crate::recover::replay::Candidate;
use crate::shared::Shared;

/// Bytes of memory for a record of a discard.
const BYTES_PER_DISCARD: u64 = 128;

/// Counts what a scan finds, and how much of that has room.
pub(crate) struct Findings {
    room: u64,
    needed: Cell<u64>,
}

impl Findings {
    /// Counts a stripe; says whether there is room for it.
    pub(crate) fn take(&self, stripe: &FoundStripe) -> bool {
        let discards = stripe.discards.len() as u64 * BYTES_PER_DISCARD;
        let needed = self.needed.get() + stripe.blocks().count() as u64 * BYTES_PER_BLOCK + discards;
        self.needed.set(needed);
        needed <= self.room
    }

    /// Whether all had room.
    ///
    /// # Errors
    /// When some had not.
    pub(crate) fn check(&self) -> Result<(), ArrayError> {
        if self.needed.get() <= self.room {
            return Ok(());
        }
        let what = "what was written since the last checkpoint has to be looked through, which takes";
        Err(ArrayError::Memory { what, needed: ByteSize(self.needed.get()), limit: ByteSize(self.room) })
    }
}

/// A count of what will be found.
pub(crate) fn findings(shared: &Shared) -> Findings {
    Findings { room: shared.controllers.memory().room_for_recovery(), needed: Cell::new(0) }
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

/// Bytes of memory for each block of the stripes found, while they are put into the maps.
pub(crate) const BYTES_PER_BLOCK: u64 = (size_of::<Entry>() + size_of::<Candidate>()) as u64;
