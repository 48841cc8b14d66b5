//! Seeded torture of whole arrays, with an oracle that knows what every read may return.

mod block;
mod client;
pub mod content;
#[cfg(test)]
mod memory;
mod oracle;
mod target;

pub use oracle::Violation;
