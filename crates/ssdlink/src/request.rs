//! What a host asks: a header of 64 bytes, and after that of a write the blocks and what is beside them.

use crate::fields::{Reader, Writer};
use crate::{MAX_DATA, MAX_OOB, WireError, crc32c};

/// Length of a request's header.
pub const REQUEST_BYTES: usize = 64;

const MAGIC: &[u8; 4] = b"cSRq";
const TRANSIENT: u8 = 1;
/// Flag of a conversion.
const KEEPS: u8 = 1;

/// Operation codes.
mod code {
    pub(super) const READ: u8 = 1;
    pub(super) const WRITE: u8 = 2;
    pub(super) const TRIM: u8 = 3;
    pub(super) const FLUSH: u8 = 4;
    pub(super) const CONVERT: u8 = 5;
    pub(super) const READ_OOB: u8 = 6;
    pub(super) const STATUS: u8 = 7;
}

/// What is to be converted, and into what. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convert {
    /// Start of the chunks.
    pub source: u64,
    /// Where the parity goes.
    pub destination: u64,
    /// Length of a chunk, and of the parity.
    pub chunk: u64,
    /// How many chunks: k.
    pub chunks: u32,
    /// Which parity: 0 is P, 1 is Q, 2 is R.
    pub row: u8,
    /// Whether the chunks stay as they are.
    pub keeps: bool,
}

/// What is asked. Offsets and lengths are in bytes; whether they fit the drive is for the drive to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The blocks of a range.
    Read {
        /// Start.
        offset: u64,
        /// Length.
        len: u64,
    },
    /// Blocks are stored, each with `oob` bytes beside it by the same operation. They follow the header: all blocks, then
    /// what is beside each.
    Write {
        /// Start.
        offset: u64,
        /// Length of the blocks.
        len: u32,
        /// Bytes beside each block, which replace what was there: 0 leaves none.
        oob: u16,
        /// Backup copies that will soon be of no value (ScalaAFA, section 5.5).
        transient: bool,
    },
    /// A range holds nothing of value any more.
    Trim {
        /// Start.
        offset: u64,
        /// Length.
        len: u64,
    },
    /// Everything that was answered before becomes durable.
    Flush,
    /// Chunks become parity inside the drive.
    Convert(Convert),
    /// What is beside blocks, `oob` bytes of each.
    ReadOob {
        /// Start.
        offset: u64,
        /// How many blocks.
        blocks: u32,
        /// Bytes of each.
        oob: u16,
    },
    /// How the drive has fared, as JSON.
    Status,
    /// What this version has no word for; it is refused.
    Unknown(u8),
}

impl Command {
    /// Bytes that follow the header.
    pub fn payload_bytes(&self) -> usize {
        match *self {
            Self::Write { len, oob, .. } => len as usize + len as usize / 4096 * usize::from(oob),
            _ => 0,
        }
    }
}

/// What stands before the payload of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The host's number for it, which the reply has too.
    pub id: u64,
    /// What the drive is to do, and where.
    pub command: Command,
    /// CRC32C of what follows.
    pub payload_crc: u32,
}

impl Request {
    /// The header of a command that this payload follows.
    pub fn new(id: u64, command: Command, payload: &[u8]) -> Self {
        debug_assert_eq!(payload.len(), command.payload_bytes());
        Self { id, command, payload_crc: crc32c(payload) }
    }

