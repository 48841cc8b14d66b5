//! The values of configuration files: sizes, spans and percentages as people write them.

use cygnus_types::{ByteSize, Nanos, ParseSizeError};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use std::fmt;
use std::str::FromStr;

/// A size in bytes: `4096`, `"4KiB"`, `"1.5GiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A span of time: `90`, `2.5` (seconds), `"250us"`, `"10min"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Nanos);

/// A percentage from 0 to 100, fractions allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

impl Percent {
    /// The share in [0, 1].
    pub fn share(self) -> f64 {
        self.0 / 100.0
    }
}

impl From<ByteSize> for Size {
    fn from(size: ByteSize) -> Size {
        Size(size.0)
    }
}

/// A text or a number in a file that is no such value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// No size.
    #[error(transparent)]
    Size(#[from] ParseSizeError),
    /// A size that is no whole number.
    #[error("{0} is not a whole number of bytes")]
    PartOfAByte(f64),
    /// No number, or one without a known unit of time.
    #[error("\"{0}\" is no span of time: write a number and ns, us, ms, s, min, h or d")]
    Unit(String),
    /// A unit of time without a number.
    #[error("\"{0}\" is no span of time: write 90s or 250us")]
    Span(String),
    /// More time than can be counted.
    #[error("\"{0}\" is longer than ten years: write a shorter span")]
    TooLong(String),
    /// A number of seconds that is negative, or more than can be counted.
    #[error("{0} seconds is no span of time: write 0 to 315360000, which is ten years")]
    Seconds(f64),
    /// A number outside of 0 to 100.
    #[error("{0} is not a percentage from 0 to 100")]
    Percentage(f64),
    /// No number of percent.
    #[error("\"{0}\" is not a percentage, write 70 or \"70%\"")]
    NoPercentage(String),
}

impl FromStr for Span {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Span, ValueError> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let scale = match unit.trim_start() {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "" | "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86_400e9,
            _ => return Err(ValueError::Unit(text.into())),
        };
        let number: f64 = number.parse().map_err(|_| ValueError::Span(text.into()))?;
        nanos(number * scale).ok_or_else(|| ValueError::TooLong(text.into()))
    }
}

/// The longest span that is read: ten years. The clock of a run counts 584 years of nanoseconds, so sums of some spans stay countable.
const LONGEST: f64 = 3650.0 * 86_400e9;

fn nanos(nanos: f64) -> Option<Span> {
    (0.0..=LONGEST).contains(&nanos).then_some(Span(Nanos(nanos.round_ties_even() as u64)))
}

/// Reads whatever the file holds, a text or a number.
struct Scalar<T> {
    expected: &'static str,
    of_text: fn(&str) -> Result<T, ValueError>,
    of_number: fn(f64) -> Result<T, ValueError>,
    of_integer: fn(u64) -> Result<T, ValueError>,
}

impl<T> Visitor<'_> for Scalar<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.of_text)(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        (self.of_integer)(number).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom(format!("{number} is negative: write {}", self.expected))),
        }
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.of_number)(number).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar {
            expected: "a size such as 4096 or \"4KiB\"",
            of_text: |text| Ok(text.parse::<ByteSize>()?.into()),
            of_number: |number| Err(ValueError::PartOfAByte(number)),
            of_integer: |bytes| Ok(Size(bytes)),
        })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar {
            expected: "a span of time such as 90 (seconds) or \"250us\"",
            of_text: str::parse,
            of_number: |seconds| nanos(seconds * 1e9).ok_or(ValueError::Seconds(seconds)),
            of_integer: |seconds| nanos(seconds as f64 * 1e9).ok_or(ValueError::Seconds(seconds as f64)),
        })
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn percent(number: f64) -> Result<Percent, ValueError> {
            let fine = (0.0..=100.0).contains(&number);
            fine.then_some(Percent(number)).ok_or(ValueError::Percentage(number))
        }
        deserializer
            .deserialize_any(Scalar {
                expected: "a percentage from 0 to 100",
                of_text: |text| {
                    let number = text.trim().trim_end_matches('%').trim_end();
                    percent(number.parse().map_err(|_| ValueError::NoPercentage(text.into()))?)
                },
                of_number: percent,
                of_integer: |number| Ok(Percent(number as f64)),
            })
            .and_then(|value| percent(value.0).map_err(de::Error::custom))
    }
}

