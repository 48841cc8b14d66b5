//! The snapshot behind the live view: small, cheap to take, asked for several times a second.

use crate::status::{DeviceCounters, GroupStatus, WriteCounters};
use serde::{Deserialize, Serialize};

/// What a serving array has counted up to one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// The moment, in nanoseconds since `serve` started.
    pub at_ns: u64,
    /// The R-groups with their roles and segments.
    pub groups: Vec<GroupStatus>,
    /// The members' counters, in order.
    pub devices: Vec<DeviceStats>,
    /// Requests of clients.
    pub client: ClientCounters,
    /// Bytes that went to the log, by reason.
    pub writes: WriteCounters,
    /// How often another R-group became front-end.
    pub rotations: u64,
    /// Segments cleaned.
    pub cleaned_segments: u64,
    /// How long each written block is delayed because space is short, in nanoseconds; 0 while it is not.
    pub write_delay_ns: u64,
}

/// One member's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceStats {
    /// Its R-group.
    pub group: u32,
    /// Whether it works.
    pub online: bool,
    /// What it has done.
    pub io: DeviceCounters,
}

/// Ever-growing counters of what clients asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCounters {
    /// Connections open now.
    pub connections: u32,
    /// Reads answered.
    pub reads: u64,
    /// Writes answered.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes answered.
    pub flushes: u64,
}
