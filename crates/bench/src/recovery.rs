//! What opening costs after a clean stop and after a crash, and what the map costs in memory.

use std::ops::Range;
use std::sync::Arc;

use cygnus_engine::{Array, CreateOptions, OpenOptions, RecoveryReport, Volume, VolumeError, create};
use cygnus_format::DATA_START;
use cygnus_policy::Preset;
use cygnus_runtime::Runtime;
use cygnus_types::{BLOCK, ByteSize, Nanos};
use cygnus_uring::{Config, Device, Reactor, block_on};
use serde::Serialize;

use crate::engine::{BenchError, Silent};

const GIB: f64 = (1u64 << 30) as f64;
const TIB: f64 = (1u64 << 40) as f64;
/// Devices of the array: 4+1.
const DEVICES: usize = 5;
/// Data for the memory measurement, on null devices: enough for the map to stand out.
const MAPPED: u64 = 32 << 30;
/// Of that, what comes before memory is looked at.
const FIRST: u64 = 4 << 30;
/// Bytes between flushes where memory is measured.
const FLUSHED: u64 = 256 << 20;
/// Bytes of one write.
const PIECE: u64 = 1 << 20;

/// Data that arrays without contents have room for.
const EMPTY: [u64; 2] = [1 << 40, 10 << 40];

/// A figure that was measured, with its unit.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// The figure, in `unit`.
    pub value: f64,
    /// Unit of `value`.
    pub unit: &'static str,
}

fn figure(name: &str, value: f64, unit: &'static str) -> Figure {
    Figure { name: name.into(), value, unit }
}

/// Measures all of it; `device` is the size of each of five devices in memory.
///
/// # Errors
/// See [`BenchError`].
pub fn run_recovery(device: ByteSize, progress: impl Fn(&str)) -> Result<Vec<Figure>, BenchError> {
    let mut figures = Vec::new();
    progress("memory of the map");
    figures.push(figure("memory for each TiB of data", map_memory()? * TIB / MAPPED as f64 / GIB, "GiB"));
    progress("filling an array in memory");
    let devices: Vec<Device> =
        (0..DEVICES).map(|n| Device::memory(&format!("memory{n}"), device.0, true)).collect::<Result<_, _>>()?;
    let size = device.0 * 2;
    session(&devices, async |reactor| {
        make(reactor, size).await?;
        let (array, volume) = open(reactor).await?;
        write(&reactor.rt, &volume, 0..size).await?;
        Ok(array.close().await?)
    })?;
    progress("opening after a clean stop, then a crash");
    let after = device.0 / 2;
    let clean = session(&devices, async |reactor| {
        let (array, volume) = open(reactor).await?;
        array.checkpoint().await?;
        write(&reactor.rt, &volume, 0..after).await?;
        volume.flush().await?;
        Ok(array.recovery().clone())
        // And no close: to the devices this is a crash.
    })?;
    figures.push(figure(
        "opening after a clean stop, for each TiB of data",
        seconds(&clean, None) * TIB / size as f64,
        "s",
    ));
    progress("opening after a crash");
    let crashed = session(&devices, async |reactor| Ok(open(reactor).await?.0.recovery().clone()))?;
    let written = after as f64 / GIB;
    let replay = seconds(&crashed, Some("scan")) + seconds(&crashed, Some("replay"));
    figures.push(figure("scan and replay, for each GiB written since the checkpoint", replay / written, "s"));
    figures.push(figure("stripes that no flush was known to cover", crashed.tail_stripes as f64, "stripes"));
    figures.push(figure("opening after that crash in all", seconds(&crashed, None), "s"));
    progress("opening arrays without contents that were not stopped");
    for size in EMPTY {
        let what = format!("opening an array of {} without contents that was not stopped", ByteSize(size));
        figures.push(figure(&what, empty(size)?, "s"));
    }
    Ok(figures)
}

