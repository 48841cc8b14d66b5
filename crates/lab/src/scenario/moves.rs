//! Values of the keys that say how data moves out of the way of contention.

use cygnus_policy::{AutonomicsRule, Migration};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// How data gets elsewhere.
pub(super) fn migration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Migration>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(Error::custom)
}

/// To how many groups at a time.
pub(super) fn targets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let most = AutonomicsRule::MOST_TARGETS;
    match u32::deserialize(deserializer)? {
        targets if targets <= most => Ok(Some(targets)),
        _ => Err(Error::custom(format!("targets: at most {most}, or 0 for data that moves to where clients write"))),
    }
}
