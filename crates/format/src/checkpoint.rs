//! The map's entries and the pages in which a checkpoint dumps them. Pages that hold few entries are packed instead, see
//! [`crate::PackedPage`].
//!
//! A page is 512 entries of one volume and nothing else: 4096 bytes are a block of a stripe like any other, and the
//! stripe's summary entry (kind Meta) already says which page it is, of which checkpoint, with which checksum. So a
//! page wastes no byte on a header and a page's entries start at a multiple of 512.

use cygnus_types::{BLOCK, MAX_PAGE_BLOCKS, Pba, VolumeId};

use crate::checksum::crc32c;
use crate::constants::MAP_PAGE_ENTRIES;
use crate::entry::{Entry, Kind};

/// Where a logical block lies, and what its checksum is: 8 bytes for each 4 KiB, or for each page of a volume that is mapped by pages.
///
/// ```text
///  63                                  28  27  26                     0
/// +--------------------------------------+----+------------------------+
/// |      physical block address, 36      |page|      checksum, 27      |
/// +--------------------------------------+----+------------------------+
/// ```
///
/// The checksum is the low 27 bits of the block's CRC32C; of a page, see [`MapEntry::page_check`]. It lies beside the address so that
/// a read verifies what it got without another I/O; the five bits it lacks
/// (one rotten block in 2^27 passes instead of one in 2^32) are in the stripe header, which scrubbing reads.
///
/// The blocks of a page lie one behind the other on one column, and an entry of it has the address of its first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct MapEntry(pub u64);

/// Bits below the address.
const BELOW: u32 = u64::BITS - Pba::BITS;
const PAGE: u64 = 1 << (BELOW - 1);
const CRC_MASK: u32 = PAGE as u32 - 1;

impl MapEntry {
    /// A block that was never written, or was discarded: reads as zeros. No written block is ever at address 0, since
    /// every segment begins with a stripe header.
    pub const EMPTY: MapEntry = MapEntry(0);

    /// A block that is known to be zeros, in a volume that is in doubt: there [`MapEntry::EMPTY`] says that it is not known
    /// what the block holds.
    pub const ZEROS: MapEntry = MapEntry(1);

    /// A block that held data which is lost for good: it was given up by force, and is unreadable until it is written anew or
    /// discarded.
    pub const LOST: MapEntry = MapEntry(2);

    /// Nothing is said of this block of a page, as by [`MapEntry::EMPTY`], although the page has an entry.
    pub const HIDDEN: MapEntry = MapEntry(3);

    /// The entry of a block at `pba` with this CRC32C.
    ///
    /// # Panics
    /// When `pba` is 0 or beyond 36 bits: no data lies there.
    #[inline]
    pub const fn new(pba: Pba, crc: u32) -> MapEntry {
        assert!(pba.0 != 0 && pba.0 <= Pba::MAX.0, "data lies behind a header and within 36 bits");
        MapEntry((pba.0 << BELOW) | (crc & CRC_MASK) as u64)
    }

    /// The entry of a page that begins at `pba`, or of the block of it that lies there: `check` is the page's.
    ///
    /// # Panics
    /// As [`MapEntry::new`].
    #[inline]
    pub const fn of_page(pba: Pba, check: u32) -> MapEntry {
        MapEntry(MapEntry::new(pba, check).0 | PAGE)
    }

    /// The checksum of a page: the CRC32C of what [`MapEntry::crc_bits`] keeps of its blocks' checksums, as 32 bits each, low bits
    /// first. So it takes the checksums of the blocks, and not the blocks.
    pub fn page_check(of_blocks: impl Iterator<Item = u32>) -> u32 {
        let mut bytes = [0; MAX_PAGE_BLOCKS as usize * 4];
        let mut len = 0;
        for (part, crc) in bytes.chunks_exact_mut(4).zip(of_blocks) {
            part.copy_from_slice(&(crc & CRC_MASK).to_le_bytes());
            len += 4;
        }
        crc32c(&bytes[..len]) & CRC_MASK
    }

    /// Whether the checksum is that of a page.
    #[inline]
    pub const fn is_of_page(self) -> bool {
        self.0 & PAGE != 0
    }

    /// Of a page's entry, that of its `nth` block.
    #[inline]
    pub const fn nth(self, nth: u64) -> MapEntry {
        MapEntry(self.0 + (nth << BELOW))
    }

    /// Whether nothing is mapped, and nothing is said of what the block holds.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has an address.
    #[inline]
    pub const fn is_mapped(self) -> bool {
        self.0 >> BELOW != 0
    }

