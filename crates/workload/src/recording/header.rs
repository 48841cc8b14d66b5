//! The beginning of a recording.

use super::number;
use cygnus_parity::checksum::crc32c;
use cygnus_types::Uuid;

/// What a recording is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Nanoseconds from the beginning of 1970 to the time 0 of the frames' clock.
    pub clock: u64,
    /// The volume's size in bytes when the recording began.
    pub size: u64,
    /// The identity of the array that served the volume.
    pub array: Uuid,
    /// The volume, as `ARRAY/VOLUME`; no longer than 1000 bytes.
    pub volume: String,
}

/// Why bytes are no beginning of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Something else.
    #[error("it does not begin as a recording does")]
    Magic,
    /// A recording of a later version.
    #[error("it is a recording of format {0}, which is newer than this program: use a newer one")]
    Version(u16),
    /// Cut short or changed.
    #[error("its header is truncated or damaged: fetch it again")]
    Damaged,
}

impl Header {
    /// The first bytes of every recording.
    pub const MAGIC: [u8; 8] = *b"CYGTRACE";
    const VERSION: u16 = 1;
    /// Bytes before the volume's name.
    const FIXED: usize = 50;
    const LONGEST_NAME: usize = 1000;
    /// No header is longer.
    pub(crate) const LONGEST: usize = Self::FIXED + Self::LONGEST_NAME;

    /// The header's bytes. A longer name is cut.
    pub fn encode(&self) -> Vec<u8> {
        let whole = |&end: &usize| self.volume.is_char_boundary(end);
        let end = (0..=Self::LONGEST_NAME.min(self.volume.len())).rev().find(whole).unwrap_or(0);
        let name = &self.volume[..end];
        let mut bytes = vec![0; Self::FIXED];
        bytes[..8].copy_from_slice(&Self::MAGIC);
        bytes[12..14].copy_from_slice(&Self::VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.clock.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.size.to_le_bytes());
        bytes[32..48].copy_from_slice(&self.array.0);
        bytes[48..50].copy_from_slice(&(name.len() as u16).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        let sum = crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a header from a file's first bytes; with it, its length.
    ///
    /// # Errors
    /// When there is none, or it is damaged or of a later version.
    pub fn decode(bytes: &[u8]) -> Result<(Header, usize), HeaderError> {
        if !bytes.starts_with(&Self::MAGIC) {
            return Err(HeaderError::Magic);
        }
        if bytes.len() < Self::FIXED {
            return Err(HeaderError::Damaged);
        }
        // Before the checksum, since a later version may have another.
        let version = u16::from_le_bytes(number(bytes, 12));
        if version > Self::VERSION {
            return Err(HeaderError::Version(version));
        }
        let end = Self::FIXED + usize::from(u16::from_le_bytes(number(bytes, 48)));
        let sum = u32::from_le_bytes(number(bytes, 8));
        let whole = bytes.get(..end).filter(|bytes| end <= Self::LONGEST && crc32c(&bytes[12..]) == sum);
        let name = whole.and_then(|bytes| std::str::from_utf8(&bytes[Self::FIXED..]).ok());
        let volume = name.ok_or(HeaderError::Damaged)?.to_owned();
        let header = Header {
            clock: u64::from_le_bytes(number(bytes, 16)),
            size: u64::from_le_bytes(number(bytes, 24)),
            array: Uuid(number(bytes, 32)),
            volume,
        };
        Ok((header, end))
    }
}
