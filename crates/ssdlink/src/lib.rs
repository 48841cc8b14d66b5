//! The protocol between a software SSD and its host: what the bytes mean, where drives are found, and how a host connects.
//!
//! `docs/ssd-protocol.md` describes the protocol for outsiders. Decoding does no I/O, allocates nothing and takes any bytes:
//! - [`Hello`] and [`Welcome`]: the handshake, in which the drive says what it is.
//! - [`Request`] and [`Reply`]: what is asked and answered afterwards, by number and in any order.
//!
//! [`Address`] says where a drive is, [`Stream`] is a connection to it, and [`dial`] makes one.

mod address;
mod dial;
mod fields;
mod hello;
mod random;
mod reply;
mod request;
mod stream;

pub use address::{Address, AddressError};
pub use dial::{DialError, dial, fetch_status};
pub use hello::{Admission, HELLO_BYTES, Hello, MODEL_BYTES, VERSION, WELCOME_BYTES, Welcome};
pub use random::random_bytes;
pub use reply::{REPLY_BYTES, Reply, Status};
pub use request::{Command, Convert, REQUEST_BYTES, Request};
pub use stream::Stream;

/// The checksum of everything that goes over the wire: CRC32C.
pub use cygnus_parity::checksum::crc32c;

/// Most bytes of blocks that one request reads or writes. A host splits what is longer.
pub const MAX_DATA: u32 = 1 << 20;

/// Most bytes beside a block of 4 KiB that the protocol can carry.
pub const MAX_OOB: u16 = 256;

/// Most bytes that follow any header: the blocks of one request and what is beside them.
pub const MAX_PAYLOAD: u32 = MAX_DATA + MAX_DATA / 4096 * MAX_OOB as u32;

/// Bytes that cannot be what they should be. The connection ends: nobody knows where the next header begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It does not begin as it should: the peer speaks something else.
    #[error("this is not the software SSD protocol: check the address")]
    Magic,
    /// The checksum of a header or of what follows it does not fit.
    #[error("bytes were changed on the way: the checksum is {found:#010x} and should be {expected:#010x}")]
    Checksum {
        /// As computed.
        found: u32,
        /// As sent.
        expected: u32,
    },
    /// More is to follow than either side takes.
    #[error("{bytes} bytes are to follow a header, and at most {limit} may")]
    TooLong {
        /// As announced.
        bytes: u64,
        /// What is allowed.
        limit: u64,
    },
    /// A number without a meaning.
    #[error("{what} has no meaning: the peer speaks another version")]
    Meaning {
        /// Which field.
        what: &'static str,
    },
}

/// Compares a payload with the checksum in its header.
///
/// # Errors
/// If they do not fit.
pub fn check_payload(payload: &[u8], expected: u32) -> Result<(), WireError> {
    let found = crc32c(payload);
    if found == expected { Ok(()) } else { Err(WireError::Checksum { found, expected }) }
}
