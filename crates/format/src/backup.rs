//! Backup copies: what protects the blocks of an open stripe before its parity is there.
//!
//! A block that has to outlast the machine before its stripe is full is written to its final place, and to the transient areas of
//! as many other members as the stripe will have parity columns (ScalaAFA, sections 3.1 and 3.2: an open stripe is in the role of
//! a half hero, and what a transient area holds of it in that of a vertical hero; there, and here where drives compute the parity
//! of copies, these are the members that will have it). Blocks that are backed up at the same time share a *backup*: one block that
//! says what they are, and the blocks behind it. The member that gets the first of them in its final place has the block that says
//! so too, without the others: so whichever m members are lost, one is left that knows what there was.
//!
//! Where blocks are in several columns of the same rows, the *parity of these rows* is fewer blocks than their copies (SALSA,
//! section 3.1: a parity buffer). Then each member that will have parity gets the blocks of the column that it will have, computed of all that
//! the stripe holds by then. With the blocks in their places it restores as many of them as members may be lost.
//!
//! A device that stores bytes beside each block has the description of a backup beside its copies, not in a block before
//! them ([`Backup::encode_beside`]; ScalaAFA, section 5.4): the copies begin where it begins.
//!
//! A transient area is written over and over. Backups say what of them is needed no more ([`Backup::released`]), and no
//! backup is overwritten before one that says so of it is durable. So if one is missing that should be there, that is noticed.

use std::ops::Range;

use cygnus_types::{BLOCK, GroupId, ReactorId, SegmentId};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::checksum;
use crate::constants::{ENTRY_BYTES, MAX_HEADER_BLOCKS, MAX_STRIPE_ROWS, MAX_WIDTH};
use crate::entry::{Discard, Entry};
use crate::protection::Protection;
use crate::stripe::{OpenStripe, Stream};

/// First bytes of every backup.
pub const BACKUP_MAGIC: [u8; 8] = *b"CYGNUSBK";

/// Bytes before the entries.
const FIXED: usize = 128;

/// Bytes beside a block that a description may take up, of each block that it is beside.
pub const BESIDE_BLOCK: usize = 128;

/// Of the fixed part, what is beside blocks: all but where the blocks lie and what is zero.
const FIXED_BESIDE: usize = 104;

/// Entries and discards, together, of which one backup can tell.
pub const MOST_RECORDS: usize = (BLOCK - FIXED) / ENTRY_BYTES;

on_disk! {
    /// What the first block of a backup begins with. Entries follow, then discards.
    pub(crate) struct RawBackup: 128 bytes {
        /// `CYGNUSBK`
        magic: [u8; 8],
        /// CRC32C of the rest of the block
        crc: U32,
        /// R-group
        group: U16,
        /// reactor that fills the stripe
        reactor: U16,
        /// the array's UUID folded to 64 bits
        array_tag: U64,
        /// session that wrote it
        session: U64,
        /// backups of this reactor in this session before this one
        number: U64,
        /// those with lower numbers were needed no more when this one was written
        released: U64,
        /// those with lower numbers were durable then
        durable: U64,
        /// how often segments were opened before the stripe's
        segment_seq: U64,
        /// stripes closed, array-wide, when the stripe was opened
        opened: U64,
        /// segment within the group
        segment: U32,
        /// row of the segment where the stripe's header will begin
        start_row: U32,
        /// blocks of that header on each column
        header_blocks: U32,
        /// rows that the stripe was opened for
        rows: U32,
        /// slot of the stripe that the first block has
        first_slot: U32,
        /// blocks, in the slots that follow
        blocks: U16,
        /// discards
        discards: U16,
        /// data columns, k
        data: u8,
        /// what protects the segment, as in a stripe's header
        protection: u8,
        /// physical column of the first parity column
        parity_start: u8,
        /// 1 client, 2 relocation, 3 meta
        stream: u8,
        /// columns of the group, k + m
        width: u8,
        /// what the blocks are: 0 copies; 1 to 3 the rows of parity column 0 to 2; 255: that is on other members, and here is none
        holds: u8,
        /// zero
        reserved: [u8; 2],
        /// 0: the blocks lie behind this one; else one more than the block of the transient area where they do
        blocks_at: U32,
        /// zero
        reserved_b: [u8; 20],
    }
}

