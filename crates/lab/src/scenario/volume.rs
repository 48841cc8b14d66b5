//! A volume as a scenario has it: its size, when its writes are answered, where it is, and how it is mapped.

use cygnus_engine::VolumeOptions;
use cygnus_types::{Acknowledged, ByteSize, Constraint, Medium, Paging, PagingError, Tiers};
use cygnus_workload::{Percent, Size};
use serde::Deserialize;
use serde::de::{self, Deserializer};

use crate::places;

/// How large the volume is, and when its writes are answered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct VolumeSection {
    #[serde(default)]
    pub size: VolumeSize,
    /// Of arrays that write logs. Those in place have written what they answer, whatever this says.
    #[serde(default, deserialize_with = "level")]
    pub ack: Acknowledged,
    /// The only medium on which it may be, of arrays that write logs.
    #[serde(default, deserialize_with = "places::medium")]
    pub(super) media: Option<Medium>,
    /// The medium on which it is while there is room.
    #[serde(default, deserialize_with = "places::medium")]
    pub(super) prefer: Option<Medium>,
    /// The media of a hybrid volume: on the slower one it is, and on the faster one what is often read of it.
    #[serde(default, deserialize_with = "places::hybrid")]
    pub(super) hybrid: Option<Tiers>,
    /// Bytes for which the map has one entry, of arrays that write logs.
    #[serde(default)]
    pub(super) page: Option<Size>,
    /// How much data of pages that are written in part may have entries of its own.
    #[serde(default)]
    pub(super) fine: Option<Size>,
    /// Other volumes, whose addresses follow those of this one: clients see one space.
    #[serde(default)]
    pub next: Vec<VolumeSection>,
}

impl VolumeSection {
    /// How many keys say where it is.
    pub(super) fn places(&self) -> usize {
        [self.media.is_some(), self.prefer.is_some(), self.hybrid.is_some()].into_iter().filter(|&given| given).count()
    }

    /// How it is mapped.
    pub(super) fn paging(&self) -> Result<Paging, PagingError> {
        let size = |size: Option<Size>| ByteSize(size.map_or(0, |size| size.0));
        let page = self.page.map_or(ByteSize::of_blocks(1), |page| ByteSize(page.0));
        Paging::of_sizes(page, size(self.fine))
    }

    /// This one, and those that follow.
    pub fn all(&self) -> impl Iterator<Item = &VolumeSection> {
        std::iter::once(self).chain(&self.next)
    }

    /// What its volume is made with.
    pub fn options(&self) -> VolumeOptions {
        let (only, prefers) = (self.media.map(Constraint::Only), self.prefer.map(Constraint::Prefers));
        let hybrid = self.hybrid.map(Constraint::Hybrid);
        let constraint = only.or(prefers).or(hybrid).unwrap_or_default();
        VolumeOptions { acknowledged: self.ack, constraint, paging: self.paging().unwrap_or_default() }
    }
}

fn level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Acknowledged, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// A share of something, or bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VolumeSize {
    /// Of what the array offers.
    OfUsable(Percent),
    /// Of the drives' capacity without parity.
    OfRaw(Percent),
    Bytes(u64),
}

impl Default for VolumeSize {
    fn default() -> Self {
        Self::OfUsable(Percent(100.0))
    }
}

impl<'de> Deserialize<'de> for VolumeSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const FORMS: &str = "write \"4GiB\", \"80% of usable\" or \"60% of data\"";
        let text = String::deserialize(deserializer)?;
        let wrong = |why: &dyn std::fmt::Display| de::Error::custom(format!("volume size \"{text}\": {why}; {FORMS}"));
        let Some((percent, of)) = text.split_once('%') else {
            return text.parse::<ByteSize>().map(|size| Self::Bytes(size.0)).map_err(|error| wrong(&error));
        };
        let number = percent.trim().parse().ok().filter(|number| (0.0..=100.0).contains(number));
        let percent = Percent(number.ok_or_else(|| wrong(&"not a percentage from 0 to 100"))?);
        match of.trim() {
            "" | "of usable" => Ok(Self::OfUsable(percent)),
            "of data" => Ok(Self::OfRaw(percent)),
            _ => Err(wrong(&"of what?")),
        }
    }
}
