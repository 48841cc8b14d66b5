//! What an array does for its users, as a future of known type.

use std::pin::Pin;

/// An operation of an array under way.
///
/// Boxed, so that the whole of it is compiled in this crate, once. (The compiler makes the code of an `async fn` where it
/// is awaited: in each program that uses the engine, most of the engine again.) Only what a request of 4 KiB goes through
/// is not, so that it costs no allocation.
pub type Work<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
