//! Logical and physical block addresses.

use std::fmt;

/// Bytes in one block, the unit of mapping, checksumming and device I/O.
///
/// 4 KiB is the largest write that commodity SSDs are trusted to do atomically, the page size of the clients' file
/// systems and databases, and large enough that 8 bytes of map per block is 0.2 % of the capacity.
pub const BLOCK: usize = 1 << BLOCK_SHIFT;

/// log2 of [`BLOCK`]: `bytes >> BLOCK_SHIFT` are blocks.
pub const BLOCK_SHIFT: u32 = 12;

/// Logical block address: the index of a 4 KiB block within one volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lba(pub u64);

impl Lba {
    /// Byte offset of this block's first byte within its volume.
    pub const fn byte_offset(self) -> u64 {
        self.0 << BLOCK_SHIFT
    }

    /// The block that holds the byte at `offset` of the volume.
    pub const fn containing(offset: u64) -> Lba {
        Lba(offset >> BLOCK_SHIFT)
    }

    /// The address `blocks` further on.
    pub const fn plus(self, blocks: u64) -> Lba {
        Lba(self.0 + blocks)
    }
}

impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lba {}", self.0)
    }
}

/// Physical block address: the number of a 4 KiB block counted over the data areas of the whole array.
///
/// Headers and parity blocks have numbers too, so the number can be taken apart into group, segment, column and row
/// by division alone; `cygnus-format`'s geometry does that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pba(pub u64);

impl Pba {
    /// Bits of a physical address. 36 bits of 4 KiB blocks address 256 TiB of raw flash, and leave 28 bits of a
    /// 64-bit map entry: 27 for the checksum and one that tells pages from blocks.
    pub const BITS: u32 = 36;

    /// The largest address that fits in [`Pba::BITS`].
    pub const MAX: Pba = Pba((1 << Pba::BITS) - 1);
}

impl fmt::Display for Pba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pba {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_bytes_agree() {
        assert_eq!(BLOCK, 4096);
        assert_eq!(Lba(3).byte_offset(), 12288);
        assert_eq!(Lba::containing(12288), Lba(3));
        assert_eq!(Lba::containing(12287), Lba(2));
        assert_eq!(Lba(3).plus(4), Lba(7));
        // 256 TiB, as the comment on BITS says.
        assert_eq!((Pba::MAX.0 + 1) << BLOCK_SHIFT, 256 << 40);
    }
}
