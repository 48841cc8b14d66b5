//! The superblock slots of a device: two for the generations, which alternate, and of each slot two copies.
//!
//! The copies tell what was torn by a power cut from what has rotted. A superblock goes to the first copy of its slot, then
//! a flush, then to the second one: so a power cut never spoils both, and an opening mends a spoiled copy from
//! the other one before he writes anything else. A slot of which *both* copies are spoiled has rotted. It may have held the
//! newest state, and the other slot is older: it must not be taken for the newest one without another witness.
//!
//! For the same reason a slot to which nothing was written yet is not zeros, but says that it is empty.

use cygnus_types::BLOCK;

use crate::checksum;
use crate::constants::{SUPERBLOCK_OFFSETS, SUPERBLOCK_SLOT};
use crate::probe;
use crate::superblock::{Superblock, SuperblockError};

/// First bytes of a slot to which no superblock was written yet.
const EMPTY_MAGIC: [u8; 8] = *b"CYGNUSNO";

/// Byte offsets of both copies of the slot to which the superblock of this generation goes, in the order of writing.
pub const fn copies_for(generation: u64) -> [u64; 2] {
    SUPERBLOCK_OFFSETS[(generation % 2) as usize]
}

/// The first block of a slot to which nothing was written yet; the others are zeros.
pub fn empty_slot() -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..EMPTY_MAGIC.len()].copy_from_slice(&EMPTY_MAGIC);
    checksum::seal(&mut block);
    block
}

/// Whether nothing is in the place of a copy: zeros, or what says that it is empty.
pub(crate) fn is_empty_copy(bytes: &[u8]) -> bool {
    let behind = bytes.strip_prefix(&empty_slot());
    probe::is_zero(behind.unwrap_or(bytes))
}

/// What a copy of a slot holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotCopy {
    /// Nothing yet.
    Empty,
    /// A superblock that matches its checksum.
    Holds(Box<Superblock>),
    /// It cannot be used.
    Spoiled(SuperblockError),
}

/// All superblock slots of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The superblock that counts.
    pub newest: Superblock,
    /// By slot and copy, as their offsets.
    pub copies: [[SlotCopy; 2]; 2],
}

impl Superblock {
    /// The superblock that counts, of all that are at the start of a device: the valid one with the highest generation.
    ///
    /// # Errors
    /// As [`Slots::read`].
    pub fn newest(head: &[u8]) -> Result<Superblock, SuperblockError> {
        Slots::read(head).map(|slots| slots.newest)
    }
}

impl SlotCopy {
    fn read(head: &[u8], offset: u64) -> SlotCopy {
        let from = head.len().min(offset as usize);
        let bytes = &head[from..head.len().min((offset + SUPERBLOCK_SLOT) as usize)];
        if bytes.starts_with(&empty_slot()) {
            return SlotCopy::Empty;
        }
        match Superblock::decode(bytes).and_then(|superblock| superblock.verify()) {
            Ok(superblock) => SlotCopy::Holds(Box::new(superblock)),
            Err(why) => SlotCopy::Spoiled(why),
        }
    }

    /// Its superblock, if it has one.
    pub fn superblock(&self) -> Option<&Superblock> {
        match self {
            SlotCopy::Holds(superblock) => Some(superblock),
            SlotCopy::Empty | SlotCopy::Spoiled(_) => None,
        }
    }

    /// Why it cannot be used, if so.
    pub fn spoiled(&self) -> Option<&SuperblockError> {
        match self {
            SlotCopy::Spoiled(why) => Some(why),
            SlotCopy::Empty | SlotCopy::Holds(_) => None,
        }
    }
}

impl Slots {
    /// Reads all slots from the first [`SUPERBLOCK_AREA`](crate::SUPERBLOCK_AREA) bytes of a device; what could not be read
    /// is zeros there.
    ///
    /// # Errors
    /// If there is no valid superblock, the error of the copy that looks most like one; if there are those of two arrays,
    /// [`SuperblockError::TwoArrays`]. If there is one, but the first slot has another program's signature,
    /// [`SuperblockError::TakenOver`]: the data behind it is no longer ours.
    pub fn read(head: &[u8]) -> Result<Slots, SuperblockError> {
        let copies = SUPERBLOCK_OFFSETS.map(|slot| slot.map(|offset| SlotCopy::read(head, offset)));
        let all = || copies.iter().flatten();
        let valid = || all().filter_map(SlotCopy::superblock);
        let Some(newest) = valid().max_by_key(|superblock| superblock.generation).cloned() else {
            let telling = all().filter_map(SlotCopy::spoiled).find(|why| **why != SuperblockError::NotASuperblock);
            return Err(telling.cloned().unwrap_or(SuperblockError::NotASuperblock));
        };
        if let Some(other) = valid().find(|superblock| superblock.array != newest.array) {
            return Err(SuperblockError::TwoArrays(newest.array, other.array));
        }
        match probe::taken_over_by(&head[..head.len().min(SUPERBLOCK_SLOT as usize)]) {
            Some(what) => Err(SuperblockError::TakenOver(what)),
            None => Ok(Slots { newest, copies }),
        }
    }

    /// The superblock in a slot, of two copies the newer one.
    pub fn slot(&self, slot: usize) -> Option<&Superblock> {
        self.copies[slot].iter().filter_map(SlotCopy::superblock).max_by_key(|superblock| superblock.generation)
    }

    /// The offset of the slot that has rotted, and why it cannot be used: what was there is not known any more. It may have
    /// been newer than the other one.
    pub fn lost(&self) -> Option<(u64, &SuperblockError)> {
        SUPERBLOCK_OFFSETS.iter().zip(&self.copies).find_map(|(offsets, copies)| match copies {
            [SlotCopy::Spoiled(why), SlotCopy::Spoiled(_)] => Some((offsets[0], why)),
            _ => None,
        })
    }

    /// The offsets of spoiled copies, each behind that of the copy which has what was there.
    pub fn mendable(&self) -> Vec<(u64, u64)> {
        let slots = SUPERBLOCK_OFFSETS.iter().zip(&self.copies);
        slots
            .filter_map(|(&[first, second], copies)| match copies {
                [SlotCopy::Spoiled(_), SlotCopy::Spoiled(_)] => None,
                [SlotCopy::Spoiled(_), _] => Some((second, first)),
                [_, SlotCopy::Spoiled(_)] => Some((first, second)),
                _ => None,
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
