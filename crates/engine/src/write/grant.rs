//! Room for a writer.

use crate::space::segments::SegIx;
use cygnus_types::GroupId;
use cygnus_types::SegmentId;

/// A segment granted to a writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    pub seg: SegIx,
    pub group: GroupId,
    pub segment: SegmentId,
    pub segment_seq: u64,
}
