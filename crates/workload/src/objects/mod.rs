//! An object server on a file system: all objects are stored, then updated, then read.
//!
//! Modelled on OpenStack Swift on XFS, as far as the disk below can tell. A new object is a file in a new place: its data are
//! written, and fsync makes them durable with a flush, a record in the file system's log, and another flush. Files live
//! beside their inodes, 64 to a chunk; each object also has a directory, whose inode lies with those of other directories. The
//! inodes that were changed are written back now and then, in the order of the disk. An update writes a new file and gives up
//! the old one's place, which a later update takes. A read needs both inodes, eight of which come at once and stay in
//! memory, then the data.
//!
//! What a client does depends on the configuration and the seed alone: places and the order of objects are settled before
//! anything runs. So changed inodes are written back after so many objects, not after so many seconds, by the client whose turn it is.

mod client;
mod plan;
mod space;

use crate::values::Size;
use crate::{Source, WorkloadError};
use client::Client;
use cygnus_runtime::Rng;
use cygnus_types::{BLOCK, ByteSize};
use plan::Plan;
use serde::Deserialize;
use space::Space;
use std::rc::Rc;

/// No request is longer: NBD and io_uring carry this much.
const LONGEST: u64 = 32 << 20;

/// An object server. In TOML a `[workload.objects]` table with at least `size` and `objects`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Objects {
    /// Bytes of an object; written at once.
    pub size: Size,
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
    /// Finds what contradicts itself before anything runs.
    fn check(&self) -> Result<(), WorkloadError> {
        let wrong = |what: String| Err(WorkloadError::setting("objects", what));
        let sizes = [("size", self.size), ("read-size", self.read_size), ("log", self.log), ("record", self.record)];
        for (key, Size(bytes)) in sizes {
            if bytes == 0 || !bytes.is_multiple_of(BLOCK as u64) {
                return wrong(format!("{key}: not a multiple of 4 KiB above 0"));
            }
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
        Ok(())
    }

    /// The clients: who clears the log as mkfs does, then who store, update and read, each kind when the one before has ended.
    pub(crate) fn build(&self, volume_size: u64, seeds: &mut Rng) -> Result<Vec<Box<dyn Source>>, WorkloadError> {
        self.check()?;
        let mut space = Space::new(self, volume_size).map_err(|needs| WorkloadError::Volume {
            name: "objects".into(),
            needs: ByteSize(needs),
            volume: ByteSize(volume_size),
        })?;
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        for plan in Plan::all(self, &mut space, seeds) {
            let plan = Rc::new(plan);
            let clients = (0..plan.clients).map(|n| Client::new(plan.clone(), n, volume_size));
            sources.extend(clients.map(|client| Box::new(client) as Box<dyn Source>));
        }
        Ok(sources)
    }
}

#[cfg(test)]
mod tests;
