//! Blocks found behind the checkpoint, of a range of addresses that is as large as there is memory for.
//!
//! Of several writes of a block the newest is kept, so a block takes its room once. When a window is full all the same, the upper
//! half of its range is left to the next one: what was found there is dropped, and found again when all stripes are gone through
//! once more. So each window ends with at least half of its room in use, or with all that there is.

use cygnus_format::{Entry, Kind, Layout, MapEntry, Place, StripeCommon};
use cygnus_types::{Lba, VolumeId};

use crate::planted::{self, Bug};
use crate::read::scan::FoundStripe;
use crate::recover::gone::LostBlocks;

/// A block found behind the checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub volume: VolumeId,
    pub lba: Lba,
    pub seq: u64,
    pub stripe_seq: u64,
    pub entry: MapEntry,
    /// It was written after all stripes below this sequence were closed. A stripe does not tell that of a block that was only moved there:
    /// it is 0 then, unless the stripe with the write itself was found too.
    pub after: u64,
    /// Nobody has what it holds any more.
    pub is_lost: bool,
}

/// Which block of which volume.
pub(crate) type Address = (VolumeId, Lba);

impl Candidate {
    /// A block of a stripe, at this column and row below the header, if it is a volume's; `gone` are those that nobody has any more.
    pub(crate) fn of(
        layout: &Layout,
        common: &StripeCommon,
        (column, row): (u8, u32),
        entry: &Entry,
        gone: &LostBlocks,
    ) -> Option<Self> {
        if !matches!(entry.kind(), Kind::Data | Kind::Relocated) {
            return None;
        }
        let row = common.first_data_row() + row;
        let place = Place { group: common.group, segment: common.segment, column, row };
        Some(Self {
            volume: entry.volume(),
            lba: entry.lba(),
            seq: entry.seq(),
            stripe_seq: common.stripe_seq,
            entry: MapEntry::new(layout.pba(place), entry.crc()),
            after: if entry.kind() == Kind::Data { common.opened } else { 0 },
            is_lost: gone.contains(&place),
        })
    }

    /// All blocks of a stripe that are volumes'.
    pub(crate) fn all_of<'a>(
        layout: &'a Layout,
        stripe: &'a FoundStripe,
        gone: &'a LostBlocks,
    ) -> impl Iterator<Item = Self> + 'a {
        stripe.blocks().filter_map(|(column, row, entry)| Self::of(layout, &stripe.common, (column, row), entry, gone))
    }

    pub(crate) fn address(&self) -> Address {
        (self.volume, self.lba)
    }

    /// Of several writes of a block the highest age wins. Two with the same would be the same block. Of the places that one write has
    /// been moved to, one where it is lost loses to one where it still is.
    pub(crate) fn age(&self) -> (u64, bool, u64) {
        (self.seq, !self.is_lost, self.stripe_seq)
    }

    /// What another one of the same block tells of the same write holds for this one too.
    pub(crate) fn learn_from(&mut self, other: &Candidate) {
        if other.seq == self.seq {
            self.after = self.after.max(other.after);
        }
    }
}

/// See the module's text.
pub(crate) struct Window {
    from: Address,
    /// Where the next one begins; `None` as long as all found has room.
    until: Option<Address>,
    /// How many it may hold.
    room: usize,
    found: Vec<Candidate>,
    /// Those that were left to the next one.
    left: u64,
    /// The highest sequence of all that were shown to it.
    top: u64,
}

impl Window {
    /// One that begins at an address, and may hold so many.
    pub(crate) fn new(from: Address, room: usize) -> Self {
        // A vector that grows takes twice its size. Less than two could not be told apart.
        let room = room.max(2);
        Self { from, until: None, room, found: Vec::with_capacity(room), left: 0, top: 0 }
    }

    /// Looks at a block, and keeps it if it is in the window.
    pub(crate) fn take(&mut self, candidate: Candidate) {
        self.top = self.top.max(candidate.seq);
        if candidate.address() < self.from {
            return;
        }
        if self.found.len() == self.room && !self.is_beyond(&candidate) {
            self.make_room();
        }
        match self.is_beyond(&candidate) {
            true => self.left += 1,
            false => self.found.push(candidate),
        }
    }

    fn is_beyond(&self, candidate: &Candidate) -> bool {
        self.until.is_some_and(|until| candidate.address() >= until)
    }

    fn make_room(&mut self) {
        self.keep_newest();
        if self.found.len() > self.room / 2 {
            let half = self.found.len() / 2;
            self.until = Some(self.found[half].address());
            self.left += (self.found.len() - half) as u64;
            self.found.truncate(half);
        }
    }

    /// In order of their addresses, and of each block the newest only.
    fn keep_newest(&mut self) {
        self.found.sort_unstable_by_key(|candidate| (candidate.address(), candidate.age()));
        self.found.dedup_by(|later, earlier| {
            let is_same = later.address() == earlier.address();
            if is_same && !planted::is(Bug::OldestWriteWins) {
                later.learn_from(earlier);
                *earlier = *later;
            }
            is_same
        });
    }