const _: () = assert!(std::mem::offset_of!(RawBackup, crc) == checksum::CRC_OFFSET && size_of::<RawBackup>() == FIXED);
const _: () =
    assert!(std::mem::offset_of!(RawBackup, blocks_at) == FIXED_BESIDE, "what is cut off is not beside blocks");
const _: () = assert!(FIXED_BESIDE + ENTRY_BYTES <= BESIDE_BLOCK, "a single block's description is beside it");

/// What the blocks of a backup are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holds {
    /// Copies of what its entries tell of.
    #[default]
    Copies,
    /// What this parity column, counted from 0, has in the rows in which these blocks lie, in the order of the rows; of all slots of the
    /// stripe up to the last of these blocks.
    Parity(u8),
    /// Other members have the parity of these rows, and nothing is here.
    ParityElsewhere,
}

impl Holds {
    const ELSEWHERE: u8 = u8::MAX;

    fn to_byte(self) -> u8 {
        match self {
            Self::Copies => 0,
            Self::Parity(column) => column + 1,
            Self::ParityElsewhere => Self::ELSEWHERE,
        }
    }

    fn from_byte(byte: u8, parity: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Copies),
            Self::ELSEWHERE => Some(Self::ParityElsewhere),
            _ => Some(Self::Parity(byte - 1)).filter(|_| byte <= parity),
        }
    }
}

/// What a backup says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The array's UUID, folded.
    pub array_tag: u64,
    /// Session of the array in which it was written.
    pub session: u64,
    /// Its number among those of the stripe's reactor in this session.
    pub number: u64,
    /// Those with lower numbers were needed no more when this one was written.
    pub released: u64,
    /// Those with lower numbers were durable then.
    pub durable: u64,
    /// The stripe whose blocks they are.
    pub stripe: OpenStripe,
    /// Slot of the stripe that the first block has.
    pub first_slot: u32,
    /// Block of the member's transient area from which on the blocks lie; `None`: behind the block that says so, or where it is said
    /// beside them. All copies of a stripe lie one behind the other where its members are to compute its parity from them.
    pub blocks_at: Option<u32>,
    /// What these blocks are.
    pub holds: Holds,
    /// What is backed up, in the order of their slots.
    pub entries: Vec<Entry>,
    /// Discards that the stripe tells of.
    pub discards: Vec<Discard>,
}

/// Why a block does not begin a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackupError {
    /// Something else is there.
    #[error("it is no backup")]
    NotABackup,
    /// It was one, and has changed.
    #[error("the checksum is wrong")]
    Checksum,
    /// It cannot be what it says.
    #[error("its {0} is impossible")]
    Impossible(&'static str),
}

impl Backup {
    /// The slots of the stripe that are backed up.
    pub fn slots(&self) -> Range<u32> {
        self.first_slot..self.first_slot + self.entries.len() as u32
    }

    /// Writes its first block.
    pub fn encode_into(&self, block: &mut [u8]) {
        assert!(self.entries.len() + self.discards.len() <= MOST_RECORDS, "the caller counts");
        self.put(&self.raw(), block);
    }

    /// Whether copies of this many blocks have room beside them for their description, if that tells of discards too.
    pub fn fits_beside(blocks: usize, discards: usize) -> bool {
        length_beside(blocks + discards) <= blocks * BESIDE_BLOCK
    }

    /// What is beside the first of its copies: [`BESIDE_BLOCK`] bytes of each.
    pub fn encode_beside(&self) -> Vec<u8> {
        let is_possible = self.holds == Holds::Copies && Self::fits_beside(self.entries.len(), self.discards.len());
        assert!(is_possible && self.blocks_at.is_none(), "the caller looks");
        let mut beside = vec![0; length_beside(self.entries.len() + self.discards.len())];
        self.put(&self.raw()[..FIXED_BESIDE], &mut beside);
        beside
    }

