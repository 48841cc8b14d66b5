//! Keys and values in a volume: a second kind of front-end on an array, beside block protocols (SALSA, MASCOTS'18, section 3.4, has several on one pool).
//!
//! The volume is a header and two halves. Records are appended to one half; where they are is known by an index in memory, which
//! opening builds anew from the records. When a half is full, what is current is written to the other one, the header names that one,
//! and the first is trimmed, so the array below gets its segments back as a whole.
//!
//! What [`Store::flush`] has covered survives power cuts, together with what the array's redundancy covers. What came later may be there
//! or not, each record as a whole, and none without those before it.
//!
//! One store at a time may be open on a volume, and whoever else writes to the volume destroys it.

mod error;
#[cfg(test)]
mod fickle;
mod head;
mod planted;
mod record;
mod store;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use record::{MAX_KEY, MAX_VALUE};
pub use store::{Store, Usage};
