//! Where the description of a backup lies: in a block of its own, or beside the copies that it tells of (ScalaAFA, section 5.4).
//!
//! A device that stores bytes beside each block takes a copy and its description in one write of one block. So a block that is
//! flushed by itself costs each member with parity one block and not two. The member that has the first of the blocks in its place
//! has a block that describes them as ever: what is in a stripe's places is written anew by many, who know nothing of bytes
//! beside it.

use cygnus_format::{BESIDE_BLOCK, Backup, Rotation};
use cygnus_policy::UntilFull;
use cygnus_runtime::{BufSlice, DeviceIx, Extra, OpFuture, Runtime};
use cygnus_types::{BLOCK, GroupId};

use crate::shared::Shared;

/// Blocks of which what is beside them is read at once.
const PIECE: u32 = 256;

/// Whether an array of members with these bytes beside their blocks is to have descriptions there.
pub(crate) fn is_wanted(until_full: UntilFull, beside: impl IntoIterator<Item = u16>) -> bool {
    let copies = matches!(until_full, UntilFull::TwoPhase | UntilFull::Offload);
    copies && beside.into_iter().any(|bytes| usize::from(bytes) >= BESIDE_BLOCK)
}

/// What is beside the blocks of an array's members: see the module's text.
pub(crate) struct Beside<'a> {
    shared: &'a Shared,
    rt: &'a Runtime,
}

impl<'a> Beside<'a> {
    pub(crate) fn of(shared: &'a Shared, rt: &'a Runtime) -> Self {
        Self { shared, rt }
    }

    /// Whether a device has room for descriptions, in an array that has them there.
    pub(crate) fn has_room(&self, dev: DeviceIx) -> bool {
        self.shared.describes_beside && usize::from(self.rt.capabilities(dev).oob_bytes) >= BESIDE_BLOCK
    }

    /// Whether all members with the parity of such stripes of a group have it.
    pub(crate) fn have_room(&self, group: GroupId, columns: Rotation) -> bool {
        let device = |p| self.shared.member(group, columns.parity_column(p)).1.device();
        self.shared.describes_beside && (0..columns.parity).all(|p| device(p).is_some_and(|dev| self.has_room(dev)))
    }

    /// Writes copies, and what describes them beside them.
    pub(crate) fn write(&self, dev: DeviceIx, offset: u64, copies: BufSlice, backup: &Backup) -> OpFuture {
        let room = copies.len() / BLOCK * BESIDE_BLOCK;
        let beside = self.rt.alloc(room).full().slice(0..room);
        let description = backup.encode_beside();
        beside.copy_from(0, &description);
        beside.zero(description.len()..room);
        self.rt.extra(dev, Extra::WriteOob { offset, buf: copies, oob: beside, transient: true })
    }

    /// Reads what is beside the blocks of a range: [`BESIDE_BLOCK`] bytes of each, zeros where it cannot be read.
    pub(crate) async fn read(&self, dev: DeviceIx, offset: u64, blocks: u32) -> Vec<u8> {
        let mut all = Vec::with_capacity(blocks as usize * BESIDE_BLOCK);
        for first in (0..blocks).step_by(PIECE as usize) {
            let piece = first..blocks.min(first + PIECE);
            let at = |block: u32| offset + u64::from(block) * BLOCK as u64;
            if let Some(bytes) = self.read_at_once(dev, at(first), piece.len() as u32).await {
                all.extend_from_slice(bytes.bytes());
                continue;
            }
            for block in piece {
                match self.read_at_once(dev, at(block), 1).await {
                    Some(bytes) => all.extend_from_slice(bytes.bytes()),
                    None => all.resize(all.len() + BESIDE_BLOCK, 0),
                }
            }
        }
        all
    }

    async fn read_at_once(&self, dev: DeviceIx, offset: u64, blocks: u32) -> Option<BufSlice> {
        let len = blocks as usize * BESIDE_BLOCK;
        let into = self.rt.alloc(len).full().slice(0..len);
        let read = self.rt.extra(dev, Extra::ReadOob { offset, blocks, into: into.clone() });
        read.await.is_ok().then_some(into)
    }
}