    /// Whether the block counts as one that holds data: it has an address, or what it held is lost.
    #[inline]
    pub const fn is_held(self) -> bool {
        self.is_mapped() || self.0 == MapEntry::LOST.0
    }

    /// Where the block lies; address 0 when empty.
    #[inline]
    pub const fn pba(self) -> Pba {
        Pba(self.0 >> BELOW)
    }

    /// Whether a block with this CRC32C can be the one that was written. No block by itself matches the entry of a page.
    #[inline]
    pub const fn matches(self, crc: u32) -> bool {
        self.0 as u32 & (PAGE as u32 | CRC_MASK) == crc & CRC_MASK
    }

    /// The bits of the checksum that are kept, the low 27.
    #[inline]
    pub const fn crc_bits(self) -> u32 {
        self.0 as u32 & CRC_MASK
    }

    /// Whether the entry has an address, or is one of the few that need none; any other checksum without address is neither.
    pub(crate) const fn is_sound(self) -> bool {
        self.is_mapped() || self.0 <= MapEntry::HIDDEN.0
    }
}

/// Why a block is not the map page it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapPageError {
    /// Not one block.
    #[error("map page of {0} bytes: a page is 4096 bytes")]
    Length(usize),
    /// The summary entry is of another kind of block.
    #[error("block is no map page but {0:?}: the checkpoint is damaged, use the older one")]
    NotAPage(Kind),
    /// The block does not match its checksum: rotten, or another block than was written.
    #[error(
        "map page checksum is {computed:08x} but should be {expected:08x}: rebuild it from parity or use the older checkpoint"
    )]
    Checksum {
        /// Checksum in the summary entry.
        expected: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// An entry that cannot be.
    #[error("map page entry {0} has a checksum but no address: the checkpoint was written by a faulty program")]
    Unsound(usize),
}

/// A map page that was not compared with its summary entry yet.
#[derive(Clone, Copy, Debug)]
pub struct UnverifiedMapPage<'a> {
    block: &'a [u8; BLOCK],
}

/// A verified page of a volume's map.
#[derive(Clone, Copy, Debug)]
pub struct MapPage<'a> {
    /// Volume the page belongs to.
    pub volume: VolumeId,
    /// Index of the page: it maps logical blocks `index * 512 ..`.
    pub index: u64,
    /// Generation of the checkpoint that dumped it.
    pub generation: u64,
    block: &'a [u8; BLOCK],
}

impl<'a> MapPage<'a> {
    /// Writes a page of the map into `block`.
    pub fn encode(entries: &[MapEntry; MAP_PAGE_ENTRIES], block: &mut [u8; BLOCK]) {
        for (bytes, entry) in block.chunks_exact_mut(8).zip(entries) {
            bytes.copy_from_slice(&entry.0.to_le_bytes());
        }
    }

    /// The summary entry of page `index` of a volume, dumped as `block` by checkpoint `generation`.
    pub fn entry(volume: VolumeId, index: u64, generation: u64, block: &[u8; BLOCK]) -> Entry {
        Entry::new(Kind::Meta, volume, cygnus_types::Lba(index), generation, crc32c(block))
    }

    /// Takes a block for a map page.
    pub fn decode(bytes: &'a [u8]) -> Result<UnverifiedMapPage<'a>, MapPageError> {
        let block = bytes.try_into().map_err(|_| MapPageError::Length(bytes.len()))?;
        Ok(UnverifiedMapPage { block })
    }

    /// Entry `i` of the page, below [`MAP_PAGE_ENTRIES`].
    #[inline]
    pub fn get(&self, i: usize) -> MapEntry {
        self.entries().nth(i).expect("index is within the page")
    }

    /// All entries in order.
    #[inline]
    pub fn entries(&self) -> impl ExactSizeIterator<Item = MapEntry> + 'a {
        entries_of(self.block)
    }
}

impl<'a> UnverifiedMapPage<'a> {
    /// Compares the block with the summary entry that led to it.
    pub fn verify(self, entry: &Entry) -> Result<MapPage<'a>, MapPageError> {
        if entry.kind() != Kind::Meta {
            return Err(MapPageError::NotAPage(entry.kind()));
        }
        let (expected, computed) = (entry.crc(), crc32c(self.block));
        if expected != computed {
            return Err(MapPageError::Checksum { expected, computed });
        }
        if let Some(i) = entries_of(self.block).position(|e| !e.is_sound()) {
            return Err(MapPageError::Unsound(i));
        }
        Ok(MapPage { volume: entry.volume(), index: entry.lba().0, generation: entry.seq(), block: self.block })
    }
}

