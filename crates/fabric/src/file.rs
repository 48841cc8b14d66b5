//! A topology as a file: what it may say.

use cygnus_types::ByteSize;
use serde::{Deserialize, Deserializer, de};
use toml::Spanned;

/// A whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct File {
    pub name: Spanned<String>,
    pub payload: Option<Spanned<u32>>,
    pub virtual_channels: Option<Spanned<u8>>,
    pub root: RootSection,
    #[serde(default)]
    pub switch: Vec<SwitchSection>,
    #[serde(default)]
    pub endpoint: Vec<EndpointSection>,
    #[serde(default)]
    pub link: Vec<LinkSection>,
}

/// The root complex, `[root]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RootSection {
    pub name: Spanned<String>,
    pub queue: Option<Spanned<u32>>,
    pub latency_ns: Option<Spanned<u64>>,
}

/// A switch, `[[switch]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SwitchSection {
    pub name: Spanned<String>,
    pub latency_ns: Option<Spanned<u64>>,
    pub buffer: Option<Spanned<u32>>,
}

/// An endpoint with the modules on its bus, `[[endpoint]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct EndpointSection {
    pub name: Spanned<String>,
    pub latency_ns: Option<Spanned<u64>>,
    pub down_buffer: Option<Spanned<u32>>,
    pub up_buffer: Option<Spanned<u32>>,
    pub modules: Option<Spanned<u32>>,
    pub commands: Option<Spanned<u32>>,
    pub interleave: Option<bool>,
    pub bus_rate: Option<Spanned<Rate>>,
    pub bus_command_ns: Option<Spanned<u64>>,
}

/// What connects two of them, `[[link]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LinkSection {
    pub name: Spanned<String>,
    /// The end nearer to the root complex, and the other one.
    pub up: Spanned<String>,
    pub down: Spanned<String>,
    pub width: Option<Spanned<u8>>,
    pub generation: Option<Spanned<u8>>,
    /// Of Ethernet, in place of width and generation.
    pub rate: Option<Spanned<Rate>>,
    pub frame: Option<Spanned<u32>>,
    pub overhead: Option<Spanned<u32>>,
    pub latency_ns: Option<Spanned<u64>>,
}

/// Bytes per second, written as `"800MB"`.
#[derive(Clone, Copy)]
pub(crate) struct Rate(pub u64);

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<ByteSize>().map(|size| Self(size.0)).map_err(de::Error::custom)
    }
}
