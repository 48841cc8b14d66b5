//! What failures cost: reads without a member, reads beside a slow one, rebuilds and drains alone and beside clients.
//!
//! Latencies and rates come from modelled drives in virtual time ([`modelled`]), so they are the same on every machine;
//! the processor's share comes from devices in memory ([`memory`]), each figure beside the healthy one of the same run.

mod load;
mod memory;
mod modelled;

use cygnus_types::ByteSize;
use serde::Serialize;

use crate::engine::BenchError;

/// Data members of the one group; there is one parity member.
pub(crate) const DATA: u8 = 8;
/// Members of the group, the one with parity included.
pub(crate) const MEMBERS: usize = DATA as usize + 1;

/// The least data that a volume may hold: one write of those that fill it.
pub const LEAST_LIVE: ByteSize = ByteSize(modelled::PIECE);

/// What to measure.
#[derive(Clone, Debug)]
pub struct FailureOptions {
    /// Preset of the modelled drives, as `cygnus sim device` lists them.
    pub drive: String,
    /// Capacity of each modelled drive.
    pub drive_size: ByteSize,
    /// Bytes that the volume on the modelled drives holds before anything is measured.
    pub live: ByteSize,
    /// Requests that clients keep in flight.
    pub depth: u32,
    /// Requests that each row of latencies is taken from.
    pub requests: u32,
    /// Size of each device in memory, for what is measured on this machine.
    pub device: ByteSize,
}

impl Default for FailureOptions {
    fn default() -> Self {
        Self {
            drive: "850-pro".into(),
            drive_size: ByteSize(4 << 30),
            live: ByteSize(2 << 30),
            depth: 16,
            requests: 100_000,
            device: ByteSize(128 << 20),
        }
    }
}

/// How long requests took, in virtual time.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyRow {
    /// What clients did and what had failed, in words.
    pub name: String,
    /// Requests that the row is taken from.
    pub requests: u64,
    /// Requests answered per second of virtual time.
    pub per_second: f64,
    /// Mean latency in microseconds.
    pub mean_us: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the latencies, in microseconds.
    pub p99_us: f64,
    /// 99.9th percentile of the latencies, in microseconds.
    pub p99_9_us: f64,
    /// `p99_9_us` divided by that of the same requests when all members work.
    pub p99_9_times_healthy: f64,
}

/// How fast a job went, in virtual time.
#[derive(Clone, Debug, Serialize)]
pub struct JobRow {
    /// What was done, in words: a rebuild or a drain, alone or beside clients.
    pub name: String,
    /// Bytes of live data restored or copied.
    pub bytes: u64,
    /// Seconds of virtual time that it took.
    pub seconds: f64,
    /// `bytes` by `seconds`.
    pub bytes_per_second: f64,
    /// 99th percentile of the clients' requests meanwhile, in microseconds; absent if there were no clients.
    pub clients_p99_us: Option<f64>,
    /// 99th percentile of the same requests without the job, in microseconds; absent if there were no clients.
    pub idle_p99_us: Option<f64>,
}

/// What a read costs the processor of this machine, or how fast it restores data in memory.
#[derive(Clone, Debug, Serialize)]
pub struct MachineRow {
    /// What was measured, in words.
    pub name: String,
    /// The figure, in `unit`.
    pub value: f64,
    /// Unit of `value`.
    pub unit: &'static str,
    /// `value` divided by the same figure of a healthy array; absent of figures that have no such one.
    pub times_healthy: Option<f64>,
}

/// All figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct FailureReport {
    /// The array, its drives and its clients.
    pub shape: String,
    /// Latencies, the healthy ones first.
    pub latencies: Vec<LatencyRow>,
    /// Rebuilds and drains, alone and beside clients.
    pub jobs: Vec<JobRow>,
    /// Figures of this machine, on devices in memory.
    pub machine: Vec<MachineRow>,
}

/// Measures all of it; `progress` is told what begins.
///
/// # Errors
/// See [`BenchError`].
pub fn run_failures(options: &FailureOptions, progress: impl Fn(&str)) -> Result<FailureReport, BenchError> {
    let modelled = modelled::Bench::new(options)?;
    let (latencies, jobs) = (modelled.latencies(&progress)?, modelled.jobs(&progress)?);
    progress("devices in memory");
    let machine = memory::measure(options.device)?;
    Ok(FailureReport { shape: modelled.shape(), latencies, jobs, machine })
}
