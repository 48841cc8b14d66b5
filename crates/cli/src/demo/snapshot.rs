//! What the demo shows at one moment: plain data, so that the live view, the plain lines and the tests share it.

use cygnus_control::status::{DeviceRates, GroupRole};
use serde::{Serialize, Serializer};
use std::time::Duration;

/// What the demo is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Writing every block of the volume once, in random order.
    Filling,
    /// Writing random blocks, past the array's capacity.
    Overwriting,
    /// Reading every block back and comparing.
    Verifying,
}

impl Phase {
    /// The word for it on the terminal.
    pub fn title(self) -> &'static str {
        match self {
            Self::Filling => "filling",
            Self::Overwriting => "overwriting at random",
            Self::Verifying => "verifying every block",
        }
    }
}

/// One moment of the demo.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// Time since the client began.
    #[serde(serialize_with = "seconds", rename = "elapsed_seconds")]
    pub elapsed: Duration,
    /// What is being done.
    pub phase: Phase,
    /// How far the phase is, 0 to 1.
    pub progress: f64,
    /// The R-groups, by their number.
    pub groups: Vec<GroupView>,
    /// The members, in order.
    pub devices: Vec<DeviceView>,
    /// What the client sees: rates and latencies.
    pub client: ClientView,
    /// (client + moved) / client bytes, so far.
    pub write_amplification: Option<f64>,
    /// How often another R-group became front-end.
    pub rotations: u64,
    /// Bytes that cleaning has moved.
    pub cleaned_bytes: u64,
}

/// An R-group as shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupView {
    /// What it does now.
    pub role: GroupRole,
    /// Segments that hold nothing and may be written.
    pub free: u32,
    /// Segments of the group in all.
    pub segments: u32,
    /// Live share of its capacity, 0 to 1.
    pub live: f64,
}

/// A member as shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceView {
    /// Number of the R-group that it belongs to.
    pub group: u32,
    /// Bytes that it reads and writes per second, over the last interval.
    pub rates: DeviceRates,
}

/// What the client sees.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClientView {
    /// Requests answered per second, over the last interval.
    pub iops: f64,
    /// Bytes read and written per second, over the last interval.
    pub bytes_per_second: f64,
    /// Latency over the last interval.
    pub latency: Latency,
    /// Bytes written and read so far.
    pub moved_bytes: u64,
}

/// Percentiles of the time from a request to its reply; microseconds in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Half of the requests were faster.
    #[serde(serialize_with = "micros", rename = "p50_us")]
    pub p50: Duration,
    /// 99 % of the requests were answered within this time.
    #[serde(serialize_with = "micros", rename = "p99_us")]
    pub p99: Duration,
    /// 99.9 % of the requests were answered within this time.
    #[serde(serialize_with = "micros", rename = "p99_9_us")]
    pub p999: Duration,
    /// The slowest request took this long.
    #[serde(serialize_with = "micros", rename = "max_us")]
    pub max: Duration,
}

fn micros<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_nanos() as f64 / 1e3)
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

/// How the demo ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The state of the array and the rates at the end.
    pub last: Snapshot,
    /// Usable bytes of the array.
    pub capacity_bytes: u64,
    /// Bytes the client wrote in all.
    pub written_bytes: u64,
    /// Time it took to write them.
    #[serde(serialize_with = "seconds", rename = "write_seconds")]
    pub write_time: Duration,
    /// Latency over all writes.
    pub write_latency: Latency,
    /// Bytes that were read back and compared with what was written.
    pub verified_bytes: u64,
    /// 4 KiB blocks that were not what was written; 0 or the demo fails.
    pub wrong_blocks: u64,
    /// Whether the user or the time limit ended the writing before the plan was done.
    pub cut_short: bool,
}
