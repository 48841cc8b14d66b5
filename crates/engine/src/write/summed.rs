//! A block's data with its checksum, as a writer takes it.

use cygnus_parity as parity;

/// Data of one block, and its CRC32C.
#[derive(Clone, Copy)]
pub(crate) struct Summed<'a> {
    data: &'a [u8],
    crc: u32,
}

impl<'a> Summed<'a> {
    /// Data whose checksum nobody has computed yet: what a client has written, or what was put together here.
    #[inline]
    pub(crate) fn of(data: &'a [u8]) -> Self {
        Self { data, crc: parity::checksum::crc32c(data) }
    }

    /// Data that was read and had this checksum then. It is not computed again: that would cost a pass over the block, and
    /// would declare right whatever has changed in memory since.
    #[inline]
    pub(crate) fn as_verified(data: &'a [u8], crc: u32) -> Self {
        Self { data, crc }
    }

    pub(crate) fn data(&self) -> &'a [u8] {
        self.data
    }

    pub(crate) fn crc(&self) -> u32 {
        self.crc
    }
}