    /// What it holds, in order of the addresses, each once; and where the next one begins, if there is to be one.
    pub(crate) fn end(&mut self) -> (Vec<Candidate>, Option<Address>) {
        self.keep_newest();
        (std::mem::take(&mut self.found), self.until)
    }

    /// Blocks that were left to the next one, more or less: of several writes of one some are not counted.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The highest sequence of all that were shown to it, be they in the window or not.
    pub(crate) fn top(&self) -> u64 {
        self.top
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cygnus_types::{Pba, Rng};

    use super::*;

    fn candidate(rng: &mut Rng, addresses: u64, seq: u64) -> Candidate {
        Candidate {
            volume: VolumeId(rng.below(3) as u32),
            lba: Lba(rng.below(addresses)),
            seq,
            stripe_seq: rng.below(1000),
            entry: MapEntry::new(Pba(1 + seq), seq as u32),
            after: 0,
            is_lost: false,
        }
    }

    /// What all windows hold together, one after the other, and how many there were.
    fn by_windows(all: &[Candidate], room: usize) -> (Vec<(Address, u64)>, usize) {
        let (mut from, mut found, mut windows) = ((VolumeId(0), Lba(0)), Vec::new(), 0);
        loop {
            let mut window = Window::new(from, room);
            all.iter().for_each(|&candidate| window.take(candidate));
            assert_eq!(Some(window.top()), all.iter().map(|candidate| candidate.seq).max());
            windows += 1;
            let (here, next) = window.end();
            assert!(here.len() <= room.max(2));
            found.extend(here.iter().map(|candidate| (candidate.address(), candidate.seq)));
            match next {
                Some(next) => from = next,
                None => return (found, windows),
            }
        }
    }

    #[test]
    fn windows_of_any_size_hold_the_newest_write_of_each_block_together() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let (count, addresses) = (1 + rng.below(400), 1 + rng.below(300));
            let mut all: Vec<Candidate> = (0..count).map(|n| candidate(&mut rng, addresses, n)).collect();
            for n in (1..all.len()).rev() {
                all.swap(n, rng.below(n as u64 + 1) as usize);
            }
            let mut newest = BTreeMap::new();
            for candidate in &all {
                let seq = newest.entry(candidate.address()).or_insert(candidate.seq);
                *seq = candidate.seq.max(*seq);
            }
            let expected: Vec<(Address, u64)> = newest.into_iter().collect();
            for room in [0, 2, 3, 10, 64, 1000] {
                let (found, windows) = by_windows(&all, room);
                assert_eq!(found, expected, "seed {seed}, room {room}");
                // Each but the last is at least a quarter full.
                assert!(windows <= 1 + 4 * expected.len() / room.max(2) * 2, "seed {seed}, room {room}: {windows}");
            }
        }
    }

    #[test]
    fn a_block_that_was_moved_is_as_new_as_its_write() {
        let write = Candidate { after: 40, stripe_seq: 41, ..candidate(&mut Rng::new(1), 1, 9) };
        let moved = Candidate { after: 0, stripe_seq: 50, ..write };
        let rewritten = Candidate { after: 30, seq: 10, ..moved };
        for (all, after) in [(vec![moved, write], 40), (vec![write, moved], 40), (vec![write, moved, rewritten], 30)] {
            let mut window = Window::new(write.address(), 10);
            all.into_iter().for_each(|candidate| window.take(candidate));
            let (found, _) = window.end();
            assert_eq!(found.iter().map(|candidate| candidate.after).collect::<Vec<_>>(), [after]);
        }
    }

    #[test]
    fn a_block_that_is_lost_where_it_was_moved_is_where_it_came_from() {
        let write = Candidate { stripe_seq: 41, ..candidate(&mut Rng::new(1), 1, 9) };
        let moved = Candidate { stripe_seq: 50, is_lost: true, ..write };
        let lost = Candidate { is_lost: true, ..write };
        for (all, stripe) in
            [([moved, write], 41), ([lost, Candidate { is_lost: false, ..moved }], 50), ([lost, moved], 50)]
        {
            let mut window = Window::new(write.address(), 10);
            all.into_iter().for_each(|candidate| window.take(candidate));
            assert_eq!(window.end().0.iter().map(|candidate| candidate.stripe_seq).collect::<Vec<_>>(), [stripe]);
        }
    }

    #[test]
    fn a_block_that_is_written_again_and_again_takes_its_room_once() {
        let mut rng = Rng::new(7);
        let all: Vec<Candidate> = (0..10_000).map(|n| candidate(&mut rng, 4, n)).collect();
        assert_eq!(by_windows(&all, 32).1, 1);
    }
}