fn entries_of(block: &[u8; BLOCK]) -> impl ExactSizeIterator<Item = MapEntry> + '_ {
    block.chunks_exact(8).map(|bytes| MapEntry(u64::from_le_bytes(bytes.try_into().expect("chunks are 8 bytes"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn map_entries_keep_address_and_checksum(pba in 1..=Pba::MAX.0, crc: u32, flip in 0_u32..27) {
            let entry = MapEntry::new(Pba(pba), crc);
            prop_assert_eq!(entry.pba(), Pba(pba));
            prop_assert!(entry.matches(crc) && !entry.matches(crc ^ (1 << flip)));
            prop_assert!(!entry.is_empty() && !entry.is_of_page());
        }

        #[test]
        fn a_page_has_the_checksum_of_its_blocks(
            pba in 1..Pba::MAX.0 - 16,
            crcs in prop::collection::vec(any::<u32>(), 2..=16),
            at: usize,
            flip in 0_u32..27,
        ) {
            let page = MapEntry::of_page(Pba(pba), MapEntry::page_check(crcs.iter().copied()));
            let mut others = crcs.clone();
            others[at % crcs.len()] ^= 1 << flip;
            prop_assert!(page.is_of_page() && page.is_mapped());
            prop_assert_ne!(MapEntry::page_check(others.into_iter()), page.crc_bits());
            prop_assert_eq!((page.nth(3).pba(), page.nth(3).crc_bits()), (Pba(pba + 3), page.crc_bits()));
            prop_assert!(crcs.iter().all(|&crc| !page.matches(crc)) && !page.matches(page.crc_bits()));
        }

        #[test]
        fn pages_round_trip_and_a_flipped_bit_is_seen(seed: u64, bit in 0..BLOCK * 8) {
            let mut entries = [MapEntry::EMPTY; MAP_PAGE_ENTRIES];
            for (i, entry) in entries.iter_mut().enumerate().filter(|(i, _)| i % 3 != 0) {
                *entry = MapEntry::new(Pba(1 + (seed ^ i as u64) % 1000), seed as u32);
            }
            let mut block = [0; BLOCK];
            MapPage::encode(&entries, &mut block);
            let summary = MapPage::entry(VolumeId(3), 17, 99, &block);
            let page = MapPage::decode(&block).unwrap().verify(&summary).unwrap();
            prop_assert_eq!((page.volume, page.index, page.generation), (VolumeId(3), 17, 99));
            prop_assert!(page.entries().eq(entries));
            prop_assert_eq!(page.get(511), entries[511]);

            block[bit / 8] ^= 1 << (bit % 8);
            let verified = MapPage::decode(&block).unwrap().verify(&summary).map(|_| ());
            let is_checksum = matches!(verified, Err(MapPageError::Checksum { .. }));
            prop_assert!(is_checksum);
        }

        #[test]
        fn any_block_is_a_page_or_an_error(bytes in proptest::collection::vec(any::<u8>(), BLOCK)) {
            let entry = Entry::new(Kind::Meta, VolumeId(0), cygnus_types::Lba(0), 0, crc32c(&bytes));
            let _ = MapPage::decode(&bytes).unwrap().verify(&entry);
        }
    }

    #[test]
    fn what_is_no_page_is_refused() {
        assert_eq!(MapPage::decode(&[0; 4095]).map(|_| ()), Err(MapPageError::Length(4095)));
        let mut block = [0; BLOCK];
        let verify = |block: &[u8; BLOCK], entry: &Entry| MapPage::decode(block).unwrap().verify(entry).map(|_| ());
        assert_eq!(verify(&block, &Entry::VOID), Err(MapPageError::NotAPage(Kind::Void)));
        for known in [MapEntry::ZEROS, MapEntry::LOST, MapEntry::HIDDEN] {
            block[8] = known.0 as u8;
            assert_eq!(verify(&block, &MapPage::entry(VolumeId(0), 0, 0, &block)), Ok(()));
        }
        block[8] = 4;
        assert_eq!(verify(&block, &MapPage::entry(VolumeId(0), 0, 0, &block)), Err(MapPageError::Unsound(1)));
    }

    #[test]
    #[should_panic(expected = "behind a header")]
    fn nothing_is_mapped_to_the_first_header() {
        let _ = MapEntry::new(Pba(0), 1);
    }
}
