//! Room for a writer.

use std::rc::Rc;

use cygnus_format::Geometry;
use cygnus_types::{GroupId, SegmentId};

use crate::space::segments::SegIx;
use crate::write::lane::Lane;

/// A segment granted to a writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    pub seg: SegIx,
    pub group: GroupId,
    pub segment: SegmentId,
    pub segment_seq: u64,
    /// The shape of its columns and stripes, by what it is protected by.
    pub shape: Geometry,
}

/// What gives writers room, and makes room for more: those who keep space and see to flushes, for whom writers need not
/// know. Whoever has writers is that.
pub(crate) trait Room {
    /// A segment for a lane, in that group if one is named; waits until there is one. `None` when the array closes, or if the lane is
    /// not to wait and there is none.
    fn grant(self: &Rc<Self>, lane: Lane, to: Option<GroupId>) -> impl Future<Output = Option<Grant>>;

    /// Takes back a segment that was granted and is of no use.
    fn give_back(&self, grant: Grant);

    /// Makes what was acknowledged durable, for nobody.
    fn destage(self: &Rc<Self>) -> impl Future<Output = ()>;
}
