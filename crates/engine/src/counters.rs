//! What is counted while an array is open, and shown in its status.

use std::sync::atomic::{AtomicU64, Ordering};

/// What one member device did, and what went wrong with it, since the array was opened.
#[derive(Default)]
pub(crate) struct MemberCounters {
    /// Bytes, as the engine caused them.
    pub written: AtomicU64,
    pub cleaning_read: AtomicU64,
    pub scrub_read: AtomicU64,
    /// Of what [`ClientTallies`](crate::read::client_tally::ClientTallies) has of the member: what its number's earlier holder did.
    pub read_before: AtomicU64,
    pub trimmed: AtomicU64,
    /// Reads, and writes or flushes, that it answered with an error.
    pub read_errors: AtomicU64,
    pub write_errors: AtomicU64,
    /// Blocks of data and copies of headers that were not what had been written.
    pub corrupt: AtomicU64,
    /// Parity blocks that were not what their row gives.
    pub bad_parity: AtomicU64,
    /// Blocks of it that were rebuilt and written anew elsewhere, and those that could not be rebuilt.
    pub repaired: AtomicU64,
    pub unrepairable: AtomicU64,
}

impl MemberCounters {
    /// Nothing was done and nothing went wrong. Clients had read so many bytes before.
    pub(crate) fn forget(&self, had_read: u64) {
        let Self { written, cleaning_read, scrub_read, trimmed, .. } = self;
        for counter in [written, cleaning_read, scrub_read, trimmed] {
            counter.store(0, Ordering::Relaxed);
        }
        self.read_before.store(had_read, Ordering::Relaxed);
        self.forget_errors();
    }

    /// Nothing went wrong any more.
    pub(crate) fn forget_errors(&self) {
        let Self { read_errors, write_errors, corrupt, bad_parity, repaired, unrepairable, .. } = self;
        for counter in [read_errors, write_errors, corrupt, bad_parity, repaired, unrepairable] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// Counters of the whole array. Blocks unless said otherwise.
#[derive(Default)]
pub(crate) struct Totals {
    pub client_written: AtomicU64,
    pub relocated: AtomicU64,
    /// Of volumes that prefer a medium, written to the other one.
    pub fell_back: AtomicU64,
    /// Written anew out of the way of contention, and from one medium to the other beside cleaning.
    pub rehomed: AtomicU64,
    /// Of hybrid volumes: moved from disks to flash, and to disks again.
    pub promoted: AtomicU64,
    pub demoted: AtomicU64,
    /// Reads of hot ranges that found no room on flash.
    pub not_promoted: AtomicU64,
    pub checkpoint_written: AtomicU64,
    pub parity_written: AtomicU64,
    pub header_written: AtomicU64,
    pub padding_written: AtomicU64,
    /// Copies of what open stripes hold, with what says so.
    pub backup_written: AtomicU64,
    /// Of these, parity of rows.
    pub backup_parity: AtomicU64,
    /// Copies beside which is what describes them.
    pub described_beside: AtomicU64,
    /// Parity that members computed inside, which nobody sent them; and of stripes that had copies, that which was sent.
    pub converted_inside: AtomicU64,
    pub converted_here: AtomicU64,
    /// Stripes whose conversion has waited.
    pub postponed: AtomicU64,
    /// Of these, those that wait no more.
    pub postponed_ended: AtomicU64,
    pub repaired: AtomicU64,
    pub reconstructed: AtomicU64,
    pub unreadable: AtomicU64,
    /// Of these, blocks that are beyond redundancy for what is known, not for what was given up.
    pub lost: AtomicU64,
    /// Blocks of late reads that were asked of the other columns too.
    pub hedged: AtomicU64,
    /// Blocks asked of the other columns at once, because their member is slow.
    pub read_around: AtomicU64,
    /// Messages by which readers asked another reactor for blocks that were not on the devices yet.
    pub asked: AtomicU64,
    pub flushes: AtomicU64,
    pub victims: AtomicU64,
    /// Of the victims, those in a second group, cleaned beside the first.
    pub victims_beside: AtomicU64,
    /// Those that other reactors than the home one emptied.
    pub victims_helped: AtomicU64,
    pub victim_live: AtomicU64,
    pub victim_capacity: AtomicU64,
    pub checkpoints: AtomicU64,
    pub rotations: AtomicU64,
    /// Groups emptied as a whole, and those of which that was given up.
    pub evacuations: AtomicU64,
    pub evacuations_given_up: AtomicU64,
}

impl Totals {
    /// Counts blocks that were asked for and are beyond redundancy.
    pub(crate) fn count_lost(&self, blocks: u64) {
        count(&self.unreadable, blocks);
        count(&self.lost, blocks);
    }
}

pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

pub(crate) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
