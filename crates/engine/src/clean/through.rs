//! How far cleaning has come in a victim.

use cygnus_format::MapEntry;
use cygnus_types::{Lba, VolumeId};

/// How far a victim was gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    /// From the first stripe to the last; this many blocks cannot be read.
    All { unread: u32 },
    /// The array stops, there is no room, or its group takes the clients' writes now.
    Part,
    /// To a block that cannot be read.
    UpTo(Unread),
}

/// A current block that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    pub volume: VolumeId,
    pub lba: Lba,
    pub entry: MapEntry,
}
