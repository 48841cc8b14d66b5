//! Sizes in bytes as people write them.

use std::fmt;
use std::str::FromStr;

use crate::BLOCK_SHIFT;

/// A number of bytes; parses and shows units.
///
/// `KiB MiB GiB TiB PiB EiB` are powers of 1024 and `kB MB GB TB PB EB` powers of 1000, as the standards say; a bare
/// letter (`4M`) is the power of 1024, as fio, qemu and lvm take it. Case does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// `n` KiB.
    pub const fn kib(n: u64) -> ByteSize {
        ByteSize(n << 10)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> ByteSize {
        ByteSize(n << 20)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> ByteSize {
        ByteSize(n << 30)
    }

    /// `n` TiB.
    pub const fn tib(n: u64) -> ByteSize {
        ByteSize(n << 40)
    }

    /// The bytes of `blocks` 4 KiB blocks.
    pub const fn of_blocks(blocks: u64) -> ByteSize {
        ByteSize(blocks << BLOCK_SHIFT)
    }

    /// Whole 4 KiB blocks within this size.
    pub const fn blocks(self) -> u64 {
        self.0 >> BLOCK_SHIFT
    }

    /// The size as a plain number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSizeError {
    /// There is no number before the unit.
    #[error("\"{0}\" is not a size: write a number and a unit, for example 512, 4KiB or 1.5TiB")]
    NotANumber(String),
    /// The unit is not one of those known.
    #[error(
        "\"{unit}\" in \"{text}\" is not a unit of size: use B, KiB, MiB, GiB, TiB, PiB, EiB (or kB, MB, GB, TB, PB, EB)"
    )]
    UnknownUnit {
        /// The text that was to be a size.
        text: String,
        /// The part after the number.
        unit: String,
    },
    /// The fraction does not come to whole bytes.
    #[error("\"{0}\" is not a whole number of bytes")]
    NotWhole(String),
    /// The size exceeds 2^64 - 1 bytes.
    #[error("\"{0}\" is too large: a size is less than 16 EiB")]
    TooLarge(String),
}

impl FromStr for ByteSize {
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<ByteSize, ParseSizeError> {
        let trimmed = text.trim();
        let number_len = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(number_len);
        let unit = unit.trim_start();
        let scale = scale_of(unit)
            .ok_or_else(|| ParseSizeError::UnknownUnit { text: text.to_owned(), unit: unit.to_owned() })?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let well_formed = !whole.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit()) && !number.ends_with('.');
        if !well_formed {
            return Err(ParseSizeError::NotANumber(text.to_owned()));
        }
        let too_large = || ParseSizeError::TooLarge(text.to_owned());
        let whole: u64 = whole.parse().map_err(|_| too_large())?;
        let whole = whole.checked_mul(scale).ok_or_else(too_large)?;
        let fraction = scaled_fraction(fraction, scale).ok_or_else(|| ParseSizeError::NotWhole(text.to_owned()))?;
        whole.checked_add(fraction).map(ByteSize).ok_or_else(too_large)
    }
}

fn scale_of(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if unit.is_empty() || unit == "b" {
        return Some(1);
    }
    let power = "kmgtpe".find(unit.chars().next()?)? as u32 + 1;
    match &unit[1..] {
        "" | "ib" => Some(1 << (10 * power)),
        "b" => Some(1000_u64.pow(power)),
        _ => None,
    }
}

/// `0.digits * scale` in exact integers, or `None` when that is no whole number. Eighteen digits are more than any
/// fraction of a unit that comes to whole bytes needs in practice, and keep the product within 128 bits.
fn scaled_fraction(digits: &str, scale: u64) -> Option<u64> {
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    if digits.len() > 18 {
        return None;
    }
    let numerator = u128::from(digits.parse::<u64>().ok()?) * u128::from(scale);
    let denominator = 10_u128.pow(digits.len() as u32);
    (numerator % denominator == 0).then_some((numerator / denominator) as u64)
}

