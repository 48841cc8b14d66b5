//! The values that flags and configuration files take, each with one reading for both.

use cygnus_format::MAX_VOLUME_NAME;
use cygnus_host::{ArrayName, BadName};
use cygnus_policy::LatencyRule;
use cygnus_types::{Acknowledged, BLOCK, ByteSize, Nanos};
use serde::Deserialize;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// The largest seed that a scenario can keep: TOML has no larger numbers.
pub const MAX_SCENARIO_SEED: u64 = i64::MAX as u64;

/// The largest seed that several are counted up from, all of which scenarios can keep.
pub const MAX_SEED: u64 = 1 << 62;

/// Why a value is not understood; what to write instead.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ValueError(String);

impl ValueError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<BadName> for ValueError {
    fn from(error: BadName) -> Self {
        Self(error.to_string())
    }
}

fn bad<T>(message: impl Into<String>) -> Result<T, ValueError> {
    Err(ValueError(message.into()))
}

/// Makes serde read a type the way its `FromStr` does, so that flags and files cannot differ.
macro_rules! deserialize_from_str {
    ($($name:ty),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
deserialize_from_str!(
    Cleaning,
    Size,
    SegmentSize,
    Percent,
    Parity,
    Preset,
    Protection,
    Interval,
    Span,
    Streams,
    KeptIn
);
pub(super) use deserialize_from_str;

/// A size with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub ByteSize);

impl FromStr for Size {
    type Err = cygnus_types::ParseSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// What can be changed about a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `ack=LEVEL`: where a write is when it is answered.
    Ack(Acknowledged),
}

impl FromStr for Setting {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some(("ack", level)) => level.parse().map(Self::Ack).map_err(|error| ValueError(format!("{error}"))),
            _ => bad(format!("'{text}': use ack=memory, ack=written or ack=durable")),
        }
    }
}

/// How often something is done: a [`Span`], or `never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval(pub Option<Duration>);

impl FromStr for Interval {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text == "never" {
            return Ok(Self(None));
        }
        match text.parse::<Span>()?.0 {
            Duration::ZERO => bad(format!("'{text}' is no interval: write never to do without")),
            span => Ok(Self(Some(span))),
        }
    }
}

/// Where writes outlast a server that is killed: an absolute path, or `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptIn(pub Option<PathBuf>);

impl FromStr for KeptIn {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "none" => Ok(Self(None)),
            path if path.starts_with('/') => Ok(Self(Some(path.into()))),
            _ => bad(format!(
                "'{text}' is no absolute path: write one of a directory in memory, such as /dev/shm, or none"
            )),
        }
    }
}

/// The size of a segment column, or "as fits".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentSize {
    /// Chosen from the members' size.
    Auto,
    /// This many bytes on each member.
    Bytes(ByteSize),
}

impl FromStr for SegmentSize {
    type Err = cygnus_types::ParseSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Bytes) }
    }
}

/// A whole percentage below 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent(pub u8);

impl FromStr for Percent {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.trim_end_matches('%').parse() {
            Ok(percent) if percent < 100 => Ok(Self(percent)),
            _ => bad("write a whole percentage below 100, such as 20%"),
        }
    }
}

/// What makes safe what a stripe holds before it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection(pub cygnus_policy::UntilFull);

impl FromStr for Protection {
    type Err = cygnus_policy::UnknownUntilFull;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Which segments are cleaned first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaning(pub cygnus_policy::Rules);

impl FromStr for Cleaning {
    type Err = cygnus_policy::ParseRulesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Which writes share segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams(pub cygnus_policy::Streams);

impl FromStr for Streams {
    type Err = cygnus_policy::UnknownStreams;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Where parity stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// On other columns in each segment.
    Rotate,
    /// On the same columns in all segments.
    Fixed,
}

impl FromStr for Parity {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "rotate" => Ok(Self::Rotate),
            "fixed" => Ok(Self::Fixed),
            _ => bad("write rotate (RAID-5, RAID-6) or fixed (RAID-4)"),
        }
    }
}

/// A preset by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// A log-structured array.
    Log(cygnus_policy::Preset),
    /// A RAID level updated in place.
    InPlace(cygnus_inplace::Level),
}

