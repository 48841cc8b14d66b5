//! The handshake: the host says who it is and what it wants, the drive what it is and whether the host may.

use cygnus_types::Uuid;

use crate::WireError;
use crate::fields::{Reader, Writer};

/// The version of the protocol. Another one is refused, in words that both understand: the first twelve bytes of the
/// welcome never change.
pub const VERSION: u16 = 1;

/// Length of a [`Hello`].
pub const HELLO_BYTES: usize = 40;
/// Length of a [`Welcome`].
pub const WELCOME_BYTES: usize = 88;
/// Most bytes of the name of a drive's model.
pub const MODEL_BYTES: usize = 32;

const HELLO_MAGIC: &[u8; 8] = b"CYGSSD\r\n";
const WELCOME_MAGIC: &[u8; 8] = b"CYGDRV\r\n";

const CLAIMS: u16 = 1;

const CONVERTS: u16 = 1;
const TRIMS: u16 = 2;

/// What a host says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version that the host speaks.
    pub version: u16,
    /// Whether it wants to write, alone. Without a claim it may only look.
    pub claims: bool,
    /// Which host it is: a number that it has made up. The same host that comes again takes its claim over from its
    /// earlier connection, which ends.
    pub host: [u8; 16],
}

impl Hello {
    /// The bytes that go over the socket, integers with their least significant byte first.
    pub fn encode(&self) -> [u8; HELLO_BYTES] {
        let flags = if self.claims { CLAIMS } else { 0 };
        let out = Writer::new().put(HELLO_MAGIC).put(&self.version.to_le_bytes()).put(&flags.to_le_bytes());
        out.put(&self.host).sealed()
    }

    /// From bytes.
    ///
    /// # Errors
    /// See [`WireError`].
    pub fn decode(bytes: &[u8; HELLO_BYTES]) -> Result<Self, WireError> {
        let mut fields = Reader::checked(bytes, HELLO_MAGIC)?;
        let (version, flags, host) = (fields.u16(), fields.u16(), fields.take());
        Ok(Self { version, claims: flags & CLAIMS != 0, host })
    }
}

/// Whether a host may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Admitted,
    /// Another host has claimed the drive.
    Claimed,
    /// The drive speaks another version: [`Welcome::version`].
    Version,
    /// There are too many connections.
    Crowded,
}

impl Admission {
    const ALL: [Self; 4] = [Self::Admitted, Self::Claimed, Self::Version, Self::Crowded];
}

/// What a drive answers: it is what "identify" is elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version that the drive speaks.
    pub version: u16,
    /// Whether the host may; if not, the drive hangs up.
    pub admission: Admission,
    /// Which drive it is, for good.
    pub drive: Uuid,
    /// Capacity in bytes, whole blocks of 4 KiB.
    pub size: u64,
    /// Most bytes beside each block; 0 if there is no room for any.
    pub oob_bytes: u16,
    /// Whether it computes parity inside.
    pub converts: bool,
    /// Whether it gains by trims.
    pub trims: bool,
    /// Requests of a connection that it works on at a time. It takes no further ones from the socket meanwhile.
    pub depth: u32,
    /// The model that its wear is told by.
    pub model: String,
}

impl Welcome {
    /// As bytes. A name that is too long is cut.
    pub fn encode(&self) -> [u8; WELCOME_BYTES] {
        let flags = if self.converts { CONVERTS } else { 0 } | if self.trims { TRIMS } else { 0 };
        let mut model = [0; MODEL_BYTES];
        let len = self.model.floor_char_boundary(MODEL_BYTES);
        model[..len].copy_from_slice(&self.model.as_bytes()[..len]);
        let admission = Admission::ALL.iter().position(|one| *one == self.admission).expect("all are listed") as u16;
        Writer::new()
            .put(WELCOME_MAGIC)
            .put(&self.version.to_le_bytes())
            .put(&admission.to_le_bytes())
            .put(&self.oob_bytes.to_le_bytes())
            .put(&flags.to_le_bytes())
            .put(&self.drive.0)
            .put(&self.size.to_le_bytes())
            .put(&self.depth.to_le_bytes())
            .put(&model)
            .sealed()
    }

    /// From bytes.
    ///
    /// # Errors
    /// See [`WireError`].
    pub fn decode(bytes: &[u8; WELCOME_BYTES]) -> Result<Self, WireError> {
        let mut fields = Reader::checked(bytes, WELCOME_MAGIC)?;
        let (version, admission, oob_bytes, flags) = (fields.u16(), fields.u16(), fields.u16(), fields.u16());
        let (drive, size, depth) = (Uuid(fields.take()), fields.u64(), fields.u32());
        let model: [u8; MODEL_BYTES] = fields.take();
        let admission = *Admission::ALL
            .get(usize::from(admission))
            .ok_or(WireError::Meaning { what: "the answer to a greeting" })?;
        let len = model.iter().position(|&byte| byte == 0).unwrap_or(MODEL_BYTES);
        let model = std::str::from_utf8(&model[..len]).map_err(|_| WireError::Meaning { what: "the model's name" })?;
        if !model.chars().all(|c| c.is_ascii_graphic()) {
            return Err(WireError::Meaning { what: "the model's name" });
        }
        if oob_bytes > crate::MAX_OOB || !size.is_multiple_of(4096) {
            return Err(WireError::Meaning { what: "the drive's size" });
        }
        let (converts, trims) = (flags & CONVERTS != 0, flags & TRIMS != 0);
        Ok(Self { version, admission, drive, size, oob_bytes, converts, trims, depth, model: model.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn handshakes_round_trip(
            version: u16, claims: bool, host: [u8; 16], admission in 0_usize..4, drive: [u8; 16], blocks in 0_u64..1 << 52,
            oob_bytes in 0..=crate::MAX_OOB, converts: bool, trims: bool, depth: u32, model in "[a-z0-9-]{0,32}",
        ) {
            let hello = Hello { version, claims, host };
            prop_assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
            let (admission, drive, size) = (Admission::ALL[admission], Uuid(drive), blocks * 4096);
            let welcome = Welcome { version, admission, drive, size, oob_bytes, converts, trims, depth, model };
            prop_assert_eq!(Welcome::decode(&welcome.encode()), Ok(welcome));
        }

        #[test]
        fn a_changed_byte_is_noticed(host: [u8; 16], at in 0..HELLO_BYTES, change in 1_u8..) {
            let mut bytes = Hello { version: VERSION, claims: true, host }.encode();
            bytes[at] ^= change;
            prop_assert!(Hello::decode(&bytes).is_err());
        }
    }

    #[test]
    fn another_protocol_is_told_apart() {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..18].copy_from_slice(b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!(Hello::decode(&bytes), Err(WireError::Magic));
    }
}
