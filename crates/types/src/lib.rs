//! The words every other crate speaks: time, addresses, identifiers and sizes as distinct types, so that a
//! logical address can never be handed over where a physical one is meant.
//!
//! Nothing here does I/O, allocates in a hot path or knows the on-disk layout; the arithmetic that turns a
//! [`Pba`] into a device and an offset belongs to `cygnus-format`'s geometry.

mod acknowledged;
mod address;
mod counted;
mod ids;
mod medium;
mod nanos;
mod paging;
mod prefetch;
mod rng;
mod size;
mod uuid;
pub mod zeros;

pub use acknowledged::{Acknowledged, ParseAcknowledgedError};
pub use address::{BLOCK, BLOCK_SHIFT, Lba, Pba};
pub use counted::{Counted, counted};
pub use ids::{GroupId, MemberIx, ReactorId, SegmentId, VolumeId};
pub use medium::{Constraint, Medium, OneTier, ParseMediumError, Tiers};
pub use nanos::Nanos;
pub use paging::{MAX_PAGE_BLOCKS, Paging, PagingError};
pub use prefetch::prefetch;
pub use rng::Rng;
pub use size::{ByteSize, ParseSizeError};
pub use uuid::{ParseUuidError, Uuid};
