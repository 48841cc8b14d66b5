//! Where the file system has what.
//!
//! Each group has inodes of directories first (in the middle one the log before them), then files: 64 inodes, the data of
//! these 64, and so on.

use super::config::Objects;
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of an inode, of those that are read and written together, and of those that are made together.
const INODE: u64 = 1 << 10;
const CLUSTER: u64 = 8 << 10;
pub(super) const CHUNK: u64 = 64 << 10;
/// Files of a chunk.
const FILES: u64 = CHUNK / INODE;

/// Room for a file in one of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    group: u64,
    index: u64,
}

/// The layout, and which places are free.
#[derive(Debug)]
pub(super) struct Space {
    /// Where the first group begins.
    begins: u64,
    size: u64,
    groups: u64,
    /// Bytes of a group.
    group: u64,
    log: Range<u64>,
    /// Bytes of all directories of a group.
    directories: u64,
    spread: bool,
    /// Per group, places that were given up, and how many were ever taken.
    free: Vec<BTreeSet<u64>>,
    taken: Vec<u64>,
}

impl Space {
    /// An empty one in a volume of that size; the size that it needs if that is too small.
    pub(super) fn new(objects: &Objects, volume_size: u64) -> Result<Self, u64> {
        let groups = u64::from(objects.groups);
        let begins = objects.offset.0;
        let group = volume_size.saturating_sub(begins) / groups / CHUNK * CHUNK;
        let directories = (objects.objects.div_ceil(groups) * INODE).next_multiple_of(CHUNK);
        let log = begins + groups / 2 * group;
        let space = Self {
            begins,
            size: objects.size.0,
            groups,
            group,
            log: log..log + objects.log.0 / objects.record.0 * objects.record.0,
            directories,
            spread: objects.spread,
            free: vec![BTreeSet::new(); usize::from(objects.groups)],
            taken: vec![0; usize::from(objects.groups)],
        };
        // Updates under way take places before they give any up.
        let most = space.objects_of_a_group(objects.objects) + u64::from(objects.writers) + 1;
        let files = most.div_ceil(FILES) * space.stride();
        let needs = objects.log.0.next_multiple_of(CHUNK) + directories + files;
        if needs > group { Err(begins + needs * groups) } else { Ok(space) }
    }

    /// The most objects whose files are in one group.
    fn objects_of_a_group(&self, objects: u64) -> u64 {
        if self.spread { objects.div_ceil(self.groups) } else { objects }
    }

    /// Bytes from one chunk of inodes to the next.
    fn stride(&self) -> u64 {
        CHUNK + (FILES * self.size).next_multiple_of(CHUNK)
    }

    /// Where the log is; whole records.
    pub(super) fn log(&self) -> Range<u64> {
        self.log.clone()
    }

    /// Where the directories of a group begin.
    fn directories_of(&self, group: u64) -> u64 {
        let start = self.begins + group * self.group;
        if start == self.log.start { self.log.end.next_multiple_of(CHUNK) } else { start }
    }

    /// The chunk of inodes that a file's is in.
    fn chunk(&self, slot: Slot) -> u64 {
        self.directories_of(slot.group) + self.directories + slot.index / FILES * self.stride()
    }

    /// Where a file's data are.
    pub(super) fn data(&self, slot: Slot) -> Range<u64> {
        let start = self.chunk(slot) + CHUNK + slot.index % FILES * self.size;
        start..start + self.size
    }

    /// The inodes among which a file's is, [`CLUSTER`] bytes.
    pub(super) fn inode(&self, slot: Slot) -> Range<u64> {
        cluster(self.chunk(slot), slot.index % FILES)
    }

    /// The inodes among which that of an object's directory is. New directories go to all groups by turns.
    pub(super) fn directory(&self, object: u64) -> Range<u64> {
        cluster(self.directories_of(object % self.groups), object / self.groups)
    }

    /// A place for an object's file: the first in its group.
    pub(super) fn take(&mut self, object: u64) -> Slot {
        let group = if self.spread { object % self.groups } else { 0 };
        let n = group as usize;
        let index = self.free[n].pop_first().unwrap_or_else(|| {
            self.taken[n] += 1;
            self.taken[n] - 1
        });
        Slot { group, index }
    }

    /// A file is gone.
    pub(super) fn give_up(&mut self, slot: Slot) {
        self.free[slot.group as usize].insert(slot.index);
    }
}

/// The cluster of the inode of that number behind `first`.
fn cluster(first: u64, inode: u64) -> Range<u64> {
    let start = first + inode * INODE / CLUSTER * CLUSTER;
    start..start + CLUSTER
}
