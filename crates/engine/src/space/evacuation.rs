//! A group that is being emptied as a whole.

use cygnus_types::GroupId;

use crate::space::segments::{SegIx, SegState, SegmentTable};

/// A group being emptied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evacuation {
    pub group: usize,
    /// Checkpoints begun for it.
    pub checkpoints: u32,
}

impl Evacuation {
    pub(crate) fn of(group: usize) -> Self {
        Self { group, checkpoints: 0 }
    }
}

/// Whether all of a group goes back at once.
pub(crate) fn is_whole_group(table: &SegmentTable, group: GroupId, going: &[SegIx]) -> bool {
    table.of_group(group).all(|seg| table.state(seg) == SegState::Free || going.contains(&seg))
}
