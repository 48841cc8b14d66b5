//! What threads share, from the standard library. The models in `crates/threads` compile the files that use it once more, with
//! types in this place under which all orders of events are tried.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// How many of something there are: `many`, but for models, in which each costs time.
pub(crate) const fn few(many: usize) -> usize {
    many
}