    /// Writes the fixed part, the records and the checksum.
    fn put(&self, fixed: &[u8], into: &mut [u8]) {
        let behind = fixed.len() + self.entries.len() * ENTRY_BYTES;
        let end = behind + self.discards.len() * ENTRY_BYTES;
        into[..fixed.len()].copy_from_slice(fixed);
        into[fixed.len()..behind].copy_from_slice(self.entries.as_bytes());
        into[behind..end].copy_from_slice(self.discards.as_bytes());
        into[end..].fill(0);
        checksum::seal(into);
    }

    fn raw(&self) -> [u8; FIXED] {
        let of = &self.stripe;
        let raw = RawBackup {
            magic: BACKUP_MAGIC,
            group: U16::new(of.group.0),
            reactor: U16::new(of.reactor.0),
            array_tag: U64::new(self.array_tag),
            session: U64::new(self.session),
            number: U64::new(self.number),
            released: U64::new(self.released),
            durable: U64::new(self.durable),
            segment_seq: U64::new(of.segment_seq),
            opened: U64::new(of.opened),
            segment: U32::new(of.segment.0),
            start_row: U32::new(of.start_row),
            header_blocks: U32::new(of.header_blocks),
            rows: U32::new(of.rows),
            first_slot: U32::new(self.first_slot),
            blocks: U16::new(self.entries.len() as u16),
            discards: U16::new(self.discards.len() as u16),
            data: of.rotation.data,
            protection: of.rotation.protection().to_byte(),
            parity_start: of.rotation.parity_start,
            stream: of.stream as u8,
            width: of.rotation.width(),
            holds: self.holds.to_byte(),
            blocks_at: U32::new(self.blocks_at.map_or(0, |at| at + 1)),
            ..RawBackup::new_zeroed()
        };
        zerocopy::transmute!(raw)
    }

    /// Takes a block for the first one of a backup, and looks at its checksum.
    ///
    /// # Errors
    /// When it is none, or has changed since it was written.
    pub fn decode(block: &[u8; BLOCK]) -> Result<Self, BackupError> {
        let (raw, records) = RawBackup::ref_from_prefix(block).expect("a block is longer");
        if raw.magic != BACKUP_MAGIC {
            return Err(BackupError::NotABackup);
        }
        if raw.crc.get() != checksum::expected(block) {
            return Err(BackupError::Checksum);
        }
        Self::of(raw, records)
    }

    /// Takes what is beside a block, and beside those behind it, for the description of a backup whose copies begin there.
    ///
    /// # Errors
    /// When it is none, or has changed since it was written.
    pub fn decode_beside(beside: &[u8]) -> Result<Self, BackupError> {
        if !beside.starts_with(&BACKUP_MAGIC) || beside.len() < FIXED_BESIDE {
            return Err(BackupError::NotABackup);
        }
        let mut fixed = [0; FIXED];
        fixed[..FIXED_BESIDE].copy_from_slice(&beside[..FIXED_BESIDE]);
        let raw: RawBackup = zerocopy::transmute!(fixed);
        let records = usize::from(raw.blocks.get()) + usize::from(raw.discards.get());
        let Some(beside) = beside.get(..length_beside(records)) else { return Err(BackupError::Impossible("count")) };
        if raw.crc.get() != checksum::expected(beside) {
            return Err(BackupError::Checksum);
        }
        Self::of(&raw, &beside[FIXED_BESIDE..])
    }

