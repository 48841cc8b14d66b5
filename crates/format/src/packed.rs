//! Map entries packed: how a checkpoint writes the pages of the map that hold few.
//!
//! A volume may be a thousand times the pool, with one block in each stretch that a page maps. Written page by page its
//! map would take as much room as its data. So a page that holds fewer than [`PACKED_ENTRIES`] entries is written as what
//! it holds, 16 bytes for each, together with others:
//!
//! ```text
//!   section head | entry | entry | ... | section head | entry | ... | zeros      256 slots of 16 bytes
//! ```
//!
//! A section holds entries of one volume; the head says of which, and how many. The first slot is always a head, and a
//! head without entries ends the block. A checkpoint costs at most 16 bytes for each mapped block this way, whatever the
//! volumes' sizes, see [`checkpoint_pages`].

use cygnus_types::{BLOCK, Lba, VolumeId};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, IntoBytes};

use crate::checkpoint::MapEntry;
use crate::checksum::crc32c;
use crate::constants::{MAP_PAGE_ENTRIES, MAX_VOLUMES, PACKED_ENTRIES};
use crate::entry::{Entry, Kind};

/// Bytes of a slot, which holds a head or an entry.
const SLOT: usize = 16;
const SLOTS: usize = BLOCK / SLOT;

const _: () = {
    assert!(size_of::<PackedHead>() == SLOT && size_of::<PackedEntry>() == SLOT);
    assert!(PACKED_ENTRIES + 1 == SLOTS, "a block of one volume has one head");
    assert!(PACKED_ENTRIES < MAP_PAGE_ENTRIES, "a page that is not packed holds more than a packed block would");
};

on_disk! {
    /// Begins the entries of one volume.
    pub(crate) struct PackedHead: 16 bytes {
        /// volume
        volume: U32,
        /// entries that follow; 0: none, and the block ends
        entries: U32,
        /// zero
        reserved: [u8; 8],
    }
}

on_disk! {
    /// Where one block lies.
    pub(crate) struct PackedEntry: 16 bytes {
        /// logical block address
        lba: U64,
        /// map entry, never empty
        entry: U64,
    }
}

/// Pages that a checkpoint of `mapped` blocks of any number of volumes has at most, each of which is written
/// [`Geometry::checkpoint_copies`](crate::Geometry::checkpoint_copies) times.
///
/// A page written whole holds [`PACKED_ENTRIES`] entries or more. A packed block holds as many, less two slots for each
/// time that it goes on with another volume: one for the head, and one if only that had room in the block before.
pub const fn checkpoint_pages(mapped: u64) -> u64 {
    let volumes = if mapped < MAX_VOLUMES as u64 { mapped } else { MAX_VOLUMES as u64 };
    (mapped + 2 * volumes).div_ceil(PACKED_ENTRIES as u64)
}

/// A packed block being filled.
pub struct PackedPage {
    block: Box<[u8; BLOCK]>,
    /// Slots in use.
    used: usize,
    /// Slot of the present section's head, volume, and number of entries.
    section: Option<(usize, VolumeId, u32)>,
    /// Volume and address of the first entry.
    first: (VolumeId, Lba),
}

impl Default for PackedPage {
    fn default() -> Self {
        Self { block: Box::new([0; BLOCK]), used: 0, section: None, first: (VolumeId(0), Lba(0)) }
    }
}

impl PackedPage {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Adds entries of a volume, none of them empty, as far as there is room. Returns how many.
    #[must_use]
    pub fn push(&mut self, volume: VolumeId, entries: &[(Lba, MapEntry)]) -> usize {
        debug_assert!(entries.iter().all(|(_, entry)| !entry.is_empty()));
        let section = self.section.filter(|&(_, of, _)| of == volume);
        let head_needed = usize::from(section.is_none());
        let added = entries.len().min((SLOTS - self.used).saturating_sub(head_needed));
        if added == 0 {
            return 0;
        }
        if self.is_empty() {
            self.first = (volume, entries[0].0);
        }
        let (head, _, before) = section.unwrap_or((self.used, volume, 0));
        let count = before + added as u32;
        self.section = Some((head, volume, count));
        let raw = PackedHead { volume: U32::new(volume.0), entries: U32::new(count), reserved: [0; 8] };
        self.block[head * SLOT..(head + 1) * SLOT].copy_from_slice(raw.as_bytes());
        let first = self.used + head_needed;
        self.used = first + added;
        let slots = self.block[first * SLOT..self.used * SLOT].chunks_exact_mut(SLOT);
        for (slot, (lba, entry)) in slots.zip(entries) {
            let raw = PackedEntry { lba: U64::new(lba.0), entry: U64::new(entry.0) };
            slot.copy_from_slice(raw.as_bytes());
        }
        added
    }

