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
/// Members.
pub(crate) const MEMBERS: usize = DATA as usize + 1;

/// What to measure.
#[derive(Clone, Debug)]
pub struct FailureOptions {
    /// Drive preset.
    pub drive: String,
    /// Capacity of each modelled drive.
    pub drive_size: ByteSize,
    /// Data that the volume on them holds.
    pub live: ByteSize,
    /// Requests in flight.
    pub depth: u32,
    /// Requests of each latency measurement.
    pub requests: u32,
    /// Size of each device in memory.
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
    /// Of what.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Requests per second.
    pub per_second: f64,
    /// Mean in microseconds.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p99_9_us: f64,
    /// The 99.9th percentile beside that of the same requests when all is well.
    pub p99_9_times_healthy: f64,
}

/// How fast a job went, in virtual time.
#[derive(Clone, Debug, Serialize)]
pub struct JobRow {
    /// What was done.
    pub name: String,
    /// Live data restored or copied.
    pub bytes: u64,
    /// How long that took.
    pub seconds: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// 99th percentile of the clients' requests meanwhile, in microseconds, if there were any.
    pub clients_p99_us: Option<f64>,
    /// The same without the job.
    pub idle_p99_us: Option<f64>,
}

/// What a read costs the processor of this machine, or how fast it restores data in memory.
#[derive(Clone, Debug, Serialize)]
pub struct MachineRow {
    /// Of what.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// Beside the healthy figure.
    pub times_healthy: Option<f64>,
}

/// All figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct FailureReport {
    /// The array, its drives and its clients.
    pub shape: String,
    /// Latencies, the healthy ones first.
    pub latencies: Vec<LatencyRow>,
    /// Jobs.
    pub jobs: Vec<JobRow>,
    /// On this machine.
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
