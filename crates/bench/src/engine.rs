//! The engine alone on one reactor.

use std::sync::Arc;

use cygnus_engine::{
    Array, ArrayError, Autonomics, CreateOptions, Log, OpenOptions, VolumeAdminError, VolumeError, create,
};
use cygnus_format::DATA_START;
use cygnus_policy::Preset;
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_types::{BLOCK, ByteSize};
use cygnus_uring::{Config, Device, Pinning, StartError, block_on};

use crate::floor::Floor;
use crate::load::Load;
use crate::report::{EngineReport, Row};

/// Fresh arrays that a row is measured on. Writes of 256 KiB to the first one of a process took a third longer in two runs of three, by
/// old programs and new ones.
const ROUNDS: usize = 5;

/// What to run.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Data columns of the array, k.
    pub data: u8,
    /// Parity columns of the array, m.
    pub parity: u8,
    /// Size of each device in memory.
    pub device: ByteSize,
    /// Requests at once.
    pub depth: usize,
    /// Pin the reactor to a core.
    pub pin: bool,
    /// Height of a full stripe in blocks; `None`: the default.
    pub stripe_rows: Option<u32>,
    /// Whether data moves out of the way of contention.
    pub autonomics: Autonomics,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            data: 4,
            parity: 1,
            device: ByteSize(1 << 30),
            depth: 32,
            pin: true,
            stripe_rows: None,
            autonomics: Autonomics::Off,
        }
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The reactor did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The system refused something: memory for the devices, a process, a file.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// The array failed.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The volume could not be made.
    #[error(transparent)]
    Volume(#[from] VolumeAdminError),
    /// A request failed.
    #[error(transparent)]
    Request(#[from] VolumeError),
    /// A server could not be loaded.
    #[error(transparent)]
    Load(#[from] cygnus_target::loadgen::LoadError),
    /// More data than the array has room for.
    #[error("{live} of data are more than fit on {drives} drives of {drive}: at most {most} do")]
    TooMuch {
        /// What was asked for.
        live: ByteSize,
        /// How many drives there are.
        drives: usize,
        /// Bytes of each.
        drive: ByteSize,
        /// The most that fits.
        most: ByteSize,
    },
    /// A simulation did not come to its end.
    #[error("the simulation failed: {0}")]
    Simulation(String),
    /// Our own server did not start.
    #[error("the server did not start: {0}")]
    Server(String),
}

/// Says nothing.
pub(crate) struct Silent;

impl Log for Silent {
    fn line(&self, _: &str) {}
}

/// Runs all of it; `progress` is told what begins.
///
/// # Errors
/// See [`BenchError`].
pub fn run_engine(options: &EngineOptions, progress: impl Fn(&str)) -> Result<EngineReport, BenchError> {
    progress("measuring the floor of this machine");
    let (k, m) = (usize::from(options.data), usize::from(options.parity));
    let floor = Floor::measure(k, m, 256 << 20);
    let mut report = EngineReport {
        instruction_set: cygnus_parity::instruction_set().into(),
        shape: format!("log-raid {k}+{m}, devices of {}, depth {}", options.device, options.depth),
        floor: floor.rows(),
        engine: Vec::new(),
        cleaning_amplification: 0.0,
        theoretical_amplification: 0.0,
    };
    progress("null devices");
    let null = |i| Device::null(&format!("null{i}"), options.device.0, DATA_START);
    // Null devices give zeros, and only zeros were written here.
    let [writes, reads] = medians(options, null, random_writes_and_reads)?;
    report.engine.push(Row::new("null devices: 4 KiB random write", writes, BLOCK));
    report.engine.push(Row::new("null devices: 4 KiB random read", reads, BLOCK));
    progress("null devices, with autonomics");
    let moving = EngineOptions { autonomics: Autonomics::On, ..options.clone() };
    let [_, reads] = medians(&moving, null, random_writes_and_reads)?;
    report.engine.push(Row::new("null devices: 4 KiB random read, autonomics", reads, BLOCK));
    progress("memory devices");
    let memory = |i| Device::memory(&format!("memory{i}"), options.device.0, true);
    let [writes, reads] = medians(options, memory, random_writes_and_reads)?;
    report.engine.push(Row::new("memory devices: 4 KiB random write", writes, BLOCK).beside("floor", floor.write()));
    report.engine.push(Row::new("memory devices: 4 KiB random read", reads, BLOCK).beside("floor", floor.read()));
    let [whole] = medians(options, memory, async |run| Ok([run.load.sequential_writes(256 << 10).await?]))?;
    let of_blocks = floor.write() * ((256 << 10) / BLOCK) as f64;
    let row = Row::new("memory devices: 256 KiB sequential write", whole, 256 << 10);
    report.engine.push(row.beside("floor", of_blocks));
    progress("memory devices, steady state with cleaning");
    with_array(options, memory, async |run| {
        let blocks = run.load.volume_blocks();
        run.load.fill().await?;
        run.load.random_writes(blocks * 2).await?;
        let before = run.array.traffic();
        let steady = run.load.random_writes(blocks).await?;
        let after = run.array.traffic();
        let user = after.client_written - before.client_written;
        let moved = after.relocated - before.relocated;
        report.cleaning_amplification = (user + moved) as f64 / user as f64;
        report.theoretical_amplification = theory(run.live_share());
        let name = "memory devices: 4 KiB random write, cleaning";
        report.engine.push(Row::new(name, steady, BLOCK).beside("floor", floor.write()));
        Ok(())
    })?;
    Ok(report)
}

/// Nanoseconds of a write and of a read where nothing has to be cleaned yet.
async fn random_writes_and_reads(run: &Run) -> Result<[f64; 2], BenchError> {
    let writes = run.load.random_writes(run.load.volume_blocks() / 2).await?;
    Ok([writes, run.load.random_reads(run.load.volume_blocks()).await?])
}

/// Runs `body` on [`ROUNDS`] fresh arrays, one after the other. Returns the median of each of its numbers.
fn medians<const N: usize>(
    options: &EngineOptions,
    device: impl Fn(usize) -> std::io::Result<Device>,
    body: impl AsyncFn(&Run) -> Result<[f64; N], BenchError>,
) -> Result<[f64; N], BenchError> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        with_array(options, &device, async |run| {
            rounds.push(body(run).await?);
            Ok(())
        })?;
    }
    Ok(std::array::from_fn(|n| {
        let mut all: Vec<f64> = rounds.iter().map(|round| round[n]).collect();
        all.sort_unstable_by(f64::total_cmp);
        all[ROUNDS / 2]
    }))
}

