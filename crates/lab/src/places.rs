//! What R-groups store on and where volumes are, as scenarios say it.

use cygnus_types::{Medium, Tiers};
use serde::Deserialize;
use serde::de::{self, Deserializer};

/// Media, one for each R-group or one for all.
pub(crate) fn media<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Medium>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    words.iter().map(|word| word.parse().map_err(de::Error::custom)).collect()
}

/// One medium.
pub(crate) fn medium<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Medium>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(de::Error::custom)
}

/// How a scenario says that a volume is hybrid.
#[derive(Deserialize)]
#[serde(untagged)]
enum Hybrid {
    /// On flash and disks.
    Is(bool),
    /// On two media that are named.
    On([String; 2]),
}

/// The media of a hybrid volume: `true` for flash and disks, or `["flash", "smr"]`.
pub(crate) fn hybrid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Tiers>, D::Error> {
    match Hybrid::deserialize(deserializer)? {
        Hybrid::Is(is_hybrid) => Ok(is_hybrid.then_some(Tiers::FLASH_AND_DISK)),
        Hybrid::On([one, other]) => {
            let medium = |word: String| word.parse::<Medium>().map_err(de::Error::custom);
            Tiers::new(medium(one)?, medium(other)?).map(Some).map_err(de::Error::custom)
        }
    }
}
