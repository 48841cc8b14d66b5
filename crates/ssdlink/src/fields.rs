//! Numbers in headers: little-endian, at fixed places, with the header's checksum in its last four bytes.

use crate::{WireError, crc32c};

/// Puts fields into a header, one after the other.
pub(crate) struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; N], at: 0 }
    }

    pub(crate) fn put(mut self, field: &[u8]) -> Self {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
        self
    }

    /// The header with its checksum. What was not put is zeros.
    pub(crate) fn sealed(mut self) -> [u8; N] {
        let checksum = crc32c(&self.bytes[..N - 4]);
        self.bytes[N - 4..].copy_from_slice(&checksum.to_le_bytes());
        self.bytes
    }
}

/// Takes fields out of a header, one after the other.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The fields behind `magic`, when the checksum fits.
    pub(crate) fn checked(header: &'a [u8], magic: &[u8]) -> Result<Self, WireError> {
        let Some(rest) = header.strip_prefix(magic) else { return Err(WireError::Magic) };
        let (fields, checksum) = rest.split_at(rest.len() - 4);
        let expected = u32::from_le_bytes(checksum.try_into().expect("it was split so"));
        let found = crc32c(&header[..header.len() - 4]);
        if found == expected { Ok(Self(fields)) } else { Err(WireError::Checksum { found, expected }) }
    }

    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_at(N);
        self.0 = rest;
        field.try_into().expect("it was split so")
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}