    /// The block as it is to be written: what was pushed, then zeros.
    pub fn bytes(&self) -> &[u8; BLOCK] {
        &self.block
    }

    /// Volume and address of the first entry, for the block's summary entry.
    pub fn first(&self) -> (VolumeId, Lba) {
        self.first
    }

    /// Empties the page, so that it can be filled with other entries.
    pub fn clear(&mut self) {
        self.block.fill(0);
        (self.used, self.section) = (0, None);
    }

    /// What a packed block holds, after it was compared with its summary entry.
    ///
    /// # Errors
    /// When the block is not what was written, or was never a packed block.
    pub fn decode(bytes: &[u8], summary: &Entry) -> Result<Vec<(VolumeId, Lba, MapEntry)>, PackedError> {
        if summary.kind() != Kind::Packed {
            return Err(PackedError::NotPacked(summary.kind()));
        }
        if bytes.len() != BLOCK {
            return Err(PackedError::Length(bytes.len()));
        }
        let (expected, computed) = (summary.crc(), crc32c(bytes));
        if expected != computed {
            return Err(PackedError::Checksum { expected, computed });
        }
        entries_of(bytes)
    }
}

/// Why a block does not hold packed map entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackedError {
    /// Not one block.
    #[error("packed map entries of {0} bytes: they fill 4096 bytes")]
    Length(usize),
    /// The summary entry is of another kind of block.
    #[error("block holds no packed map entries but {0:?}: the checkpoint is damaged, use the older one")]
    NotPacked(Kind),
    /// The block does not match its checksum: rotten, or another block than was written.
    #[error(
        "checksum of packed map entries is {computed:08x} but should be {expected:08x}: rebuild them from parity or use \
         the older checkpoint"
    )]
    Checksum {
        /// Checksum in the summary entry.
        expected: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// A section that reaches beyond the block, or an entry that cannot be; its slot.
    #[error("packed map entries make no sense at slot {0}: the checkpoint was written by a faulty program")]
    Unsound(usize),
}

