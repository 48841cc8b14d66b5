//! What scrubs found, and the one that is under way.

use std::cell::{Cell, RefCell};

use cygnus_format::Losses;
use cygnus_runtime::Event;
use cygnus_types::{Lba, Nanos};

use crate::counters::{Totals, read};

/// A block that no combination of devices yields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LostBlock {
    /// Name of its volume.
    pub volume: String,
    /// Which block.
    pub lba: Lba,
}

/// What a scrub found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScrubReport {
    /// When it began, in seconds since 1970 UTC as its caller said.
    pub started_unix: u64,
    /// How long it took.
    pub took: Nanos,
    /// Whether it got to the end.
    pub complete: bool,
    /// Segments, stripes and blocks verified, and bytes read for that.
    pub segments: u64,
    /// Stripes verified.
    pub stripes: u64,
    /// Blocks compared with their checksums.
    pub blocks: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Blocks of data, or of checkpoints, that were not what had been written.
    pub wrong_blocks: u64,
    /// Parity blocks that were not what their row gives.
    pub wrong_parity: u64,
    /// Copies of stripe headers, and superblock slots, that were missing, damaged or contradicted the others.
    pub wrong_headers: u64,
    /// Blocks written anew because something was wrong with them or with their stripe.
    pub moved: u64,
    /// Blocks among them that had to be rebuilt.
    pub rebuilt: u64,
    /// Blocks that should have been written anew and found no room. The next scrub tries again.
    pub without_room: u64,
    /// Blocks beyond redundancy in all.
    pub lost: u64,
    /// The first of them, up to [`Self::LISTED`].
    pub lost_blocks: Vec<LostBlock>,
}

impl ScrubReport {
    /// How many lost blocks are listed at most.
    pub const LISTED: usize = 1000;

    /// How many things were found that are not as they should be.
    pub fn found(&self) -> u64 {
        self.wrong_blocks + self.wrong_parity + self.wrong_headers
    }
}

/// What is kept of scrubs.
#[derive(Default)]
pub(crate) struct Scrubs {
    /// The job of the scrub that is under way.
    pub running: Cell<Option<u64>>,
    /// What the last one found.
    pub report: RefCell<Option<ScrubReport>>,
    /// Notified when one has ended.
    pub ended: Event,
    /// How many of the blocks counted as lost in this session the array's state has.
    pub noted: Cell<u64>,
}

impl Scrubs {
    /// Adds to what is known of losses those counted since this was last called, and returns all.
    pub(crate) fn note_losses(&self, losses: &mut Losses, totals: &Totals) -> Losses {
        let counted = read(&totals.lost);
        losses.asked = losses.asked.saturating_add(counted - self.noted.replace(counted));
        *losses
    }
}
