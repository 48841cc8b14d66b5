//! What a read without its member costs the processor, and how fast data is restored when devices cost nothing but the
//! moving of it: on devices in memory, one core.

use std::sync::Arc;

use cygnus_engine::{Array, CreateOptions, JobState, OpenOptions, Volume, create};
use cygnus_policy::Preset;
use cygnus_runtime::{Rng, Runtime};
use cygnus_types::{BLOCK, ByteSize, MemberIx, Nanos};
use cygnus_uring::{Config, Device, Reactor, block_on};

use super::{DATA, MEMBERS, MachineRow};
use crate::cpu::CpuClock;
use crate::engine::{BenchError, Silent};

/// Reads in each measurement.
const READS: u64 = 200_000;
/// The member that is away.
const AWAY: usize = 4;
/// Bytes of one write.
const PIECE: usize = 256 << 10;

/// Measures all of it on devices of this size.
pub(super) fn measure(size: ByteSize) -> Result<Vec<MachineRow>, BenchError> {
    let devices: Vec<Device> =
        (0..=MEMBERS).map(|n| Device::memory(&format!("memory{n}"), size.0, true)).collect::<Result<_, _>>()?;
    let healthy = session(&devices, 1, async |reactor| {
        let all = &reactor.devices[..MEMBERS];
        let how = CreateOptions::new("bench", Preset::LogRaid, 1, DATA, 1);
        create(&reactor.rt, all, &CreateOptions { force: true, ..how }).await?;
        let (array, volume) = open(reactor, |_| true).await?;
        fill(&reactor.rt, &volume).await?;
        let ns = reads(&reactor.rt, &volume).await?;
        array.close().await?;
        Ok(ns)
    })?;
    // One of nine reads meets the member that is away.
    let degraded = session(&devices, 2, async |reactor| {
        let (array, volume) = open(reactor, |n| n != AWAY).await?;
        let ns = reads(&reactor.rt, &volume).await?;
        array.close().await?;
        Ok(ns)
    })?;
    let rebuild = session(&devices, 3, async |reactor| {
        let (array, _volume) = open(reactor, |n| n != AWAY).await?;
        let member = MemberIx(AWAY as u16);
        let replaced = array.replace(member, &reactor.devices[MEMBERS], true).await;
        let id = replaced.map_err(|error| BenchError::Simulation(error.to_string()))?;
        let rate = rate_of(&reactor.rt, &array, id).await?;
        array.close().await?;
        Ok(rate)
    })?;
    let lost = (degraded - healthy) * MEMBERS as f64 + healthy;
    let row = |name: &str, value, unit, times_healthy| MachineRow { name: name.into(), value, unit, times_healthy };
    Ok(vec![
        row("processor time of a 4 KiB read, all well", healthy, "ns", None),
        row("the same, one of nine members away", degraded, "ns", Some(degraded / healthy)),
        row("of it a read that had to be reconstructed", lost, "ns", Some(lost / healthy)),
        row("rebuild of a member's live data in memory", rebuild / 1e6, "MB/s", None),
    ])
}

/// `seed`: identities are drawn from it, and no two sessions may draw the same.
fn session<T>(
    devices: &[Device],
    seed: u64,
    body: impl AsyncFnOnce(&Reactor) -> Result<T, BenchError>,
) -> Result<T, BenchError> {
    let config = Config { devices: devices.to_vec(), seed, ..Config::default() };
    block_on(&config, async |reactor| body(&reactor).await)?
}

async fn open(reactor: &Reactor, is_there: impl Fn(usize) -> bool) -> Result<(Array, Volume), BenchError> {
    let members = (0..MEMBERS).filter(|&n| is_there(n)).map(|n| reactor.devices[n].clone());
    let members: Vec<_> = members.collect();
    let options = OpenOptions::new(Arc::new(Silent));
    let array = Array::open(&reactor.rt, &members, &options).await?;
    let volume = match array.volume("v") {
        Some(volume) => volume,
        None => {
            let size = array.status().usable.0 / 10 * 6 / PIECE as u64 * PIECE as u64;
            array.create_volume("v", ByteSize(size), 0).await?
        }
    };
    Ok((array, volume))
}

async fn fill(rt: &Runtime, volume: &Volume) -> Result<(), BenchError> {
    let mut buf = rt.alloc(PIECE);
    let mut rng = Rng::new(1);
    buf.bytes_mut().chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&rng.next_u64().to_le_bytes()));
    let piece = buf.full();
    for at in (0..volume.size()).step_by(PIECE) {
        volume.write(at, piece.clone()).await?;
    }
    Ok(volume.flush().await?)
}

/// Nanoseconds of processor time for each random read of a block.
async fn reads(rt: &Runtime, volume: &Volume) -> Result<f64, BenchError> {
    let clock = CpuClock::of_process(std::process::id())?;
    let mut rng = Rng::new(2);
    let mut buf = rt.alloc(BLOCK).full();
    let mut begun = clock.read()?;
    for n in 0..READS + READS / 10 {
        if n == READS / 10 {
            begun = clock.read()?;
        }
        buf = volume.read(rng.below(volume.size() / BLOCK as u64) * BLOCK as u64, buf).await?;
    }
    Ok(clock.read()?.saturating_sub(begun).as_nanos() as f64 / READS as f64)
}

/// Bytes per second of a job, waited for.
async fn rate_of(rt: &Runtime, array: &Array, id: u64) -> Result<f64, BenchError> {
    loop {
        let job = array.jobs().into_iter().find(|job| job.id == id).expect("it was begun");
        match job.state {
            JobState::Running => rt.sleep(Nanos::millis(1)).await,
            JobState::Done => return Ok(job.rate),
            other => return Err(BenchError::Simulation(format!("the rebuild ended with {other:?}"))),
        }
    }
}
