//! Media, and what volumes want of them, in JSON.

use cygnus_types::{Constraint, Medium};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A medium, as its word in JSON: `flash` or `disk`.
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

/// On which media the blocks of a volume may be: `"any"`, `{"only":"flash"}`, `{"prefers":"flash"}` or `"hybrid"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Media {
    /// On whatever medium there is.
    #[default]
    Any,
    /// On this medium only: when it is full, writes get ENOSPC.
    Only(MediumName),
    /// On this medium while there is room, else on the other one.
    Prefers(MediumName),
    /// On disks; what is often read moves to flash.
    Hybrid,
}

impl Media {
    /// Whether nothing is asked for.
    pub fn is_any(&self) -> bool {
        *self == Self::Any
    }
}

impl From<Constraint> for Media {
    fn from(constraint: Constraint) -> Self {
        match constraint {
            Constraint::None => Self::Any,
            Constraint::Only(medium) => Self::Only(MediumName(medium)),
            Constraint::Prefers(medium) => Self::Prefers(MediumName(medium)),
            Constraint::Hybrid => Self::Hybrid,
        }
    }
}

impl From<Media> for Constraint {
    fn from(media: Media) -> Self {
        match media {
            Media::Any => Self::None,
            Media::Only(MediumName(medium)) => Self::Only(medium),
            Media::Prefers(MediumName(medium)) => Self::Prefers(medium),
            Media::Hybrid => Self::Hybrid,
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
            assert_eq!(Constraint::from(serde_json::from_str::<Media>(&text).unwrap()), constraint, "{text}");
        }
        let only = Media::from(Constraint::Only(Medium::Disk));
        assert_eq!(serde_json::to_string(&only).unwrap(), r#"{"only":"disk"}"#);
        assert!(serde_json::from_str::<Media>(r#"{"only":"tape"}"#).is_err());
    }
}