impl FromStr for Preset {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Ok(level) = text.parse() {
            return Ok(Self::InPlace(level));
        }
        let levels = cygnus_inplace::Level::ALL.map(cygnus_inplace::Level::name).join(", ");
        let known = |error: cygnus_policy::UnknownPreset| ValueError(format!("{error}; or, in place, {levels}"));
        text.parse().map(Self::Log).map_err(known)
    }
}

/// A volume: `ARRAY/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeName {
    /// The array it is in.
    pub array: ArrayName,
    /// Its own name.
    pub volume: String,
}

impl FromStr for VolumeName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let Some((array, volume)) = text.split_once('/') else {
            return bad(format!("write ARRAY/VOLUME, such as tank/{text}"));
        };
        let array = array.parse()?;
        match cygnus_format::valid_name(volume, MAX_VOLUME_NAME) {
            true => Ok(Self { array, volume: volume.into() }),
            false => Err(BadName { what: "a volume's name", longest: MAX_VOLUME_NAME }.into()),
        }
    }
}

impl fmt::Display for VolumeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.array, self.volume)
    }
}

/// Sizes of volumes and members are whole blocks.
pub fn whole_blocks(size: ByteSize) -> Result<ByteSize, ValueError> {
    if size.0 == 0 || !size.0.is_multiple_of(BLOCK as u64) {
        return bad(format!("{} bytes is not a multiple of {BLOCK} above 0", size.0));
    }
    // Offsets within files and devices are signed numbers of 64 bits.
    if size.0 > i64::MAX as u64 {
        return bad(format!("{size} is more than any file or device can have: it must be less than 8 EiB"));
    }
    Ok(size)
}

/// Reads a size that must be whole blocks, for clap.
pub fn parse_whole_blocks(text: &str) -> Result<Size, ValueError> {
    let size: ByteSize = text.parse().map_err(|error: cygnus_types::ParseSizeError| ValueError(error.to_string()))?;
    whole_blocks(size).map(Size)
}

/// A century: any deadline at so long from now can still be counted in nanoseconds.
const LONGEST: Duration = Duration::from_secs(36_500 * 86_400);

/// A span of time: `90s`, `2m`, `1500ms`; a number alone is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let scale = match &text[digits..] {
            "" | "s" => 1000,
            "ms" => 1,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return bad("write a whole number and ms, s, m, h or d, such as 90s"),
        };
        let number: u64 =
            text[..digits].parse().map_err(|_| ValueError(format!("'{text}' is no span of time, write 90s")))?;
        let millis = number.checked_mul(scale).filter(|millis| *millis <= LONGEST.as_millis() as u64);
        millis
            .map(|millis| Self(Duration::from_millis(millis)))
            .ok_or_else(|| ValueError(format!("'{text}' is too long: at most 36500d")))
    }
}

/// Reads how long is measured, for clap.
pub fn parse_some_time(text: &str) -> Result<Span, ValueError> {
    match text.parse()? {
        Span(Duration::ZERO) => bad("nothing can be measured in no time: write 1s or more"),
        span => Ok(span),
    }
}

/// Reads how long a member may give no answer, for clap.
pub fn parse_hung_after(text: &str) -> Result<Span, ValueError> {
    check_hung_after(text.parse()?)
}

/// Refuses a patience that a healthy drive may need more than.
pub fn check_hung_after(span: Span) -> Result<Span, ValueError> {
    let (least, given) = (LatencyRule::LEAST_HUNG_AFTER, Nanos::from(span.0));
    if given < least {
        return bad(format!(
            "a healthy drive may take longer than {given}, and would go out of service: write {least} or more"
        ));
    }
    Ok(span)
}

/// Refuses a patience in which no client on a network can answer.
pub fn parse_stalled_after(text: &str) -> Result<Span, ValueError> {
    check_stalled_after(text.parse()?)
}

