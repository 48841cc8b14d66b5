//! The stripes of a reactor that no flush has covered yet: what their headers say, and where they lie, but not their data.
//!
//! A device that loses power loses what it has taken since its last flush. Whoever wants to know what that may be finds it
//! here ([`crate::care::came_back`]). It cannot be read from the devices: where all copies of a header are gone, nothing tells
//! what the stripe held.
//!
//! An entry takes 24 bytes for each block of 4 KiB. What is written is flushed within a second, so the list is short, and
//! clients that write faster than devices flush wait when it has [`MOST_ENTRIES`].

use std::collections::VecDeque;

use cygnus_format::{Discard, Entry, StripeCommon};
use cygnus_types::Pba;

use crate::space::segments::SegIx;

/// Entries after which clients' writes wait for a flush: those of 8 GiB, which take 48 MiB of memory.
const MOST_ENTRIES: usize = 2 << 20;
/// Records kept for use again, at least.
const LEAST_IDLE: usize = 64;

/// A stripe that no flush has covered.
#[derive(Clone)]
pub(crate) struct Unflushed {
    pub common: StripeCommon,
    pub seg: SegIx,
    /// Physical column-major, `common.rows` each.
    pub entries: Vec<Entry>,
    pub discards: Vec<Discard>,
    pub copies: Vec<Copied>,
    /// Whether it is on the devices, and in memory no more.
    pub landed: bool,
}

/// Where blocks are copies of that were nowhere: they were zeros before, and are written with the rest of their page. No block lies there.
pub(crate) const OF_ZEROS: Pba = Pba(0);

/// A block of a stripe that is a copy of one that lay elsewhere, and lies there still until a flush has covered the copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    /// Physical column.
    pub column: u8,
    /// Row below the header.
    pub row: u32,
    /// Where it lay, or [`OF_ZEROS`].
    pub from: Pba,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct UnflushedStripes {
    /// In the order of their sequences.
    stripes: VecDeque<Unflushed>,
    entries: usize,
    /// Most stripes at a time since some were forgotten.
    longest: usize,
    idle: Vec<Unflushed>,
}

impl UnflushedStripes {
    /// Adds a stripe that was just closed. Those below `durable` have been flushed.
    pub(crate) fn add(&mut self, durable: u64, common: StripeCommon, seg: SegIx, fill: impl FnOnce(&mut Unflushed)) {
        self.forget_below(durable);
        let mut stripe = match self.idle.pop() {
            Some(idle) => Unflushed { common, seg, landed: false, ..idle },
            None => {
                let (entries, discards, copies) = Default::default();
                Unflushed { common, seg, entries, discards, copies, landed: false }
            }
        };
        fill(&mut stripe);
        self.entries += stripe.entries.len();
        self.stripes.push_back(stripe);
        self.longest = self.longest.max(self.stripes.len());
    }

    fn forget_below(&mut self, durable: u64) {
        if self.stripes.front().is_none_or(|stripe| stripe.common.stripe_seq >= durable) {
            return;
        }
        while self.stripes.front().is_some_and(|stripe| stripe.common.stripe_seq < durable) {
            let mut stripe = self.stripes.pop_front().expect("just seen");
            self.entries -= stripe.entries.len();
            stripe.entries.clear();
            stripe.discards.clear();
            stripe.copies.clear();
            self.idle.push(stripe);
        }
        // As many as were wanted last time will be wanted again; the rest goes back to the system.
        self.idle.truncate(self.longest.max(LEAST_IDLE));
        self.longest = self.stripes.len();
    }

    /// The stripe of this sequence is on the devices.
    pub(crate) fn landed(&mut self, seq: u64) {
        if let Ok(at) = self.stripes.binary_search_by_key(&seq, |stripe| stripe.common.stripe_seq) {
            self.stripes[at].landed = true;
        }
    }

    /// Whether clients' writes have to wait for a flush.
    pub(crate) fn is_full(&mut self, durable: u64) -> bool {
        if self.entries < MOST_ENTRIES {
            return false;
        }
        self.forget_below(durable);
        self.entries >= MOST_ENTRIES
    }

    /// Those that were closed before the stripe `below`.
    pub(crate) fn before(&self, below: u64) -> Vec<Unflushed> {
        self.stripes.iter().filter(|stripe| stripe.common.stripe_seq < below).cloned().collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use cygnus_format::{Rotation, Stream};
    use cygnus_types::{GroupId, ReactorId, SegmentId};

    use super::*;

    pub(crate) fn common(stripe_seq: u64) -> StripeCommon {
        StripeCommon {
            array_tag: 0,
            group: GroupId(0),
            segment: SegmentId(0),
            segment_seq: 1,
            stripe_seq,
            session: 1,
            durable: 0,
            opened: 0,
            start_row: 0,
            header_blocks: 1,
            rows: 1,
            rotation: Rotation { data: 2, parity: 1, parity_start: 0 },
            stream: Stream::Clients,
            reactor: ReactorId(0),
        }
    }

    fn add(list: &mut UnflushedStripes, durable: u64, seq: u64, entries: usize) {
        list.add(durable, common(seq), SegIx(0), |stripe| stripe.entries.resize(entries, Entry::VOID));
    }

    #[test]
    fn what_a_flush_covers_is_forgotten() {
        let mut list = UnflushedStripes::default();
        (5..9).for_each(|seq| add(&mut list, 5, seq, 3));
        list.landed(6);
        list.landed(2);
        let known = |list: &UnflushedStripes, below| -> Vec<(u64, bool)> {
            list.before(below).iter().map(|stripe| (stripe.common.stripe_seq, stripe.landed)).collect()
        };
        assert_eq!(known(&list, 8), [(5, false), (6, true), (7, false)]);
        add(&mut list, 7, 9, 3);
        assert_eq!(known(&list, u64::MAX), [(7, false), (8, false), (9, false)]);
        assert_eq!(list.entries, 9);
    }

    #[test]
    fn guests_wait_when_it_is_long() {
        let mut list = UnflushedStripes::default();
        add(&mut list, 0, 1, MOST_ENTRIES);
        assert!(list.is_full(1) && !list.is_full(2));
    }
}
