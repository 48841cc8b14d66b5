//! Bugs planted in the devices.

use cygnus_sim::{DiskId, World};

/// A bug planted on purpose, to see that it is caught. All of them are in the devices' behaviour, so that no line of the
/// engine knows of them: each makes the devices do what they would if the engine had the bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// Nothing is wrong.
    #[default]
    Nothing,
    /// Every device acknowledges flushes and does nothing: as if the array skipped its flush barriers.
    FlushesIgnored,
}

impl Plant {
    /// Its name on the command line, if it is a bug.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::FlushesIgnored => Some("flushes-ignored"),
        }
    }

    pub(crate) fn into_disk(self, world: &World, disk: DiskId) {
        match self {
            Self::Nothing => {}
            Self::FlushesIgnored => world.ignore_flushes(disk, true),
        }
    }
}