fn entries_of(bytes: &[u8]) -> Result<Vec<(VolumeId, Lba, MapEntry)>, PackedError> {
    let mut slots = bytes.chunks_exact(SLOT).enumerate();
    let mut found = Vec::with_capacity(PACKED_ENTRIES);
    while let Some((at, head)) = slots.next() {
        let head = PackedHead::read_from_bytes(head).expect("a slot is as long as a head");
        let entries = head.entries.get() as usize;
        if entries == 0 {
            break;
        }
        if entries > slots.len() {
            return Err(PackedError::Unsound(at));
        }
        for (at, raw) in slots.by_ref().take(entries) {
            let raw = PackedEntry::read_from_bytes(raw).expect("a slot is as long as an entry");
            let entry = MapEntry(raw.entry.get());
            if entry.is_empty() || !entry.is_sound() {
                return Err(PackedError::Unsound(at));
            }
            found.push((VolumeId(head.volume.get()), Lba(raw.lba.get()), entry));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_types::Pba;
    use proptest::prelude::*;

    /// All of it in packed blocks, and their number.
    fn pack(entries: &[(VolumeId, Lba, MapEntry)]) -> Vec<(Box<[u8; BLOCK]>, Entry)> {
        let (mut page, mut blocks) = (PackedPage::default(), Vec::new());
        let mut put = |page: &mut PackedPage| {
            let (volume, lba) = page.first();
            let summary = Entry::new(Kind::Packed, volume, lba, 7, crc32c(page.bytes()));
            blocks.push((Box::new(*page.bytes()), summary));
            page.clear();
        };
        for run in entries.chunk_by(|(a, ..), (b, ..)| a == b) {
            let mut left: Vec<(Lba, MapEntry)> = run.iter().map(|&(_, lba, entry)| (lba, entry)).collect();
            while !left.is_empty() {
                let packed = page.push(run[0].0, &left);
                left.drain(..packed);
                if !left.is_empty() {
                    put(&mut page);
                }
            }
        }
        if !page.is_empty() {
            put(&mut page);
        }
        blocks
    }

    fn entry(n: u64) -> MapEntry {
        MapEntry::new(Pba(1 + n % 1000), n as u32)
    }

    proptest! {
        #[test]
        fn what_is_packed_is_found_again_within_the_bound(runs in proptest::collection::vec((0..1024_u32, 1..600_usize), 1..40)) {
            let mut volumes: Vec<u32> = runs.iter().map(|run| run.0).collect();
            volumes.sort_unstable();
            volumes.dedup();
            let sizes = volumes.iter().zip(&runs).map(|(&volume, run)| (VolumeId(volume), run.1));
            let all: Vec<_> = sizes
                .flat_map(|(volume, n)| (0..n as u64).map(move |at| (volume, Lba(at * 513), entry(at + 1))))
                .collect();
            let blocks = pack(&all);
            prop_assert!(blocks.len() as u64 <= checkpoint_pages(all.len() as u64));
            let found: Vec<_> = blocks.iter().flat_map(|(block, of)| PackedPage::decode(&block[..], of).unwrap()).collect();
            prop_assert_eq!(found, all);
        }

        #[test]
        fn a_flipped_bit_is_seen(n in 1..255_u64, bit in 0..BLOCK * 8) {
            let all: Vec<_> = (1..=n).map(|at| (VolumeId(1), Lba(at), entry(at))).collect();
            let (mut block, summary) = pack(&all).remove(0);
            block[bit / 8] ^= 1 << (bit % 8);
            let found = PackedPage::decode(&block[..], &summary);
            let is_checksum = matches!(found, Err(PackedError::Checksum { .. }));
            prop_assert!(is_checksum);
        }

        #[test]
        fn any_block_is_entries_or_an_error(bytes in proptest::collection::vec(any::<u8>(), BLOCK), heads: bool) {
            let mut bytes = bytes;
            if heads {
                // As good as never by chance: a first section that fits.
                let entries = u32::from(bytes[4]) + 1;
                bytes[4..8].copy_from_slice(&entries.to_le_bytes());
            }
            let summary = Entry::new(Kind::Packed, VolumeId(0), Lba(0), 0, crc32c(&bytes));
            let _ = PackedPage::decode(&bytes, &summary);
        }
    }

    #[test]
    fn what_is_not_packed_is_refused() {
        let block = [0; BLOCK];
        let of = |kind| Entry::new(kind, VolumeId(0), Lba(0), 0, crc32c(&block));
        assert_eq!(PackedPage::decode(&block, &of(Kind::Meta)), Err(PackedError::NotPacked(Kind::Meta)));
        assert_eq!(PackedPage::decode(&block[1..], &of(Kind::Packed)), Err(PackedError::Length(BLOCK - 1)));
        assert_eq!(PackedPage::decode(&block, &of(Kind::Packed)), Ok(Vec::new()));
    }

    #[test]
    fn a_block_of_one_volume_holds_what_the_constant_says() {
        let mut page = PackedPage::default();
        let entries: Vec<(Lba, MapEntry)> = (1..=300).map(|n| (Lba(n), entry(n))).collect();
        assert_eq!(page.push(VolumeId(9), &entries), PACKED_ENTRIES);
        assert_eq!(page.push(VolumeId(9), &entries), 0);
        page.clear();
        assert_eq!((page.push(VolumeId(8), &entries[..3]), page.push(VolumeId(9), &entries)), (3, PACKED_ENTRIES - 4));
    }
}
