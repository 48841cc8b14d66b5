//! Devices whose zones are to be written in order, as members of an array.
//!
//! A zoned device (a shingled disk, zoned flash) takes writes of a sequential zone only where the zone's write pointer stands, and
//! forgets a zone as a whole. The engine writes almost in that way: a segment's column is filled from its first row to its last, and
//! discarded as a whole before it is filled anew. [`ZonedDevice`] sees to the rest, between the engine and the device
//! ([`cygnus_runtime::Interposer`]), so the engine writes anywhere, as on any device:
//!
//! * The writes of a zone go to the device one after the other, in the order in which they were submitted ([`table`]).
//! * What is written beyond the pointer is preceded by zeros up to there.
//! * What is written before the pointer is a *patch*: it goes to an area in the conventional zones, with a block that says what it
//!   replaces ([`patch`]). Reads find it there ([`read`]), until the zone is reset.
//! * Where there is no room for a patch, the zone is rewritten with all its patches in their places ([`rewrite`]).
//! * A trim resets the zones that lie in it as a whole. Nothing else is trimmed.
//! * What lies behind the pointer reads as zeros, whatever the device would say.
//!
//! Zoned flash (ZNS) often has no conventional zones, cannot be written up to the end of each, and takes only so many that are partly
//! written. There a log in the first zones holds what lies in conventional ones elsewhere ([`head_log`]), addresses have no holes
//! ([`beneath`]), and zones that are written no more are finished ([`active`]).
//!
//! Else addresses are those of the device. Its first conventional zones hold the superblocks, and behind these the patches and room for one zone
//! ([`Shape`]); segments begin behind all of that, at a multiple of the zone, and have whole zones.
//!
//! A patch is rare: rows that a member had not taken while it was silent, headers that are spoiled or cleared where they lie, what a
//! server that was killed had under way.

mod active;
mod active_set;
mod beneath;
mod device;
mod ground;
mod head_log;
mod interpose;
mod load;
mod logged;
mod once;
mod patch;
mod patches;
mod pieces;
mod read;
mod reset;
mod restore;
mod rewrite;
mod sealed;
mod shape;
mod table;
mod turn;
mod write;

pub use device::ZonedDevice;
pub use head_log::{LogRecord, What};
pub use patch::{AreaHeader, Patch, SwapRecord};
pub use shape::{Beneath, HEAD, LogShape, Shape, ShapeError};
pub use table::Zoned;