    fn of(raw: &RawBackup, records: &[u8]) -> Result<Self, BackupError> {
        let impossible = |what| Err(BackupError::Impossible(what));
        let (blocks, discards) = (usize::from(raw.blocks.get()), usize::from(raw.discards.get()));
        if blocks + discards > MOST_RECORDS {
            return impossible("count");
        }
        let Ok(protection) = Protection::from_byte(raw.protection) else { return impossible("protection") };
        let rotation = protection.columns(raw.width, raw.parity_start);
        let Some(rotation) = rotation.filter(|of| of.data == raw.data && raw.parity_start < raw.width) else {
            return impossible("columns");
        };
        let slots = u64::from(raw.rows.get()) * u64::from(rotation.data);
        let is_high = raw.rows.get() > MAX_STRIPE_ROWS || raw.header_blocks.get() > MAX_HEADER_BLOCKS;
        if raw.width > MAX_WIDTH || is_high || u64::from(raw.first_slot.get()) + blocks as u64 > slots {
            return impossible("shape");
        }
        let Some(stream) = Stream::from_byte(raw.stream) else { return impossible("stream") };
        let Some(holds) = Holds::from_byte(raw.holds, rotation.parity) else { return impossible("kind") };
        let (entries, rest) = <[Entry]>::ref_from_prefix_with_elems(records, blocks).expect("they were counted");
        let (discards, _) = <[Discard]>::ref_from_prefix_with_elems(rest, discards).expect("they were counted");
        if !entries.iter().all(Entry::is_known) || !discards.iter().all(Discard::is_in_range) {
            return impossible("entry");
        }
        let stripe = OpenStripe {
            group: GroupId(raw.group.get()),
            segment: SegmentId(raw.segment.get()),
            segment_seq: raw.segment_seq.get(),
            start_row: raw.start_row.get(),
            header_blocks: raw.header_blocks.get(),
            rows: raw.rows.get(),
            rotation,
            opened: raw.opened.get(),
            stream,
            reactor: ReactorId(raw.reactor.get()),
        };
        Ok(Self {
            array_tag: raw.array_tag.get(),
            session: raw.session.get(),
            number: raw.number.get(),
            released: raw.released.get(),
            durable: raw.durable.get(),
            stripe,
            first_slot: raw.first_slot.get(),
            blocks_at: raw.blocks_at.get().checked_sub(1),
            holds,
            entries: entries.to_vec(),
            discards: discards.to_vec(),
        })
    }

    /// Whether a block, or what is beside one, may have described a backup of an array once, as far as one can tell from bytes some
    /// of which have changed: most of what tells a backup of this array from anything else is as it was.
    pub fn resembles(bytes: &[u8], array_tag: u64) -> bool {
        const TAG: Range<usize> = std::mem::offset_of!(RawBackup, array_tag)..std::mem::offset_of!(RawBackup, session);
        let wrong = |is: &[u8], want: &[u8]| is.iter().zip(want).filter(|(is, want)| is != want).count();
        let is_like = |tag: &[u8]| wrong(bytes, &BACKUP_MAGIC) + wrong(tag, &array_tag.to_le_bytes()) <= 4;
        bytes.get(TAG).is_some_and(is_like)
    }
}

/// Bytes of a description beside blocks: whole parts of [`BESIDE_BLOCK`].
fn length_beside(records: usize) -> usize {
    (FIXED_BESIDE + records * ENTRY_BYTES).next_multiple_of(BESIDE_BLOCK)
}

#[cfg(test)]
mod tests {
    use cygnus_types::{Lba, VolumeId};
    use proptest::prelude::*;

    use super::*;
    use crate::entry::Kind;
    use crate::geometry::Rotation;

    fn backup(blocks: usize, discards: usize) -> Backup {
        let entry = |n: usize| Entry::new(Kind::Data, VolumeId(3), Lba(n as u64 * 7), n as u64, n as u32);
        let discard = |n: usize| Discard::new(VolumeId(3), Lba(n as u64), 9, n as u64);
        let stripe = OpenStripe {
            group: GroupId(2),
            segment: SegmentId(17),
            segment_seq: 5,
            start_row: 40,
            header_blocks: 1,
            rows: 64,
            rotation: Rotation { data: 4, parity: 2, parity_start: 3 },
            opened: 99,
            stream: Stream::Clients,
            reactor: ReactorId(1),
        };
        Backup {
            array_tag: 0x1122_3344_5566_7788,
            session: 4,
            number: 1000,
            released: 900,
            durable: 990,
            stripe,
            first_slot: 12,
            blocks_at: (blocks.is_multiple_of(2)).then_some(blocks as u32),
            holds: [Holds::Copies, Holds::Parity(0), Holds::Parity(1), Holds::ParityElsewhere][blocks % 4],
            entries: (0..blocks).map(entry).collect(),
            discards: (0..discards).map(discard).collect(),
        }
    }

