//! What more cores give: the same load on each reactor of one array, with one reactor, two, four and so on.
//!
//! Each reactor makes its own requests of one volume, so no socket and no client stands between. A row has the rate of all
//! reactors together, from the first request to the last answer, and what it is of the rate of one reactor.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use cygnus_engine::{Array, ArrayHandle, CreateOptions, OpenOptions, Volume, VolumeError, create};
use cygnus_policy::Preset;
use cygnus_runtime::{Event, Runtime};
use cygnus_types::{ByteSize, ReactorId};
use cygnus_uring::{Config, Device, Pinning, Reactor, spawn_reactors};
use serde::Serialize;

use crate::engine::{BenchError, EngineOptions, Silent};
use crate::load::Load;

/// How often each number of cores is measured, on a fresh array each time.
const ROUNDS: usize = 5;
/// Distance in the sequence of blocks between the loads of two cores.
const APART: u64 = 1 << 32;
const HOME: ReactorId = ReactorId(0);
const VOLUME: &str = "v";

/// What a number of cores did.
#[derive(Clone, Debug, Serialize)]
pub struct CoresRow {
    /// Random requests of 4 KiB, in words.
    pub workload: &'static str,
    /// Reactors, each on a core of its own.
    pub cores: usize,
    /// Requests per second of all of them, median of the rounds.
    pub per_second: f64,
    /// The least and the greatest of the rounds.
    pub range: (f64, f64),
    /// `per_second` by that of one core.
    pub of_one: f64,
}

/// What reactors do at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Over a part of the volume that was never written.
    Writes,
    Reads,
    /// Once the volume is full and was overwritten, so that each write has cleaning beside it.
    WritesBesideCleaning,
}

impl Phase {
    const ALL: [Self; 3] = [Self::Writes, Self::Reads, Self::WritesBesideCleaning];

    fn name(self) -> &'static str {
        match self {
            Self::Writes => "write, nothing to clean",
            Self::Reads => "read",
            Self::WritesBesideCleaning => "write, cleaning",
        }
    }
}

/// From home to a peer.
enum ToPeer {
    Attach(ArrayHandle),
    /// Make so many requests, then say [`Ended`].
    Begin(Phase, u64),
    /// The array is closed.
    Exit,
}

/// From a peer to home.
struct Ended(Result<(), VolumeError>);

/// Measures one core, two, four, and so on up to `most`, on memory devices; see the module's text.
///
/// # Errors
/// See [`BenchError`]; more cores than this process may run on are among them.
pub fn run_cores(options: &EngineOptions, most: usize, progress: impl Fn(&str)) -> Result<Vec<CoresRow>, BenchError> {
    let mut numbers: Vec<usize> = (0..).map(|n| 1 << n).take_while(|&cores| cores < most).collect();
    numbers.push(most);
    let mut rates = vec![Vec::new(); numbers.len()];
    for round in 0..ROUNDS {
        for (cores, rates) in numbers.iter().zip(&mut rates) {
            progress(&format!("round {} of {ROUNDS}: {cores} of {most} cores", round + 1));
            rates.push(measured(options, *cores)?);
        }
    }
    let rows = |(nth, phase): (usize, Phase)| {
        let median = |rates: &[[f64; 3]]| sorted(rates, nth)[ROUNDS / 2];
        let one = median(&rates[0]);
        let row = move |(&cores, rates): (&usize, &Vec<[f64; 3]>)| {
            let all = sorted(rates, nth);
            let per_second = median(rates);
            let range = (all[0], all[ROUNDS - 1]);
            CoresRow { workload: phase.name(), cores, per_second, range, of_one: per_second / one }
        };
        numbers.iter().zip(&rates).map(row).collect::<Vec<_>>()
    };
    Ok(Phase::ALL.into_iter().enumerate().flat_map(rows).collect())
}