/// The sizes of requests: one, `"4KiB"`, or several with their weights, `[["4KiB", 70], ["64KiB", 30]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSizes(pub Vec<(Size, u32)>);

impl BlockSizes {
    /// Requests that are all of this size.
    pub fn only(size: ByteSize) -> BlockSizes {
        BlockSizes(vec![(size.into(), 1)])
    }
}

impl<'de> Deserialize<'de> for BlockSizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrSeveral;
        impl<'de> Visitor<'de> for OneOrSeveral {
            type Value = BlockSizes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"4KiB\", or sizes with weights such as [[\"4KiB\", 70], [\"64KiB\", 30]]")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<BlockSizes, E> {
                text.parse().map(BlockSizes::only).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<BlockSizes, E> {
                match u64::try_from(number) {
                    Ok(bytes) => Ok(BlockSizes::only(ByteSize(bytes))),
                    Err(_) => Err(E::custom(format!("{number} is no size"))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<BlockSizes, A::Error> {
                let mut sizes = Vec::new();
                while let Some(entry) = list.next_element()? {
                    sizes.push(entry);
                }
                Ok(BlockSizes(sizes))
            }
        }
        deserializer.deserialize_any(OneOrSeveral)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Values {
        size: Option<Size>,
        span: Option<Span>,
        percent: Option<Percent>,
        blocks: Option<BlockSizes>,
    }

    fn read(text: &str) -> Result<Values, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.to_string())
    }

    #[test]
    fn values_as_people_write_them() {
        assert_eq!(read("size = 4096").unwrap().size, Some(Size(4096)));
        assert_eq!(read("size = '1.5GiB'").unwrap().size, Some(Size(3 << 29)));
        assert_eq!(read("span = 90").unwrap().span, Some(Span(Nanos::secs(90))));
        assert_eq!(read("span = 0.5").unwrap().span, Some(Span(Nanos::millis(500))));
        assert_eq!(read("span = '250us'").unwrap().span, Some(Span(Nanos::micros(250))));
        assert_eq!(read("span = '3650d'").unwrap().span, Some(Span(Nanos::secs(3650 * 86_400))));
        assert_eq!(read("span = '10 min'").unwrap().span, Some(Span(Nanos::secs(600))));
        assert_eq!(read("percent = 70").unwrap().percent, Some(Percent(70.0)));
        assert_eq!(read("percent = '99.5%'").unwrap().percent, Some(Percent(99.5)));
        assert_eq!(read("blocks = '8k'").unwrap().blocks, Some(BlockSizes::only(ByteSize::kib(8))));
        let mix = BlockSizes(vec![(Size(4096), 70), (Size(65536), 30)]);
        assert_eq!(read("blocks = [['4KiB', 70], [65536, 30]]").unwrap().blocks, Some(mix));
    }

    #[test]
    fn errors_name_the_line_and_the_remedy() {
        for (text, part) in [
            ("size = '4 parsecs'", "not a unit of size"),
            ("size = -1", "negative"),
            ("\nspan = '3 fortnights'", "line 2"),
            ("span = '3 fortnights'", "ns, us, ms"),
            ("span = -0.5", "no span"),
            ("span = 9223372036854775807", "ten years"),
            ("span = '3651d'", "ten years"),
            ("percent = 101", "from 0 to 100"),
            ("percent = 'most'", "70%"),
            ("blocks = [['4KiB']]", "line 1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
