//! Which blocks of a device are patched, and which room is left for more.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::patch::Patch;

/// Where a patched block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patched {
    /// On the device.
    pub(crate) at: u64,
    sequence: u64,
}

/// The patches of a device, as they were found or made.
#[derive(Debug)]
pub(crate) struct Patches {
    /// By the block that is replaced.
    blocks: BTreeMap<u64, Patched>,
    /// The blocks that each patch replaces, by where its description lies.
    descriptions: BTreeMap<u64, Range<u64>>,
    /// Free runs of the area: start and length.
    free: BTreeMap<u64, u64>,
    next_sequence: u64,
}

impl Patches {
    /// An area without any.
    pub(crate) fn new(area: Range<u64>) -> Self {
        let free = BTreeMap::from([(area.start, area.end - area.start)]);
        Self { blocks: BTreeMap::new(), descriptions: BTreeMap::new(), free, next_sequence: 1 }
    }

    /// The patched blocks of a range.
    pub(crate) fn within(&self, blocks: Range<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks.range(blocks).map(|(&block, patched)| (block, patched.at))
    }

    pub(crate) fn any_within(&self, blocks: Range<u64>) -> bool {
        self.blocks.range(blocks).next().is_some()
    }

    /// Room for a patch of so many blocks and its description, and its sequence; `None`: the area is full.
    pub(crate) fn take_room(&mut self, blocks: u64) -> Option<(u64, u64)> {
        let need = blocks + 1;
        let (&at, &len) = self.free.iter().find(|&(_, &len)| len >= need)?;
        self.free.remove(&at);
        if len > need {
            self.free.insert(at + need, len - need);
        }
        self.next_sequence += 1;
        Some((at, self.next_sequence - 1))
    }

    /// Room that was taken, or found to be used.
    fn give_back(&mut self, extent: Range<u64>) {
        let (mut start, mut end) = (extent.start, extent.end);
        if let Some((&before, &len)) = self.free.range(..start).next_back()
            && before + len == start
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(len) = self.free.remove(&end) {
            end += len;
        }
        self.free.insert(start, end - start);
    }

    /// A patch whose room was taken is on the device.
    pub(crate) fn insert(&mut self, patch: &Patch) {
        self.insert_unwritten(patch);
        (0..patch.checksums.len() as u64).for_each(|n| self.place(patch, n));
    }

    /// A patch whose room was taken may be on the device in part: nothing counts of it, and it is there to be cleared.
    pub(crate) fn insert_unwritten(&mut self, patch: &Patch) {
        self.descriptions.insert(patch.at, patch.first..patch.first + patch.checksums.len() as u64);
    }

    /// A patch was found of which these blocks, by number, are whole. `false`: its room is not free, so it is none.
    pub(crate) fn found(&mut self, patch: &Patch, whole: impl Iterator<Item = u64>) -> bool {
        let extent = patch.extent();
        let Some((&start, &len)) = self.free.range(..=extent.start).next_back() else { return false };
        if start + len < extent.end {
            return false;
        }
        self.free.remove(&start);
        if start < extent.start {
            self.free.insert(start, extent.start - start);
        }
        if extent.end < start + len {
            self.free.insert(extent.end, start + len - extent.end);
        }
        self.next_sequence = self.next_sequence.max(patch.sequence.saturating_add(1));
        self.descriptions.insert(patch.at, patch.first..patch.first + patch.checksums.len() as u64);
        whole.for_each(|n| self.place(patch, n));
        true
    }

    fn place(&mut self, patch: &Patch, n: u64) {
        let new = Patched { at: patch.at + 1 + n, sequence: patch.sequence };
        let patched = self.blocks.entry(patch.first + n).or_insert(new);
        if patched.sequence < new.sequence {
            *patched = new;
        }
    }

    /// Where the descriptions lie of patches that replace blocks of a range: all of them, and not only those that count.
    pub(crate) fn descriptions_of(&self, blocks: &Range<u64>) -> Vec<u64> {
        let touches = |of: &Range<u64>| of.start < blocks.end && blocks.start < of.end;
        self.descriptions.iter().filter(|(_, of)| touches(of)).map(|(&at, _)| at).collect()
    }

    /// These descriptions are gone from the device, and with them all patches of a range.
    pub(crate) fn remove(&mut self, descriptions: &[u64], blocks: Range<u64>) {
        for at in descriptions {
            if let Some(of) = self.descriptions.remove(at) {
                self.give_back(*at..*at + 1 + of.end - of.start);
            }
        }
        self.blocks.retain(|block, _| !blocks.contains(block));
    }

    /// Blocks of the area that are free.
    #[cfg(test)]
    pub(crate) fn room(&self) -> u64 {
        self.free.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(patches: &mut Patches, first: u64, count: usize) -> Patch {
        let (at, sequence) = patches.take_room(count as u64).unwrap();
        let patch = Patch { sequence, at, first, checksums: vec![0; count] };
        patches.insert(&patch);
        patch
    }

    #[test]
    fn the_newest_patch_of_a_block_counts() {
        let mut patches = Patches::new(100..200);
        let old = patch(&mut patches, 1000, 4);
        let new = patch(&mut patches, 1002, 4);
        let within: Vec<_> = patches.within(1000..1010).collect();
        let expected =
            [(1000, old.at + 1), (1001, old.at + 2), (1002, new.at + 1), (1003, new.at + 2), (1004, new.at + 3)];
        assert_eq!(within[..5], expected);
        assert_eq!((patches.any_within(1006..2000), patches.room()), (false, 90));
        assert_eq!(patches.descriptions_of(&(1000..1256)), [old.at, new.at]);
        patches.remove(&[old.at, new.at], 1000..1256);
        assert!(!patches.any_within(0..u64::MAX));
        assert_eq!((patches.room(), patches.take_room(99).is_some(), patches.take_room(0)), (100, true, None));
    }

    #[test]
    fn what_is_found_takes_its_room_whatever_the_order() {
        let mut patches = Patches::new(100..200);
        let new = Patch { sequence: 9, at: 120, first: 1000, checksums: vec![0; 2] };
        let old = Patch { sequence: 4, at: 150, first: 1000, checksums: vec![0; 3] };
        assert!(patches.found(&new, 1..2), "its first block was not written");
        assert!(patches.found(&old, 0..3));
        assert_eq!(patches.within(0..9999).collect::<Vec<_>>(), [(1000, 151), (1001, 122), (1002, 153)]);
        assert!(
            !patches.found(&Patch { sequence: 5, at: 121, first: 3, checksums: vec![0] }, 0..1),
            "that lies in another"
        );
        assert_eq!((patches.room(), patches.take_room(1)), (93, Some((100, 10))));
    }
}