/// Greedy or oldest-first cleaning under uniform random overwrites: a victim's share of valid blocks u solves
/// (u - 1) / ln u = live share of the space (Menon; SWAN section 3.5), and each victim yields 1 - u.
fn theory(live: f64) -> f64 {
    let (mut low, mut high) = (1e-9, 1.0 - 1e-9);
    for _ in 0..100 {
        let u: f64 = (low + high) / 2.0;
        if (u - 1.0) / u.ln() < live { low = u } else { high = u }
    }
    1.0 / (1.0 - low)
}

/// An open array with one volume on it, and who asks it.
pub(crate) struct Run {
    array: Array,
    pub(crate) load: Load,
}

/// A reactor with the devices of an array.
pub(crate) fn config(
    options: &EngineOptions,
    device: impl Fn(usize) -> std::io::Result<Device>,
) -> std::io::Result<Config> {
    let width = usize::from(options.data) + usize::from(options.parity);
    Ok(Config {
        pinning: if options.pin { Pinning::EachOwnCore } else { Pinning::Free },
        devices: (0..width).map(device).collect::<Result<_, _>>()?,
        ..Config::default()
    })
}

fn with_array(
    options: &EngineOptions,
    device: impl Fn(usize) -> std::io::Result<Device>,
    body: impl AsyncFnOnce(&Run) -> Result<(), BenchError>,
) -> Result<(), BenchError> {
    let config = config(options, device)?;
    block_on(&config, async |reactor| on_array(&reactor.rt, &reactor.devices, options, body).await)?
}

/// Runs `body` on a fresh array of these devices.
pub(crate) async fn on_array(
    rt: &Runtime,
    devices: &[DeviceInfo],
    options: &EngineOptions,
    body: impl AsyncFnOnce(&Run) -> Result<(), BenchError>,
) -> Result<(), BenchError> {
    let shape = CreateOptions::new("bench", Preset::LogRaid, 1, options.data, options.parity);
    create(rt, devices, &CreateOptions { force: true, stripe_rows: options.stripe_rows, ..shape }).await?;
    let open = OpenOptions { autonomics: options.autonomics, ..OpenOptions::new(Arc::new(Silent)) };
    let array = Array::open(rt, devices, &open).await?;
    let size = array.status().usable.0 / (1 << 20) * (1 << 20);
    let volume = array.create_volume("v", ByteSize(size), 0).await?;
    let load = Load { rt: rt.clone(), volume, depth: options.depth, from: 0 };
    body(&Run { array, load }).await
}

impl Run {
    /// Live data's share of what the segments hold.
    fn live_share(&self) -> f64 {
        let status = self.array.status();
        let capacity: u64 = status.groups.iter().map(|g| g.capacity_blocks).sum();
        status.mapped.0 as f64 / BLOCK as f64 / capacity as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_runs() {
        for (data, parity) in [(2, 0), (4, 1), (3, 2)] {
            let device = ByteSize(32 << 20);
            let options = EngineOptions { data, parity, device, pin: false, ..EngineOptions::default() };
            let report = run_engine(&options, |_| {}).unwrap();
            assert_eq!(report.engine.len(), 7);
            assert!(report.engine.iter().chain(&report.floor).all(|row| row.ns > 0.0), "{report:?}");
            assert!(report.cleaning_amplification >= 1.0, "{report:?}");
        }
    }
}