/// Of one step, or of all together.
fn seconds(report: &RecoveryReport, step: Option<&str>) -> f64 {
    let times = report.steps.iter().filter(|(name, _)| step.is_none_or(|step| *name == step)).map(|(_, time)| *time);
    times.fold(Nanos::ZERO, |sum, time| sum + time).0 as f64 / 1e9
}

/// Seconds of opening an array for so much data that was not stopped and in which nothing was ever written. Its devices keep the
/// superblocks and give zeros for all else, at once: the time is the program's.
fn empty(size: u64) -> Result<f64, BenchError> {
    let column = size / (DEVICES as u64 - 1);
    let devices: Vec<Device> =
        (0..DEVICES).map(|n| Device::null(&format!("null{n}"), column, DATA_START)).collect::<Result<_, _>>()?;
    session(&devices, async |reactor| {
        make(reactor, 1 << 30).await?;
        // And no close.
        Ok(open(reactor).await?.0.recovery().was_clean)
    })?;
    let crashed = session(&devices, async |reactor| Ok(open(reactor).await?.0.recovery().clone()))?;
    Ok(seconds(&crashed, None))
}

/// Resident bytes that mapping [`MAPPED`] bytes of data adds.
fn map_memory() -> Result<f64, BenchError> {
    let devices: Vec<Device> =
        (0..DEVICES).map(|n| Device::null(&format!("null{n}"), MAPPED / 2, DATA_START)).collect::<Result<_, _>>()?;
    session(&devices, async |reactor| {
        make(reactor, MAPPED).await?;
        let (_array, volume) = open(reactor).await?;
        // The buffers come first, and flushes keep the records of what was written small, so that only the map is left to grow.
        write_and_flush(&reactor.rt, &volume, 0..FIRST).await?;
        let before = resident()?;
        write_and_flush(&reactor.rt, &volume, FIRST..MAPPED).await?;
        Ok((resident()? - before) * MAPPED as f64 / (MAPPED - FIRST) as f64)
    })
}

fn resident() -> Result<f64, BenchError> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0.0);
    Ok(pages * BLOCK as f64)
}

fn session<T>(devices: &[Device], body: impl AsyncFnOnce(&Reactor) -> Result<T, BenchError>) -> Result<T, BenchError> {
    let config = Config { devices: devices.to_vec(), ..Config::default() };
    block_on(&config, async |reactor| body(&reactor).await)?
}

async fn make(reactor: &Reactor, size: u64) -> Result<(), BenchError> {
    let shape = CreateOptions::new("bench", Preset::LogRaid, 1, 4, 1);
    create(&reactor.rt, &reactor.devices, &CreateOptions { force: true, ..shape }).await?;
    let array = Array::open(&reactor.rt, &reactor.devices, &options()).await?;
    array.create_volume("v", ByteSize(size), 0).await?;
    Ok(array.close().await?)
}

fn options() -> OpenOptions {
    OpenOptions::new(Arc::new(Silent))
}

async fn open(reactor: &Reactor) -> Result<(Array, Volume), BenchError> {
    let array = Array::open(&reactor.rt, &reactor.devices, &options()).await?;
    let volume = array.volume("v").expect("it was made");
    Ok((array, volume))
}

async fn write(rt: &Runtime, volume: &Volume, range: Range<u64>) -> Result<(), VolumeError> {
    let piece = rt.alloc(PIECE as usize).full();
    piece.zero(0..piece.len());
    for at in range.step_by(PIECE as usize) {
        volume.write(at, piece.clone()).await?;
    }
    Ok(())
}

/// Writes, with a flush behind every [`FLUSHED`] bytes.
async fn write_and_flush(rt: &Runtime, volume: &Volume, range: Range<u64>) -> Result<(), VolumeError> {
    for at in range.step_by(FLUSHED as usize) {
        write(rt, volume, at..at + FLUSHED).await?;
        volume.flush().await?;
    }
    Ok(())
}
