//! A volume's level of acknowledgement in JSON: its word.

use cygnus_types::Acknowledged;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A level, as JSON has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack(pub Acknowledged);

impl Serialize for Ack {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<'de> Deserialize<'de> for Ack {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(serde::de::Error::custom)
    }
}
