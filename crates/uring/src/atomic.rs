//! What threads share, from the standard library. The models in `crates/threads` compile the files that use it once more, with
//! types in this place under which all orders of events are tried.

pub(crate) use std::sync::atomic::{AtomicBool, Ordering, fence};