    fn encoded(backup: &Backup) -> [u8; BLOCK] {
        let mut block = [0xaa; BLOCK];
        backup.encode_into(&mut block);
        block
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(blocks in 0..=MOST_RECORDS, discards in 0..=MOST_RECORDS) {
            let backup = backup(blocks, discards.min(MOST_RECORDS - blocks));
            prop_assert_eq!(Backup::decode(&encoded(&backup)), Ok(backup));
        }

        #[test]
        fn a_changed_bit_is_noticed(at in 0..BLOCK * 8) {
            let mut block = encoded(&backup(5, 2));
            block[at / 8] ^= 1 << (at % 8);
            prop_assert!(Backup::decode(&block).is_err());
            prop_assert!(Backup::resembles(&block, 0x1122_3344_5566_7788));
        }

        #[test]
        fn what_is_beside_blocks_is_read(blocks in 0..=MOST_RECORDS, discards in 0..4_usize, more in 0..3_usize) {
            let discards = discards.min(MOST_RECORDS - blocks);
            let of = Backup { holds: Holds::Copies, blocks_at: None, ..backup(blocks, discards) };
            prop_assert!(Backup::fits_beside(blocks, 0) == (blocks > 0), "copies have room for their own entries");
            prop_assume!(Backup::fits_beside(blocks, discards));
            let mut beside = of.encode_beside();
            prop_assert!(beside.len() <= blocks * BESIDE_BLOCK && beside.len().is_multiple_of(BESIDE_BLOCK));
            let end = beside.len();
            beside.resize(end + more * BESIDE_BLOCK, 0xaa);
            prop_assert_eq!(Backup::decode_beside(&beside), Ok(of));
            prop_assert!(Backup::decode_beside(&beside[..end - 1]).is_err());
        }

        #[test]
        fn a_changed_bit_beside_a_block_is_noticed(at in 0..BESIDE_BLOCK * 8) {
            let mut beside = Backup { holds: Holds::Copies, blocks_at: None, ..backup(1, 0) }.encode_beside();
            beside[at / 8] ^= 1 << (at % 8);
            prop_assert!(Backup::decode_beside(&beside).is_err());
            prop_assert!(Backup::resembles(&beside, 0x1122_3344_5566_7788));
        }

        #[test]
        fn no_bytes_beside_blocks_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..600), seal in any::<bool>(), few: bool) {
            if seal && bytes.len() > FIXED_BESIDE {
                bytes[..BACKUP_MAGIC.len()].copy_from_slice(&BACKUP_MAGIC);
                if few {
                    bytes[92..96].copy_from_slice(&[1, 0, 0, 0]);
                }
                let end = length_beside(usize::from(few)).min(bytes.len());
                checksum::seal(&mut bytes[..end]);
            }
            let _ = Backup::decode_beside(&bytes);
        }

        #[test]
        fn no_bytes_harm(bytes in prop::collection::vec(any::<u8>(), FIXED), seal in any::<bool>()) {
            let mut block = encoded(&backup(3, 1));
            block[checksum::CRC_OFFSET..FIXED].copy_from_slice(&bytes[checksum::CRC_OFFSET..]);
            if seal {
                checksum::seal(&mut block);
            }
            let _ = Backup::decode(&block);
        }
    }

    #[test]
    fn a_parity_column_that_is_not_there_is_impossible() {
        let third = Backup { holds: Holds::Parity(2), ..backup(1, 0) };
        assert_eq!(Backup::decode(&encoded(&third)), Err(BackupError::Impossible("kind")));
    }

    #[test]
    fn other_blocks_resemble_none() {
        assert!(!Backup::resembles(&[0; BLOCK], 0x1122_3344_5566_7788));
        assert!(!Backup::resembles(&encoded(&backup(1, 0)), 0x99aa_bbcc_ddee_ff00));
        assert_eq!(Backup::decode(&[0; BLOCK]), Err(BackupError::NotABackup));
    }
}