/// The same, of one that was read already.
pub fn check_stalled_after(span: Span) -> Result<Span, ValueError> {
    match span.0 {
        short if short < Duration::from_secs(1) => {
            bad("every client takes longer than that now and then: write 1s or more")
        }
        _ => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_format::MAX_ARRAY_NAME;
    use proptest::prelude::*;

    #[test]
    fn no_healthy_drive_is_taken_for_hung() {
        assert!(parse_hung_after("1ms").unwrap_err().to_string().contains("write 1.00 s or more"));
        assert_eq!(parse_hung_after("1s"), Ok(Span(Duration::from_secs(1))));
    }

    #[test]
    fn names_are_safe_in_paths_and_uris() {
        for fine in ["tank", "Tank_2", "a.b-c", "0"] {
            assert!(fine.parse::<ArrayName>().is_ok(), "{fine}");
        }
        for wrong in ["", "..", ".hidden", "_x", "-x", "a/b", "a b", "é", &"x".repeat(MAX_ARRAY_NAME + 1)] {
            assert!(wrong.parse::<ArrayName>().is_err(), "{wrong}");
        }
        let volume: VolumeName = "tank/vol0".parse().unwrap();
        assert_eq!((volume.array.as_str(), volume.volume.as_str()), ("tank", "vol0"));
        for wrong in ["tank", "tank/", "/vol0", "tank/a/b", "tank/../etc"] {
            assert!(wrong.parse::<VolumeName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn percentages_sizes_and_spans() {
        assert_eq!("20%".parse(), Ok(Percent(20)));
        assert_eq!("7".parse(), Ok(Percent(7)));
        assert!("100%".parse::<Percent>().is_err() && "-1%".parse::<Percent>().is_err());
        assert_eq!("auto".parse(), Ok(SegmentSize::Auto));
        assert_eq!("8MiB".parse(), Ok(SegmentSize::Bytes(ByteSize::mib(8))));
        assert_eq!(parse_whole_blocks("8KiB"), Ok(Size(ByteSize::kib(8))));
        assert!(parse_whole_blocks("5000").is_err() && parse_whole_blocks("0").is_err());
        assert_eq!("90s".parse(), Ok(Span(Duration::from_secs(90))));
        assert_eq!("2m".parse(), Ok(Span(Duration::from_secs(120))));
        assert!("s".parse::<Span>().is_err() && "1y".parse::<Span>().is_err());
        assert_eq!("30d".parse(), Ok(Interval(Some(Duration::from_secs(30 * 86_400)))));
        assert_eq!("never".parse(), Ok(Interval(None)));
        assert!("0d".parse::<Interval>().is_err() && "soon".parse::<Interval>().is_err());
    }

    proptest! {
        #[test]
        fn sizes_are_what_is_written_or_an_error(blocks in 1_u64.., shift in 0_u32..7) {
            let unit = ["", "K", "MiB", "G", "TiB", "P", "EiB"][shift as usize];
            let bytes = (u128::from(blocks) << (10 * shift)) * if shift == 0 { BLOCK as u128 } else { 1 };
            let number = if shift == 0 { bytes } else { u128::from(blocks) };
            let whole = bytes.is_multiple_of(BLOCK as u128);
            let read = parse_whole_blocks(&format!("{number}{unit}"));
            match bytes <= i64::MAX as u128 && whole {
                true => prop_assert_eq!(read, Ok(Size(ByteSize(bytes as u64)))),
                false => prop_assert!(read.is_err(), "{number}{unit}: {read:?}"),
            }
        }

        #[test]
        fn spans_are_what_is_written_or_an_error(number in prop_oneof![0_u64..10_000_000, any::<u64>()], unit in 0_usize..5) {
            let (unit, millis) = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)][unit];
            let millis = u128::from(number) * millis;
            let read = format!("{number}{unit}").parse::<Span>();
            match millis <= LONGEST.as_millis() {
                true => prop_assert_eq!(read, Ok(Span(Duration::from_millis(millis as u64)))),
                false => prop_assert!(read.is_err(), "{number}{unit}"),
            }
        }

        #[test]
        fn any_text_is_a_value_or_an_error(text in "\\PC{0,30}") {
            let _ = text.parse::<cygnus_format::Raids>();
            let _ = text.parse::<VolumeName>();
            let _ = text.parse::<Percent>();
            let _ = text.parse::<Span>();
        }
    }
}
