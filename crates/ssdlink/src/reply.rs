//! What a drive answers: a header of 40 bytes, and after that what was asked for.

use crate::fields::{Reader, Writer};
use crate::{MAX_PAYLOAD, WireError, crc32c};

/// Length of a reply's header.
pub const REPLY_BYTES: usize = 40;

const MAGIC: &[u8; 4] = b"cSRp";

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As asked.
    Done,
    /// A block is not what was written there, and cannot be had.
    Medium,
    /// The range is not within the drive, not of whole blocks, or too long.
    Range,
    /// The connection has no claim: it may only look.
    Refused,
    /// The drive has no such command.
    Unsupported,
    /// The file system below the drive is full.
    NoSpace,
    /// The system below the drive failed in another way; [`Reply::value`] is its error number.
    Failed,
}

impl Status {
    /// All of them, by their numbers.
    pub const ALL: [Self; 7] =
        [Self::Done, Self::Medium, Self::Range, Self::Refused, Self::Unsupported, Self::NoSpace, Self::Failed];
}

/// What stands before the payload of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The number that the host gave the request.
    pub id: u64,
    /// Whether the request succeeded, and if not, why.
    pub status: Status,
    /// Of a conversion, the blocks that were read and written inside; of a failure, the system's error number.
    pub value: u64,
    /// Bytes that follow: blocks, what is beside them, or text.
    pub payload_bytes: u32,
    /// CRC32C of the bytes that follow.
    pub payload_crc: u32,
}

impl Reply {
    /// The header of an answer that this payload follows.
    pub fn new(id: u64, status: Status, value: u64, payload: &[u8]) -> Self {
        Self { id, status, value, payload_bytes: payload.len() as u32, payload_crc: crc32c(payload) }
    }

    /// The bytes that go over the socket, integers with their least significant byte first.
    pub fn encode(&self) -> [u8; REPLY_BYTES] {
        let status = Status::ALL.iter().position(|one| *one == self.status).expect("all are listed") as u8;
        Writer::new()
            .put(MAGIC)
            .put(&[status, 0, 0, 0])
            .put(&self.id.to_le_bytes())
            .put(&self.value.to_le_bytes())
            .put(&self.payload_bytes.to_le_bytes())
            .put(&self.payload_crc.to_le_bytes())
            .sealed()
    }

    /// From bytes.
    ///
    /// # Errors
    /// See [`WireError`].
    pub fn decode(bytes: &[u8; REPLY_BYTES]) -> Result<Self, WireError> {
        let mut fields = Reader::checked(bytes, MAGIC)?;
        let [status, ..] = fields.take::<4>();
        let (id, value, payload_bytes, payload_crc) = (fields.u64(), fields.u64(), fields.u32(), fields.u32());
        let status = *Status::ALL.get(usize::from(status)).ok_or(WireError::Meaning { what: "a reply's status" })?;
        if payload_bytes > MAX_PAYLOAD {
            return Err(WireError::TooLong { bytes: payload_bytes.into(), limit: MAX_PAYLOAD.into() });
        }
        Ok(Self { id, status, value, payload_bytes, payload_crc })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn replies_round_trip(id: u64, status in 0..Status::ALL.len(), value: u64, bytes in 0..=MAX_PAYLOAD, crc: u32) {
            let reply = Reply { id, status: Status::ALL[status], value, payload_bytes: bytes, payload_crc: crc };
            prop_assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
        }

        #[test]
        fn any_bytes_are_a_reply_or_an_error(bytes: [u8; REPLY_BYTES]) {
            let mut bytes = bytes;
            bytes[..4].copy_from_slice(MAGIC);
            let checksum = crc32c(&bytes[..REPLY_BYTES - 4]);
            bytes[REPLY_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
            if let Ok(reply) = Reply::decode(&bytes) {
                prop_assert!(reply.payload_bytes <= MAX_PAYLOAD);
            }
        }
    }
}
