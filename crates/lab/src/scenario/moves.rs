//! The value of the key that says to how many groups data moves out of the way of contention.

use cygnus_policy::AutonomicsRule;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Groups at a time.
pub(super) fn targets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let most = AutonomicsRule::MOST_TARGETS;
    match u32::deserialize(deserializer)? {
        targets if targets <= most => Ok(Some(targets)),
        _ => Err(Error::custom(format!("targets: at most {most}, or 0 for data that moves to where clients write"))),
    }
}
