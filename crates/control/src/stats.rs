//! The snapshot behind the live view: small, cheap to take, asked for several times a second.

use crate::status::{DeviceCounters, GroupStatus, WriteCounters};
use serde::{Deserialize, Serialize};

/// What a serving array has counted up to one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// The moment, in nanoseconds since `serve` started.
    pub at_ns: u64,
    /// The R-groups in order, with their roles and segments.
    pub groups: Vec<GroupStatus>,
    /// Counters of each member, in the order of their numbers.
    pub devices: Vec<DeviceStats>,
    /// What clients asked for by NBD since `serve` started.
    pub client: ClientCounters,
    /// Bytes that went to the log, by reason.
    pub writes: WriteCounters,
    /// How often another R-group became the front-end since the array was opened; 0 where all groups take writes.
    pub rotations: u64,
    /// Segments that cleaning has emptied since the array was opened.
    pub cleaned_segments: u64,
    /// How long each written block is delayed because space is short, in nanoseconds; 0 while it is not.
    pub write_delay_ns: u64,
}

/// Whether one member works, and what it has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceStats {
    /// Number of the R-group that it belongs to, from 0.
    pub group: u32,
    /// Whether its state is `online`.
    pub online: bool,
    /// What was read from it and written to it since the array was opened.
    pub io: DeviceCounters,
}

/// What clients asked for since `serve` started. All but `connections` only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCounters {
    /// NBD connections that are open now.
    pub connections: u32,
    /// Read requests that were answered, with data or an error.
    pub reads: u64,
    /// Write requests that were answered.
    pub writes: u64,
    /// Bytes that read requests returned.
    pub read_bytes: u64,
    /// Bytes that write requests brought.
    pub written_bytes: u64,
    /// Flush requests that were answered.
    pub flushes: u64,
}
