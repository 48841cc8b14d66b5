//! How the commands and a running `cygnus serve` speak with each other, and how both show what they know.
//!
//! - [`protocol`]: requests and responses, one JSON object per line, each carrying `schema`.
//! - [`lines`]: bytes of a socket into lines, without doing I/O (the serving reactor owns the socket).
//! - [`ack`]: levels of acknowledgement in JSON.
//! - [`client`]: the blocking side, used by the short-lived commands.
//! - [`status`], [`stats`]: what an array, its groups, devices and volumes look like from outside.
//! - [`rates`]: two snapshots of ever-growing counters into bytes per second.
//! - [`render`], [`table`], [`paint`]: the same structs for people.
//! - [`show`]: rates and counts for people.

pub mod ack;
pub mod client;
mod device_status;
pub mod kept;
pub mod lines;
pub mod media;
pub mod paging;
pub mod paint;
pub mod protocol;
pub mod rates;
pub mod render;
pub mod room;
pub mod scrub;
pub mod shortage;
pub mod show;
pub mod stats;
pub mod status;
pub mod table;

/// The version of every JSON object this crate writes, on the control socket and under `--json`.
///
/// Adding a field keeps the number; removing one, renaming one or changing its meaning raises it.
pub const SCHEMA: u32 = 1;
