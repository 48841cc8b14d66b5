//! Summary records: what each block of a stripe is, and which blocks a client discarded.

use std::fmt;

use cygnus_types::{Lba, VolumeId};
use zerocopy::little_endian::{U32, U64};

/// What a block of a stripe holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Nothing: never written, zeros for the parity.
    Void = 0,
    /// A block a client wrote.
    Data = 1,
    /// A client's block moved here by cleaning; it keeps the sequence of the write it came from, so it never beats a
    /// write that happened in between.
    Relocated = 2,
    /// A page of a volume's map, dumped by a checkpoint: the LBA field is the page's index, the sequence field the
    /// checkpoint's generation.
    Meta = 3,
    /// A parity block, so that a scrub can tell a bad parity block from bad data. The address fields are zero.
    Parity = 4,
    /// Map entries of pages that hold few, packed by a checkpoint: volume and LBA are those of the first one, the sequence
    /// field has the checkpoint's generation.
    Packed = 5,
    /// What segments are protected by, where not all are protected alike: the LBA field is the number of the page, the
    /// sequence field has the checkpoint's generation ([`ProtectionPage`](crate::ProtectionPage)).
    Protections = 6,
}

impl Kind {
    /// Whether it is a block of a checkpoint: part of the map, or of the table of segments.
    pub const fn is_of_checkpoint(self) -> bool {
        matches!(self, Kind::Meta | Kind::Packed | Kind::Protections)
    }

    const fn from_byte(byte: u8) -> Option<Kind> {
        match byte {
            0 => Some(Kind::Void),
            1 => Some(Kind::Data),
            2 => Some(Kind::Relocated),
            3 => Some(Kind::Meta),
            4 => Some(Kind::Parity),
            5 => Some(Kind::Packed),
            6 => Some(Kind::Protections),
            _ => None,
        }
    }
}

/// Bits of the LBA in an entry; the kind takes the byte above them.
const LBA_BITS: u32 = 56;
const LBA_MASK: u64 = (1 << LBA_BITS) - 1;

on_disk! {
    /// What one block of a stripe is.
    pub struct Entry: 24 bytes {
        /// volume the block belongs to
        volume: U32,
        /// CRC32C of the block's 4096 bytes
        crc: U32,
        /// low 56 bits: logical block address (or map page index); high byte: kind
        lba_and_kind: U64,
        /// write sequence: of two blocks with one address the higher wins
        seq: U64,
    }
}

impl Entry {
    /// The entry of a block that holds nothing.
    pub const VOID: Entry =
        Entry { volume: U32::new(0), crc: U32::new(0), lba_and_kind: U64::new(0), seq: U64::new(0) };

    /// An entry. `lba` must be below 2^56.
    #[inline]
    pub const fn new(kind: Kind, volume: VolumeId, lba: Lba, seq: u64, crc: u32) -> Entry {
        debug_assert!(lba.0 <= LBA_MASK);
        Entry {
            volume: U32::new(volume.0),
            crc: U32::new(crc),
            lba_and_kind: U64::new(((kind as u64) << LBA_BITS) | lba.0),
            seq: U64::new(seq),
        }
    }

    /// The entry of a parity block.
    #[inline]
    pub const fn parity(crc: u32) -> Entry {
        Entry::new(Kind::Parity, VolumeId(0), Lba(0), 0, crc)
    }

    /// What the block holds. Kinds this version does not know are `Void`; verified headers have none.
    #[inline]
    pub const fn kind(&self) -> Kind {
        match Kind::from_byte(self.kind_byte()) {
            Some(kind) => kind,
            None => Kind::Void,
        }
    }

    /// Volume the block belongs to.
    #[inline]
    pub const fn volume(&self) -> VolumeId {
        VolumeId(self.volume.get())
    }

    /// Logical address within the volume, or the index of the map page.
    #[inline]
    pub const fn lba(&self) -> Lba {
        Lba(self.lba_and_kind.get() & LBA_MASK)
    }

    /// Write sequence, or the checkpoint's generation.
    #[inline]
    pub const fn seq(&self) -> u64 {
        self.seq.get()
    }

    /// CRC32C of the block.
    #[inline]
    pub const fn crc(&self) -> u32 {
        self.crc.get()
    }

    const fn kind_byte(&self) -> u8 {
        (self.lba_and_kind.get() >> LBA_BITS) as u8
    }

    /// What is left to be said where this block was and nothing is any more: its checksum, which that of its page covers.
    pub const fn voided(self) -> Entry {
        Entry { crc: self.crc, ..Entry::VOID }
    }

    pub(crate) const fn is_known(&self) -> bool {
        Kind::from_byte(self.kind_byte()).is_some()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        zerocopy::IntoBytes::as_bytes(self) == zerocopy::IntoBytes::as_bytes(other)
    }
}

impl Eq for Entry {}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {} seq {} crc {:08x}", self.kind(), self.volume(), self.lba(), self.seq(), self.crc())
    }
}

on_disk! {
    /// A run of blocks that a client discarded: they read as zeros from this sequence on.
    pub struct Discard: 24 bytes {
        /// volume
        volume: U32,
        /// blocks discarded
        count: U32,
        /// first logical block address
        lba: U64,
        /// write sequence of the discard: it beats every write with a lower one
        seq: U64,
    }
}

impl Discard {
    /// A discard of `count` blocks from `lba` on.
    pub const fn new(volume: VolumeId, lba: Lba, count: u32, seq: u64) -> Discard {
        Discard { volume: U32::new(volume.0), count: U32::new(count), lba: U64::new(lba.0), seq: U64::new(seq) }
    }

    /// Volume whose blocks are discarded.
    pub const fn volume(&self) -> VolumeId {
        VolumeId(self.volume.get())
    }

    /// First discarded block.
    pub const fn lba(&self) -> Lba {
        Lba(self.lba.get())
    }

    /// Number of blocks; `lba + count` does not overflow in a verified header.
    pub const fn count(&self) -> u32 {
        self.count.get()
    }

    /// Write sequence.
    pub const fn seq(&self) -> u64 {
        self.seq.get()
    }

    pub(crate) const fn is_in_range(&self) -> bool {
        self.lba.get() <= LBA_MASK
    }
}

impl PartialEq for Discard {
    fn eq(&self, other: &Discard) -> bool {
        zerocopy::IntoBytes::as_bytes(self) == zerocopy::IntoBytes::as_bytes(other)
    }
}

impl Eq for Discard {}

impl fmt::Debug for Discard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "discard {} {} +{} seq {}", self.volume(), self.lba(), self.count(), self.seq())
    }
}

const _: () = assert!(size_of::<Entry>() == crate::ENTRY_BYTES && size_of::<Discard>() == crate::ENTRY_BYTES);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_do_not_touch_each_other(
            kind in 0_u8..=6, volume: u32, lba in 0..=LBA_MASK, seq: u64, crc: u32,
        ) {
            let kind = Kind::from_byte(kind).unwrap();
            let entry = Entry::new(kind, VolumeId(volume), Lba(lba), seq, crc);
            prop_assert_eq!(
                (entry.kind(), entry.volume(), entry.lba(), entry.seq(), entry.crc()),
                (kind, VolumeId(volume), Lba(lba), seq, crc)
            );
        }
    }

    #[test]
    fn unknown_kinds_are_seen() {
        let entry = Entry { lba_and_kind: U64::new(7 << LBA_BITS), ..Entry::VOID };
        assert!(!entry.is_known());
        assert!(Entry::VOID.is_known());
    }
}