impl fmt::Display for ByteSize {
    /// In the largest power of 1024 not above the size, with at most two decimals: `4 KiB`, `1.5 TiB`. Rounded where
    /// two decimals do not suffice, so not a way to store a size.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let power = self.0.checked_ilog2().unwrap_or(0) / 10;
        let value = self.0 as f64 / (1_u64 << (10 * power)) as f64;
        let mut number = format!("{value:.2}");
        if number.contains('.') {
            number.truncate(number.trim_end_matches('0').trim_end_matches('.').len());
        }
        f.pad(&format!("{number} {}", UNITS[power as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<u64, ParseSizeError> {
        text.parse::<ByteSize>().map(ByteSize::bytes)
    }

    #[test]
    fn parses_what_people_write() {
        assert_eq!(parsed("512"), Ok(512));
        assert_eq!(parsed("1GiB"), Ok(1 << 30));
        assert_eq!(parsed("4MiB"), Ok(4 << 20));
        assert_eq!(parsed("4m"), Ok(4 << 20));
        assert_eq!(parsed("10GB"), Ok(10_000_000_000));
        assert_eq!(parsed("1.5TiB"), Ok(3 << 39));
        assert_eq!(parsed(" 64 KiB "), Ok(65536));
        assert_eq!(parsed("0.5k"), Ok(512));
        assert_eq!(parsed("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn refuses_the_rest_with_a_reason() {
        assert!(matches!(parsed(""), Err(ParseSizeError::NotANumber(_))));
        assert!(matches!(parsed("GiB"), Err(ParseSizeError::NotANumber(_))));
        assert!(matches!(parsed("1."), Err(ParseSizeError::NotANumber(_))));
        assert!(matches!(parsed("1.2.3k"), Err(ParseSizeError::NotANumber(_))));
        assert!(matches!(parsed("-1"), Err(ParseSizeError::UnknownUnit { .. })));
        assert!(matches!(parsed("5 parsecs"), Err(ParseSizeError::UnknownUnit { .. })));
        assert!(matches!(parsed("1.5"), Err(ParseSizeError::NotWhole(_))));
        assert!(matches!(parsed("16EiB"), Err(ParseSizeError::TooLarge(_))));
        assert!(matches!(parsed("99999999999999999999"), Err(ParseSizeError::TooLarge(_))));
    }

    #[test]
    fn shown_in_powers_of_1024() {
        assert_eq!(ByteSize(0).to_string(), "0 B");
        assert_eq!(ByteSize(100).to_string(), "100 B");
        assert_eq!(ByteSize::kib(4).to_string(), "4 KiB");
        assert_eq!(ByteSize(3 << 39).to_string(), "1.5 TiB");
        assert_eq!(ByteSize(u64::MAX).to_string(), "16 EiB");
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails_without_panic(text in "\\PC{0,24}") {
            let _ = parsed(&text);
        }

        #[test]
        fn numerals_with_units_never_panic(text in "[0-9]{0,22}\\.?[0-9]{0,22}[kKmMgGtTpPeE]?[iI]?[bB]?") {
            let _ = parsed(&text);
        }

        #[test]
        fn whole_units_are_exact_or_too_large(n in any::<u64>(), power in 1_u32..7) {
            let unit = ["kB", "MB", "GB", "TB", "PB", "EB"][power as usize - 1];
            for (text, bytes) in [
                (format!("{n}{unit}"), u128::from(n) * 1000_u128.pow(power)),
                (format!("{n}{}iB", &unit[..1]), u128::from(n) << (10 * power)),
            ] {
                match u64::try_from(bytes) {
                    Ok(bytes) => prop_assert_eq!(parsed(&text), Ok(bytes)),
                    Err(_) => prop_assert_eq!(parsed(&text), Err(ParseSizeError::TooLarge(text))),
                }
            }
        }

        #[test]
        fn whole_units_round_trip(n in 1_u64..1024, power in 0_u32..6) {
            let size = ByteSize(n << (10 * power));
            prop_assert_eq!(size.to_string().parse::<ByteSize>(), Ok(size));
        }
    }
}
