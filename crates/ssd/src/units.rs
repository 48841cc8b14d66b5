//! Sizes and times in configurations, as people write them: `"16MiB"`, `"900us"`.

use cygnus_types::{ByteSize, Nanos};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// The largest of these units that divides the value is the one it is written in.
const SIZES: [(u64, &str); 8] = [
    (1 << 40, "TiB"),
    (1_000_000_000_000, "TB"),
    (1 << 30, "GiB"),
    (1_000_000_000, "GB"),
    (1 << 20, "MiB"),
    (1_000_000, "MB"),
    (1 << 10, "KiB"),
    (1, "B"),
];

const TIMES: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];

fn written(value: u64, units: &[(u64, &str)]) -> String {
    let (unit, name) = units.iter().find(|(unit, _)| value.is_multiple_of(*unit)).expect("one divides everything");
    format!("{}{name}", value / unit)
}

fn parse_time(text: &str) -> Option<Nanos> {
    let number_len = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(number_len);
    let (scale, _) = TIMES.iter().find(|(_, name)| *name == unit.trim())?;
    let nanos = number.parse::<f64>().ok()? * *scale as f64;
    (nanos < 1e18).then_some(Nanos(nanos.round() as u64))
}

/// For sizes and rates in bytes.
pub(crate) mod size {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&written(*value, &SIZES))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse::<ByteSize>().map(ByteSize::bytes).map_err(Error::custom)
    }
}

/// The same where nothing may be given.
pub(crate) mod optional_size {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::size::serialize(value, to),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse::<ByteSize>().map(ByteSize::bytes)).transpose().map_err(Error::custom)
    }
}

/// For times.
pub(crate) mod time {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Nanos, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&written(value.0, &TIMES))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
        let text = String::deserialize(from)?;
        parse_time(text.trim())
            .ok_or_else(|| D::Error::custom(format!("\"{text}\" is not a time: write a number and ns, us, ms or s")))
    }
}
