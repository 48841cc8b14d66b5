//! Media, and what volumes want of them, in JSON.

use std::fmt;

use cygnus_types::{Constraint, Medium, OneTier, Tiers};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A medium, as its word in JSON: `nvm`, `flash`, `disk` or `smr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediumName(pub Medium);

impl Serialize for MediumName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<'de> Deserialize<'de> for MediumName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

/// The two media of a hybrid volume, in JSON: `{"fast":"flash","slow":"disk"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TierNames", into = "TierNames")]
pub struct HybridOn(pub Tiers);

#[derive(Serialize, Deserialize)]
struct TierNames {
    fast: MediumName,
    slow: MediumName,
}

impl TryFrom<TierNames> for HybridOn {
    type Error = OneTier;

    fn try_from(names: TierNames) -> Result<Self, OneTier> {
        Tiers::new(names.fast.0, names.slow.0).map(Self)
    }
}

impl From<HybridOn> for TierNames {
    fn from(HybridOn(tiers): HybridOn) -> Self {
        Self { fast: MediumName(tiers.fast()), slow: MediumName(tiers.slow()) }
    }
}

/// On which media the blocks of a volume may be: `"any"`, `{"only":"flash"}`, `{"prefers":"flash"}` or
/// `{"hybrid":{"fast":"flash","slow":"disk"}}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Media {
    /// On whatever medium there is.
    #[default]
    Any,
    /// On this medium only: when it is full, writes get ENOSPC.
    Only(MediumName),
    /// On this medium while there is room, else on the nearest in speed.
    Prefers(MediumName),
    /// On the slower of two media; what is often read moves to the faster one. `null`, in requests: the fastest and the slowest that the
    /// array has.
    Hybrid(Option<HybridOn>),
}

impl Media {
    /// Whether nothing is asked for.
    pub fn is_any(&self) -> bool {
        *self == Self::Any
    }

    /// The same as the engine has it, where `widest` are the fastest and the slowest medium of the array.
    ///
    /// # Errors
    /// When these are asked for, and it has none.
    pub fn constraint<E>(self, widest: impl FnOnce() -> Result<Tiers, E>) -> Result<Constraint, E> {
        Ok(match self {
            Media::Any => Constraint::None,
            Media::Only(MediumName(medium)) => Constraint::Only(medium),
            Media::Prefers(MediumName(medium)) => Constraint::Prefers(medium),
            Media::Hybrid(Some(HybridOn(tiers))) => Constraint::Hybrid(tiers),
            Media::Hybrid(None) => Constraint::Hybrid(widest()?),
        })
    }
}

impl fmt::Display for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.constraint(|| Err(())) {
            Ok(constraint) => constraint.fmt(f),
            Err(()) => f.pad("hybrid"),
        }
    }
}

impl From<Constraint> for Media {
    fn from(constraint: Constraint) -> Self {
        match constraint {
            Constraint::None => Self::Any,
            Constraint::Only(medium) => Self::Only(MediumName(medium)),
            Constraint::Prefers(medium) => Self::Prefers(MediumName(medium)),
            Constraint::Hybrid(tiers) => Self::Hybrid(Some(HybridOn(tiers))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_come_back_from_json() {
        for constraint in (0..=u8::MAX).filter_map(Constraint::from_byte) {
            let text = serde_json::to_string(&Media::from(constraint)).unwrap();
            let media = serde_json::from_str::<Media>(&text).unwrap();
            assert_eq!(media.constraint(|| Err(())), Ok(constraint), "{text}");
            assert_eq!(media.to_string(), constraint.to_string());
        }
        let only = Media::from(Constraint::Only(Medium::Disk));
        assert_eq!(serde_json::to_string(&only).unwrap(), r#"{"only":"disk"}"#);
        let hybrid = Media::from(Constraint::Hybrid(Tiers::FLASH_AND_DISK));
        assert_eq!(serde_json::to_string(&hybrid).unwrap(), r#"{"hybrid":{"fast":"flash","slow":"disk"}}"#);
        assert!(serde_json::from_str::<Media>(r#"{"only":"tape"}"#).is_err());
        assert!(serde_json::from_str::<Media>(r#"{"hybrid":{"fast":"smr","slow":"smr"}}"#).is_err());
        let widest: Media = serde_json::from_str(r#"{"hybrid":null}"#).unwrap();
        assert_eq!(
            (widest.constraint(|| Err("one medium")), widest.to_string().as_str()),
            (Err("one medium"), "hybrid")
        );
    }
}
