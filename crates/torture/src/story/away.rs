//! Members that do not do their work, for a while or for good.

use cygnus_runtime::IoErrorKind;
use cygnus_sim::{DiskId, World};
use cygnus_types::Nanos;

/// Some members are in trouble for a while.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Passing {
    pub(crate) sort: Sort,
    /// How long it lasts.
    pub(crate) span: Nanos,
    pub(crate) members: Vec<usize>,
}

/// Before an opening a group lacks more members than its parity covers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Force {
    /// Devices that are gone for good. The others of their groups, whatever was the matter with them, are here and do what
    /// they are told.
    pub(crate) without: Vec<usize>,
    /// Power cuts while the array is opened by force: after so many steps each.
    pub(crate) cuts: Vec<u64>,
}

/// A member is not there when the array is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absent {
    pub(crate) member: usize,
    /// How long after clients begin its device is where it was.
    pub(crate) until: Nanos,
}

/// What they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Nothing completes.
    Hang,
    /// They are not there.
    Away,
    /// The way to them is lost.
    Severed,
    /// The file system below has no room.
    Full,
    /// Every write fails, and nobody says whether for good.
    Err,
    /// They have no power, and lose what no flush has covered.
    Unpowered,
}

impl Sort {
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Hang, "hang"),
        (Self::Away, "away"),
        (Self::Severed, "severed"),
        (Self::Full, "full"),
        (Self::Err, "err"),
        (Self::Unpowered, "unpowered"),
    ];
    /// Those in which a device keeps all that it has taken.
    pub(super) const LOSSLESS: [Self; 5] = [Self::Hang, Self::Away, Self::Severed, Self::Full, Self::Err];

    pub(crate) fn begin(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.hang(disk, None),
            Self::Away => world.kill(disk),
            Self::Severed => world.fail_everything(disk, Some(IoErrorKind::Path)),
            Self::Full => world.fail_writes(disk, Some(IoErrorKind::NoSpace)),
            Self::Err => world.fail_writes(disk, Some(IoErrorKind::Unclear)),
            Self::Unpowered => world.lose_power_of(disk),
        }
    }

    pub(crate) fn end(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.release(disk),
            Self::Away | Self::Unpowered => world.revive(disk),
            Self::Severed => world.fail_everything(disk, None),
            Self::Full | Self::Err => world.fail_writes(disk, None),
        }
    }
}