fn sorted(rates: &[[f64; 3]], nth: usize) -> Vec<f64> {
    let mut all: Vec<f64> = rates.iter().map(|of| of[nth]).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// The rate of each phase on a fresh array with so many reactors.
fn measured(options: &EngineOptions, cores: usize) -> Result<[f64; 3], BenchError> {
    let width = usize::from(options.data) + usize::from(options.parity);
    let memory = |n| Device::memory(&format!("memory{n}"), options.device.0, true);
    let config = Config {
        reactors: cores,
        pinning: if options.pin { Pinning::EachOwnCore } else { Pinning::Free },
        devices: (0..width).map(memory).collect::<Result<_, _>>()?,
        ..Config::default()
    };
    let options = options.clone();
    let reactors = spawn_reactors(&config, async move |reactor| match reactor.rt.id() {
        HOME => home(reactor, &options, cores).await.map(Some),
        _ => peer(&reactor.rt, options.depth).await.map(|()| None),
    })?;
    let mut ended = reactors.join().into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(ended.swap_remove(HOME.index()).expect("home has measured"))
}

fn load(rt: &Runtime, volume: Volume, depth: usize) -> Load {
    Load { rt: rt.clone(), volume, depth, from: APART * u64::from(rt.id().0) }
}

/// A reactor's share of a phase.
async fn carry_out(load: &Load, phase: Phase, requests: u64) -> Result<(), VolumeError> {
    match phase {
        Phase::Writes | Phase::WritesBesideCleaning => load.random_writes(requests).await.map(drop),
        Phase::Reads => load.random_reads(requests).await.map(drop),
    }
}

async fn peer(rt: &Runtime, depth: usize) -> Result<(), BenchError> {
    let peer = match *rt.recv_msg().await.downcast::<ToPeer>().expect("home speaks first, and only so") {
        ToPeer::Attach(handle) => handle.attach(rt),
        ToPeer::Begin(..) | ToPeer::Exit => return Ok(()),
    };
    let load = load(rt, peer.volume(VOLUME).expect("home made it before"), depth);
    loop {
        let Some(message) = peer.handle_message(rt.recv_msg().await) else { continue };
        match *message.downcast::<ToPeer>().expect("the engine takes its own messages") {
            ToPeer::Begin(phase, requests) => {
                let (rt, load) = (rt.clone(), load.clone());
                rt.clone().spawn(async move {
                    rt.send_msg(HOME, Box::new(Ended(carry_out(&load, phase, requests).await)));
                });
            }
            ToPeer::Attach(_) | ToPeer::Exit => return Ok(()),
        }
    }
}

/// What peers have said, for the task that waits for it.
#[derive(Default)]
struct Heard {
    ended: RefCell<Vec<Result<(), VolumeError>>>,
    more: Event,
}

async fn home(reactor: Reactor, options: &EngineOptions, cores: usize) -> Result<[f64; 3], BenchError> {
    let rt = &reactor.rt;
    let tell = |message: fn() -> ToPeer| {
        (1..cores).for_each(|peer| rt.send_msg(ReactorId(peer as u16), Box::new(message())));
    };
    let result = measure_here(&reactor, options, cores).await;
    tell(|| ToPeer::Exit);
    result
}

async fn measure_here(reactor: &Reactor, options: &EngineOptions, cores: usize) -> Result<[f64; 3], BenchError> {
    let (rt, devices) = (&reactor.rt, &reactor.devices);
    let shape = CreateOptions::new("bench", Preset::LogRaid, 1, options.data, options.parity);
    create(rt, devices, &CreateOptions { force: true, ..shape }).await?;
    let open = OpenOptions { reactors: cores, ..OpenOptions::new(Arc::new(Silent)) };
    let array = Array::open(rt, devices, &open).await?;
    let size = array.status().usable.0 / (1 << 20) * (1 << 20);
    let volume = array.create_volume(VOLUME, ByteSize(size), 0).await?;
    let heard = Rc::new(Heard::default());
    rt.spawn({
        let (rt, array, heard) = (rt.clone(), array.clone(), heard.clone());
        async move {
            loop {
                let Some(message) = array.handle_message(rt.recv_msg().await) else { continue };
                let Ended(result) = *message.downcast::<Ended>().expect("peers say nothing else");
                heard.ended.borrow_mut().push(result);
                heard.more.notify();
            }
        }
    });
    (1..cores).for_each(|peer| {
        rt.send_msg(ReactorId(peer as u16), Box::new(ToPeer::Attach(array.handle(cores))));
    });
    let load = load(rt, volume, options.depth);
    let blocks = load.volume_blocks();
    let all = async |phase, requests: u64| {
        let each = requests / cores as u64;
        let begun = Instant::now();
        (1..cores).for_each(|peer| {
            rt.send_msg(ReactorId(peer as u16), Box::new(ToPeer::Begin(phase, each)));
        });
        carry_out(&load, phase, each).await?;
        while heard.ended.borrow().len() < cores - 1 {
            heard.more.wait().await;
        }
        heard.ended.take().into_iter().collect::<Result<(), _>>()?;
        Ok::<f64, BenchError>((each * cores as u64) as f64 / begun.elapsed().as_secs_f64())
    };
    let writes = all(Phase::Writes, blocks / 2).await?;
    let reads = all(Phase::Reads, blocks).await?;
    load.fill().await?;
    all(Phase::WritesBesideCleaning, blocks * 2).await?;
    let beside_cleaning = all(Phase::WritesBesideCleaning, blocks).await?;
    Ok([writes, reads, beside_cleaning])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_and_two_do_all_of_it() {
        let options = EngineOptions { device: ByteSize(32 << 20), pin: false, ..EngineOptions::default() };
        let rows = run_cores(&options, 2, |_| {}).unwrap();
        let told: Vec<_> = rows.iter().map(|row| (row.workload, row.cores)).collect();
        let of = |phase: Phase| [(phase.name(), 1), (phase.name(), 2)];
        assert_eq!(told, Phase::ALL.map(of).concat());
        assert!(rows.iter().all(|row| row.range.0 > 0.0 && row.range.0 <= row.per_second), "{rows:?}");
        assert!(rows.iter().filter(|row| row.cores == 1).all(|row| row.of_one == 1.0));
    }
}
