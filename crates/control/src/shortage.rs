//! Clients' writes that wait for room.

use serde::{Deserialize, Serialize};

use crate::media::MediumName;

/// Clients' writes to a medium wait, without an error, because there is no segment for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortageStatus {
    /// The medium.
    pub medium: MediumName,
    /// For how long, in milliseconds.
    pub for_millis: u64,
    /// Segments there that are free and kept for cleaning.
    pub free_segments: u32,
    /// Segments there that are emptied and wait for a flush.
    pub emptied_segments: u32,
    /// Segments of the array with blocks that cannot be read.
    pub damaged_segments: u32,
    /// What may help.
    pub remedy: String,
}

impl ShortageStatus {
    /// What an operator should know of it.
    pub fn sentence(&self) -> String {
        let Self { medium: MediumName(medium), for_millis, free_segments, emptied_segments, damaged_segments, remedy } =
            self;
        format!(
            "Clients' writes have waited for a segment on {medium} for {} s (free and kept for cleaning: {free_segments}, \
             emptied: {emptied_segments}, damaged: {damaged_segments}). What may help: {remedy}.",
            for_millis / 1000
        )
    }
}
