//! What a scenario file says about an object server.

use crate::WorkloadError;
use crate::values::Size;
use cygnus_types::BLOCK;
use serde::Deserialize;

/// No request is longer: NBD and io_uring carry this much.
const LONGEST: u64 = 32 << 20;
/// The most objects, so that sums of their files' bytes are numbers.
const MOST_OBJECTS: u64 = 1 << 32;
/// No place and no log of a file system is larger, for the same reason.
const LARGEST: u64 = 1 << 50;

/// An object server. In TOML a `[workload.objects]` table with at least `size` and `objects`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Objects {
    /// Bytes of an object; written at once.
    pub size: Size,
    /// Where the file system begins on the volume, to whose end it goes.
    #[serde(default = "defaults::offset")]
    pub offset: Size,
    /// How many there are.
    pub objects: u64,
    /// Objects that are stored or updated at once.
    #[serde(default = "defaults::writers")]
    pub writers: u16,
    /// Objects that are read at once.
    #[serde(default = "defaults::readers")]
    pub readers: u16,
    /// Most bytes of an object that are read at once: the file system's read-ahead.
    #[serde(default = "defaults::read_size")]
    pub read_size: Size,
    /// Allocation groups: the volume is divided into so many equal parts.
    #[serde(default = "defaults::groups")]
    pub groups: u16,
    /// Whether new files go to all groups by turns; else to the first, as files do that are made in one directory and renamed.
    #[serde(default)]
    pub spread: bool,
    /// Bytes of the file system's log, which begins the group in the middle and is overwritten round and round.
    #[serde(default = "defaults::log")]
    pub log: Size,
    /// Bytes of the log that an object's record takes.
    #[serde(default = "defaults::record")]
    pub record: Size,
    /// Objects after which changed inodes are written back.
    #[serde(default = "defaults::write_back")]
    pub write_back: u64,
}

mod defaults {
    use crate::values::Size;

    pub(super) fn offset() -> Size {
        Size(0)
    }

    pub(super) fn writers() -> u16 {
        32
    }

    pub(super) fn readers() -> u16 {
        1
    }

    pub(super) fn read_size() -> Size {
        Size(128 << 10)
    }

    pub(super) fn groups() -> u16 {
        8
    }

    pub(super) fn log() -> Size {
        Size(2 << 30)
    }

    pub(super) fn record() -> Size {
        Size(8 << 10)
    }

    pub(super) fn write_back() -> u64 {
        1024
    }
}

impl Objects {
    /// Finds what contradicts itself on a volume of any size.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let wrong = |what: String| Err(WorkloadError::setting("objects", what));
        let sizes = [("size", self.size), ("read-size", self.read_size), ("log", self.log), ("record", self.record)];
        for (key, Size(bytes)) in sizes {
            if bytes == 0 || !bytes.is_multiple_of(BLOCK as u64) {
                return wrong(format!("{key}: not a multiple of 4 KiB above 0"));
            }
        }
        if !self.offset.0.is_multiple_of(BLOCK as u64) {
            return wrong("offset: not a multiple of 4 KiB".into());
        }
        if self.size.0.max(self.record.0) > LONGEST {
            return wrong("size and record: at most 32 MiB, which are written at once".into());
        }
        if self.record > self.log {
            return wrong("record: longer than the log".into());
        }
        let counts = [self.objects, self.writers.into(), self.readers.into(), self.groups.into(), self.write_back];
        if counts.contains(&0) {
            return wrong("objects, writers, readers, groups and write-back are at least 1".into());
        }
        if self.objects > MOST_OBJECTS {
            return wrong(format!("objects: at most {MOST_OBJECTS}"));
        }
        if self.offset.0.max(self.log.0) > LARGEST {
            return wrong("offset and log: at most 1 PiB".into());
        }
        Ok(())
    }
}
