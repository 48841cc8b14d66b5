//! Scrubs as they are shown: when the last one was, and what it found.

use crate::show;
use cygnus_types::counted;
use serde::{Deserialize, Serialize};

/// When an array was last scrubbed, and what that found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubStatus {
    /// End of the last scrub that got to the end, in seconds since 1970 UTC; absent if there never was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_unix: Option<u64>,
    /// Seconds since `last_unix` when the status was asked for; absent if there never was a whole scrub, and if that time has not
    /// come yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
    /// What the last scrub since the array was opened found; absent if there was none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ScrubReport>,
}

impl ScrubStatus {
    /// When the last whole one was, for people.
    pub(crate) fn when(&self) -> String {
        match (self.last_unix, self.age_seconds) {
            (_, Some(age)) => format!("{} ago", show::span(age as f64)),
            (Some(_), None) => "at a time that has not come yet: the clock was wrong then, or is now".into(),
            (None, None) => "never".into(),
        }
    }
}

/// Blocks that no combination of members yields, as far as is known. They are lost until they are written anew or discarded,
/// and known to be until a scrub that gets to the end does not find them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossStatus {
    /// 4 KiB blocks that the last whole scrub found.
    pub found_blocks: u64,
    /// Times since that scrub began that a block was asked for, by a client or a rebuild, and could not be had.
    pub failed_reads: u64,
}

/// What a scrub found and did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubReport {
    /// Whether the scrub got to the end; else the rest counts what it had verified until it was cancelled or failed.
    pub complete: bool,
    /// 4 KiB blocks that were compared with their checksums.
    pub blocks: u64,
    /// Bytes read from all members for it.
    pub bytes_read: u64,
    /// Blocks of data or of checkpoints that were not what had been written.
    pub wrong_blocks: u64,
    /// Parity blocks that were not what their row gives.
    pub wrong_parity: u64,
    /// Copies of stripe headers and superblocks that were missing, damaged or contradicted others.
    pub wrong_headers: u64,
    /// Blocks written anew because something was wrong with them or with what protects them.
    pub moved_blocks: u64,
    /// Of `moved_blocks`, those whose data was rebuilt from the other columns.
    pub rebuilt_blocks: u64,
    /// Blocks that should have been written anew and found no room.
    pub blocks_without_room: u64,
    /// Blocks of volumes that cannot be read any more, as too many of their columns are lost.
    pub lost: u64,
    /// Where those are; the first thousand.
    pub lost_blocks: Vec<LostBlock>,
}

/// A block that cannot be read any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostBlock {
    /// Name of the volume that it belongs to.
    pub volume: String,
    /// The 4 KiB block, counted from 0.
    pub lba: u64,
}

/// Volumes with ranges of blocks, as few words as that takes: `vol0 3, 7-9; db 12`.
pub fn ranges(blocks: &[LostBlock]) -> String {
    let mut sorted: Vec<(&str, u64)> = blocks.iter().map(|block| (&*block.volume, block.lba)).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a.0 == b.0 && a.1 + 1 == b.1);
    let mut text = String::new();
    let mut volume = "";
    for run in runs {
        let (name, first) = run[0];
        let join = if text.is_empty() { "" } else { "; " };
        text += &if name == volume { ", ".to_string() } else { format!("{join}{name} ") };
        volume = name;
        let last = first + run.len() as u64 - 1;
        text += &if first == last { first.to_string() } else { format!("{first}-{last}") };
    }
    text
}

impl ScrubReport {
    /// For people, in a sentence or two.
    pub fn text(&self) -> String {
        let Self { wrong_blocks, wrong_parity, wrong_headers, moved_blocks, rebuilt_blocks, .. } = self;
        let mut text = match wrong_blocks + wrong_parity + wrong_headers {
            0 => format!("Nothing is wrong with {}.", show::counted(self.blocks, "block")),
            _ => format!(
                "Wrong or unreadable: {} of {}, {}, {}. Written anew: {}{}.",
                show::count(*wrong_blocks),
                show::counted(self.blocks, "block"),
                show::counted(*wrong_parity, "parity block"),
                show::counted(*wrong_headers, "header"),
                show::counted(*moved_blocks, "block"),
                match *rebuilt_blocks {
                    0 => String::new(),
                    some => format!(", {} of them made from other members", show::count(some)),
                },
            ),
        };
        if self.blocks_without_room > 0 {
            text += &format!(" {} more found no room: free some space and scrub again.", self.blocks_without_room);
        }
        text + "\n"
    }

    /// What is beyond redundancy, and what to do; `None` if nothing is.
    pub fn loss(&self) -> Option<String> {
        let listed = ranges(&self.lost_blocks);
        let more = if self.lost > self.lost_blocks.len() as u64 { ", and more" } else { "" };
        (self.lost > 0).then(|| {
            format!(
                "{} beyond redundancy and answer with an error: restore them from a copy by writing them anew \
                 ({listed}{more})",
                counted(self.lost, "block of 4 KiB is").or("blocks of 4 KiB are")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_has_not_come_yet_is_no_age() {
        let when = |last_unix, age_seconds| ScrubStatus { last_unix, age_seconds, report: None }.when();
        assert_eq!(when(None, None), "never");
        assert_eq!(when(Some(1_800_000_000), Some(7500)), "2 h 5 min ago");
        assert!(when(Some(4_900_000_000), None).contains("the clock was wrong"));
    }

    #[test]
    fn neighbours_are_one_range() {
        let lost = |volume: &str, lba| LostBlock { volume: volume.into(), lba };
        let blocks =
            [lost("vol0", 9), lost("vol0", 3), lost("vol0", 7), lost("vol0", 8), lost("db", 12), lost("db", 12)];
        assert_eq!(ranges(&blocks), "db 12; vol0 3, 7-9");
        assert_eq!(ranges(&[]), "");
    }
}
