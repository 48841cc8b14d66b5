//! What a segment is protected by: what stands in the header of each of its stripes, and in the table of segments.
//!
//! All segments of a group have the same columns, one on each member. Which of these hold data and which redundancy, how many
//! may be lost, and what a lost one is restored from follows from the segment's protection, and is answered here and by
//! [`Rotation`] alone.
//!
//! On disk it is a byte. The upper four bits say of which kind it is, the lower four how many columns are redundant. A kind
//! that this program does not know was written by a newer one: nothing may be guessed of such a stripe, and it is not torn.

use cygnus_types::BLOCK;

use crate::constants::{MAX_PARITY, MAX_SEGMENTS, MAX_WIDTH};
use crate::geometry::Rotation;

/// Upper bits of full stripes.
const FULL_STRIPE: u8 = 1 << 4;
/// Bits of the number of redundant columns.
const COLUMNS: u8 = 0xf;

/// What a segment is protected by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Stripes are written at once, data and parity. With one data column all columns hold the same.
    FullStripe {
        /// Parity columns, m; with none, nothing that is lost can be restored.
        parity: u8,
    },
}

/// A protection that this program does not know, as its byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its segment is protected in a way ({0:#04x}) that this program does not know: use a newer version")]
pub struct UnknownProtection(pub u8);

impl Protection {
    /// As it stands on disk; never 0, which stands for a segment that was never written.
    #[inline]
    pub const fn to_byte(self) -> u8 {
        match self {
            Protection::FullStripe { parity } => FULL_STRIPE | parity,
        }
    }

    /// The protection of this byte.
    ///
    /// # Errors
    /// When this program knows none.
    pub const fn from_byte(byte: u8) -> Result<Self, UnknownProtection> {
        let parity = byte & COLUMNS;
        match byte & !COLUMNS {
            FULL_STRIPE if parity <= MAX_PARITY => Ok(Protection::FullStripe { parity }),
            _ => Err(UnknownProtection(byte)),
        }
    }

    /// Columns that may be lost, any of them, and everything can be restored.
    #[inline]
    pub const fn losses(self) -> usize {
        match self {
            Protection::FullStripe { parity } => parity as usize,
        }
    }

    /// Which of `width` columns hold what, redundancy from `parity_start` on. `None` if these are too few for any data.
    #[inline]
    pub const fn columns(self, width: u8, parity_start: u8) -> Option<Rotation> {
        let Protection::FullStripe { parity } = self;
        if parity < width { Some(Rotation { data: width - parity, parity, parity_start }) } else { None }
    }
}

/// A page of a checkpoint's table of segments: a byte for each frame of addresses.
///
/// Only pages are written in which some segment is protected otherwise than the array as a whole says.
pub struct ProtectionPage;

/// Frames of which one page tells.
pub const PROTECTION_PAGE_FRAMES: u32 = BLOCK as u32;

impl ProtectionPage {
    /// The page of this number, given what each of its frames is protected by; `None`: as the array as a whole is.
    pub fn encode(number: u32, of: impl Fn(u32) -> Option<Protection>) -> Box<[u8; BLOCK]> {
        let mut bytes = Box::new([0; BLOCK]);
        for (byte, frame) in bytes.iter_mut().zip(number * PROTECTION_PAGE_FRAMES..) {
            *byte = of(frame).map_or(0, Protection::to_byte);
        }
        bytes
    }

    /// What it says of frames: those of which it says something.
    ///
    /// # Errors
    /// When it names a protection that this program does not know.
    pub fn decode(block: &[u8], number: u64) -> Result<Vec<(u32, Protection)>, UnknownProtection> {
        let first = number.checked_mul(PROTECTION_PAGE_FRAMES.into()).and_then(|first| u32::try_from(first).ok());
        // Beyond all frames there is nothing to say.
        let Some(first) = first else { return Ok(Vec::new()) };
        let frames = block.iter().zip(first..=u32::MAX).filter(|&(&byte, _)| byte != 0);
        frames.map(|(&byte, frame)| Ok((frame, Protection::from_byte(byte)?))).collect()
    }
}

