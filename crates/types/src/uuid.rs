//! Names that need no authority: arrays and members.

use std::fmt;
use std::str::FromStr;

/// A universally unique identifier (RFC 9562), kept as its 16 bytes in text order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// A version 4 identifier made of 128 random bits, of which the version and variant take six. The randomness is
    /// the caller's: the runtime's generator in the engine, the operating system's in the command line.
    pub const fn from_random(high: u64, low: u64) -> Uuid {
        let mut bytes = (((high as u128) << 64) | low as u128).to_be_bytes();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Uuid(bytes)
    }

    /// The identifier folded to 64 bits, for structures too small or too many to carry all of it.
    pub const fn tag(self) -> u64 {
        let whole = u128::from_be_bytes(self.0);
        (whole >> 64) as u64 ^ whole as u64
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a UUID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a UUID: write 32 hexadecimal digits, with or without dashes")]
pub struct ParseUuidError(String);

impl FromStr for Uuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Uuid, ParseUuidError> {
        let digits: String = text.chars().filter(|&c| c != '-').collect();
        let well_formed = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let whole = well_formed.then(|| u128::from_str_radix(&digits, 16).ok()).flatten();
        whole.map(|w| Uuid(w.to_be_bytes())).ok_or_else(|| ParseUuidError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        let uuid = Uuid::from_random(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210);
        assert_eq!(uuid.to_string(), "01234567-89ab-4def-bedc-ba9876543210");
        assert_eq!(uuid.to_string().parse(), Ok(uuid));
        assert_eq!("0123456789ab4defbedcba9876543210".parse(), Ok(uuid));
        assert!("".parse::<Uuid>().is_err());
        assert!("+1234567-89ab-4def-bedc-ba9876543210".parse::<Uuid>().is_err());
        assert!("é123456789ab4defbedcba987654321".parse::<Uuid>().is_err());
    }

    #[test]
    fn the_tag_depends_on_every_bit() {
        let uuid = Uuid::from_random(1, 2);
        for bit in 0..128 {
            let mut other = uuid;
            other.0[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(other.tag(), uuid.tag());
        }
    }
}