    /// The bytes that go over the socket, integers with their least significant byte first.
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        // Code, flags, bytes beside a block, then offset, length, destination, count, row.
        let (code, flags, oob, offset, len, to, count, row) = match self.command {
            Command::Read { offset, len } => (code::READ, 0, 0, offset, len, 0, 0, 0),
            Command::Write { offset, len, oob, transient } => {
                (code::WRITE, if transient { TRANSIENT } else { 0 }, oob, offset, u64::from(len), 0, 0, 0)
            }
            Command::Trim { offset, len } => (code::TRIM, 0, 0, offset, len, 0, 0, 0),
            Command::Flush => (code::FLUSH, 0, 0, 0, 0, 0, 0, 0),
            Command::Convert(Convert { source, destination, chunk, chunks, row, keeps }) => {
                (code::CONVERT, if keeps { KEEPS } else { 0 }, 0, source, chunk, destination, chunks, row)
            }
            Command::ReadOob { offset, blocks, oob } => (code::READ_OOB, 0, oob, offset, 0, 0, blocks, 0),
            Command::Status => (code::STATUS, 0, 0, 0, 0, 0, 0, 0),
            Command::Unknown(code) => (code, 0, 0, 0, 0, 0, 0, 0),
        };
        Writer::new()
            .put(MAGIC)
            .put(&[code, flags])
            .put(&oob.to_le_bytes())
            .put(&self.id.to_le_bytes())
            .put(&offset.to_le_bytes())
            .put(&len.to_le_bytes())
            .put(&to.to_le_bytes())
            .put(&count.to_le_bytes())
            .put(&[row, 0, 0, 0])
            .put(&self.payload_crc.to_le_bytes())
            .sealed()
    }

    /// From bytes.
    ///
    /// # Errors
    /// See [`WireError`]. What can be answered is none.
    pub fn decode(bytes: &[u8; REQUEST_BYTES]) -> Result<Self, WireError> {
        let mut fields = Reader::checked(bytes, MAGIC)?;
        let (code, flags, oob, id) = (fields.u8(), fields.u8(), fields.u16(), fields.u64());
        let (offset, len, destination) = (fields.u64(), fields.u64(), fields.u64());
        let (count, [row, ..], payload_crc) = (fields.u32(), fields.take::<4>(), fields.u32());
        let command = match code {
            code::READ => Command::Read { offset, len },
            code::WRITE => {
                let len =
                    u32::try_from(len).ok().filter(|&len| len <= MAX_DATA && oob <= MAX_OOB).ok_or_else(|| {
                        let bytes = len.saturating_add((len / 4096).saturating_mul(u64::from(oob)));
                        WireError::TooLong { bytes, limit: u64::from(MAX_DATA) }
                    })?;
                Command::Write { offset, len, oob, transient: flags & TRANSIENT != 0 }
            }
            code::TRIM => Command::Trim { offset, len },
            code::FLUSH => Command::Flush,
            code::CONVERT => {
                let keeps = flags & KEEPS != 0;
                Command::Convert(Convert { source: offset, destination, chunk: len, chunks: count, row, keeps })
            }
            code::READ_OOB => Command::ReadOob { offset, blocks: count, oob },
            code::STATUS => Command::Status,
            other => Command::Unknown(other),
        };
        Ok(Self { id, command, payload_crc })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_command() -> impl Strategy<Value = Command> {
        prop_oneof![
            any::<(u64, u64)>().prop_map(|(offset, len)| Command::Read { offset, len }),
            (any::<u64>(), 0..=MAX_DATA, 0..=MAX_OOB, any::<bool>())
                .prop_map(|(offset, len, oob, transient)| Command::Write { offset, len, oob, transient }),
            any::<(u64, u64)>().prop_map(|(offset, len)| Command::Trim { offset, len }),
            Just(Command::Flush),
            any::<(u64, u64, u64, u32, u8, bool)>().prop_map(|(source, destination, chunk, chunks, row, keeps)| {
                Command::Convert(Convert { source, destination, chunk, chunks, row, keeps })
            }),
            any::<(u64, u32, u16)>().prop_map(|(offset, blocks, oob)| Command::ReadOob { offset, blocks, oob }),
            Just(Command::Status),
            (8_u8..).prop_map(Command::Unknown),
        ]
    }

    proptest! {
        #[test]
        fn requests_round_trip(id: u64, command in any_command(), payload_crc: u32) {
            let request = Request { id, command, payload_crc };
            prop_assert_eq!(Request::decode(&request.encode()), Ok(request));
        }

        #[test]
        fn any_bytes_are_a_request_or_an_error(bytes: [u8; REQUEST_BYTES], sealed: bool) {
            let mut bytes = bytes;
            if sealed {
                bytes[..4].copy_from_slice(MAGIC);
                let checksum = crc32c(&bytes[..REQUEST_BYTES - 4]);
                bytes[REQUEST_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
            }
            if let Ok(request) = Request::decode(&bytes) {
                prop_assert!(request.command.payload_bytes() <= crate::MAX_PAYLOAD as usize);
            }
        }
    }

    #[test]
    fn a_write_that_nobody_would_take_is_refused_before_it_is_read() {
        let long = Command::Write { offset: 0, len: MAX_DATA + 4096, oob: 0, transient: false };
        let wide = Command::Write { offset: 0, len: 4096, oob: MAX_OOB + 1, transient: false };
        for command in [long, wide] {
            let bytes = Request { id: 1, command, payload_crc: 0 }.encode();
            assert!(matches!(Request::decode(&bytes), Err(WireError::TooLong { .. })), "{command:?}");
        }
    }
}