const _: () = {
    assert!(MAX_PARITY <= COLUMNS && MAX_WIDTH < u8::MAX);
    assert!(FULL_STRIPE != 0, "0 says nothing of a frame");
    assert!(MAX_SEGMENTS < u32::MAX - PROTECTION_PAGE_FRAMES);
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Role;
    use proptest::prelude::*;

    fn any_protection() -> impl Strategy<Value = Protection> {
        (0..=MAX_PARITY).prop_map(|parity| Protection::FullStripe { parity })
    }

    #[test]
    fn each_byte_is_one_protection_or_unknown() {
        let known: Vec<u8> = (0..=u8::MAX).filter(|&byte| Protection::from_byte(byte).is_ok()).collect();
        assert_eq!(known, [0x10, 0x11, 0x12, 0x13]);
        for byte in 0..=u8::MAX {
            match Protection::from_byte(byte) {
                Ok(protection) => assert_eq!(protection.to_byte(), byte),
                Err(unknown) => assert!(unknown.to_string().contains(&format!("({byte:#04x})")), "{unknown}"),
            }
        }
    }

    proptest! {
        #[test]
        fn pages_say_what_was_put_into_them(number in 0..64_u32, some in prop::collection::btree_map(0..4096_u32, any_protection(), 0..50)) {
            let first = number * PROTECTION_PAGE_FRAMES;
            let page = ProtectionPage::encode(number, |frame| some.get(&(frame - first)).copied());
            let decoded = ProtectionPage::decode(&page[..], number.into()).unwrap();
            prop_assert_eq!(decoded, some.into_iter().map(|(at, of)| (first + at, of)).collect::<Vec<_>>());
        }

        #[test]
        fn no_page_panics_and_an_unknown_byte_is_named(
            mut bytes in prop::collection::vec(any::<u8>(), BLOCK), number: u64, at in 0..BLOCK, all: bool,
        ) {
            if !all {
                bytes.fill(0);
                bytes[at] = 0x47;
                prop_assert_eq!(ProtectionPage::decode(&bytes, number % 64), Err(UnknownProtection(0x47)));
            }
            // From the last frame that a number has, and beyond.
            for number in [number, u64::from(u32::MAX) / u64::from(PROTECTION_PAGE_FRAMES), u64::MAX] {
                let _ = ProtectionPage::decode(&bytes, number);
            }
        }

        /// The questions that readers ask, against each other.
        #[test]
        fn columns_are_data_or_redundant_and_as_many_may_be_lost_as_are_redundant(
            protection in any_protection(), width in 1..=MAX_WIDTH, start: prop::sample::Index,
        ) {
            let Some(of) = protection.columns(width, start.index(usize::from(width)) as u8) else {
                prop_assert!(protection.losses() >= usize::from(width));
                return Ok(());
            };
            prop_assert_eq!(of.protection(), protection);
            prop_assert_eq!(of.width(), width);
            prop_assert_eq!(of.losses(), protection.losses());
            prop_assert_eq!(of.needed() + of.losses(), usize::from(width));
            let physical: Vec<u8> = of.physical_columns().collect();
            let mut sorted = physical.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..width).collect::<Vec<_>>(), "each column has one number");
            for (logical, &column) in physical.iter().enumerate() {
                prop_assert_eq!(of.logical(column), logical);
                prop_assert_eq!(of.physical(logical as u8), column);
                prop_assert_eq!(of.is_data(column), logical < of.needed());
                let is_data = matches!(of.role(column), Role::Data(_));
                prop_assert_eq!(of.is_data(column), is_data);
                // What is lost is restored from the others, and they suffice if anything may be lost.
                let others: Vec<u8> = of.others(column).collect();
                prop_assert!(!others.contains(&column) && others.len() + 1 == usize::from(width));
                prop_assert_eq!(others.len() >= of.needed(), of.losses() > 0);
            }
            // Any that are left when as many are lost as may be.
            prop_assert!(of.restores(of.needed()) && of.needed() > 0 && !of.restores(of.needed() - 1));
        }
    }
}
