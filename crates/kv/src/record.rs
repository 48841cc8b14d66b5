//! A record: a checksum, what it says, a key, and a value unless it deletes.
//!
//! The checksum begins with the store's salt and the place of the record, so that bytes which a client has stored as a value, or which lie there from
//! an earlier time, are never taken for a record.

use cygnus_parity::checksum::crc32c;

/// Bytes of the longest key.
pub const MAX_KEY: usize = 4096;
/// Bytes of the longest value.
pub const MAX_VALUE: usize = 1 << 20;

/// Checksum (4 bytes), length of the key (2), kind (1), 0 (1), length of the value (4), 0 (4), epoch (8), all little-endian.
const HEADER: usize = 24;
/// Bytes of the longest record.
pub(crate) const LONGEST: usize = HEADER + MAX_KEY + MAX_VALUE;
/// Bytes of the longest record that deletes.
pub(crate) const LONGEST_DELETION: u64 = (HEADER + MAX_KEY) as u64;

/// Where a record is, and of which store.
#[derive(Clone, Copy)]
pub(crate) struct Seat {
    pub(crate) salt: u64,
    /// Byte of the volume at which it begins.
    pub(crate) offset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// The store's epoch when it was written.
    pub(crate) epoch: u64,
    pub(crate) key: &'a [u8],
    /// `None`: the key is deleted.
    pub(crate) value: Option<&'a [u8]>,
}

/// What bytes are the beginning of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded<'a> {
    /// A record of so many bytes.
    Record(Record<'a>, usize),
    /// Perhaps of a record; more bytes would tell.
    Short,
    /// Of none.
    Nothing,
}

fn checksum(bytes: &[u8], Seat { salt, offset }: Seat) -> u32 {
    let seat = [salt.to_le_bytes(), offset.to_le_bytes(), u64::from(crc32c(bytes)).to_le_bytes()];
    crc32c(seat.as_flattened())
}

impl<'a> Record<'a> {
    /// Bytes that it takes.
    pub(crate) fn len(&self) -> usize {
        HEADER + self.key.len() + self.value.map_or(0, <[u8]>::len)
    }

    pub(crate) fn encode(&self, seat: Seat) -> Vec<u8> {
        let value = self.value.unwrap_or_default();
        let mut bytes = Vec::with_capacity(self.len());
        bytes.extend([0; 4]);
        bytes.extend((self.key.len() as u16).to_le_bytes());
        bytes.extend([u8::from(self.value.is_some()), 0]);
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.epoch.to_le_bytes());
        bytes.extend(self.key);
        bytes.extend(value);
        let sum = checksum(&bytes[4..], seat);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What the bytes at a seat begin with.
    pub(crate) fn decode(bytes: &'a [u8], seat: Seat) -> Decoded<'a> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Decoded::Short };
        let key_len = usize::from(u16::from_le_bytes([header[4], header[5]]));
        let value_len = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let has_value = header[6] == 1;
        let is_sound = (1..=MAX_KEY).contains(&key_len)
            && value_len <= MAX_VALUE
            && (has_value || header[6] == 0 && value_len == 0);
        if !is_sound {
            return Decoded::Nothing;
        }
        let len = HEADER + key_len + value_len;
        if bytes.len() < len {
            return Decoded::Short;
        }
        if header[..4] != checksum(&bytes[4..len], seat).to_le_bytes() {
            return Decoded::Nothing;
        }
        let (key, value) = rest[..key_len + value_len].split_at(key_len);
        let epoch = u64::from_le_bytes(*header.last_chunk().expect("the header is longer"));
        Decoded::Record(Record { epoch, key, value: has_value.then_some(value) }, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEAT: Seat = Seat { salt: 7, offset: 4096 };

    proptest! {
        #[test]
        fn arbitrary_bytes_are_no_record(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(!matches!(Record::decode(&bytes, SEAT), Decoded::Record(..)));
        }

        #[test]
        fn a_record_is_what_was_encoded_and_nowhere_else(
            epoch: u64,
            key in proptest::collection::vec(any::<u8>(), 1..40),
            value in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..200)),
            cut: proptest::sample::Index,
            flipped: proptest::sample::Index,
        ) {
            let record = Record { epoch, key: &key, value: value.as_deref() };
            let mut bytes = record.encode(SEAT);
            let len = bytes.len();
            prop_assert_eq!(Record::decode(&bytes, SEAT), Decoded::Record(record, len));
            prop_assert_eq!(Record::decode(&bytes[..cut.index(len)], SEAT), Decoded::Short);
            for other in [Seat { salt: 8, ..SEAT }, Seat { offset: 4097, ..SEAT }] {
                prop_assert_eq!(Record::decode(&bytes, other), Decoded::Nothing);
            }
            let bit = flipped.index(len * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!matches!(Record::decode(&bytes, SEAT), Decoded::Record(..)));
        }
    }
}
