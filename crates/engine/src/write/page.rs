//! A page of a checkpoint, on its way into a stripe.

use cygnus_format::Kind;
use cygnus_types::{BLOCK, Lba, VolumeId};

/// A block that no map points to: part of the maps, or of the table of segments.
pub(crate) struct Page {
    pub kind: Kind,
    pub volume: VolumeId,
    /// The first address, or the number, that it is about.
    pub first: Lba,
    pub bytes: Box<[u8; BLOCK]>,
}
