//! Plays a scenario through for one of its arrays.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_types::Nanos;
use cygnus_workload::recording::Shipped;
use cygnus_workload::trace::ReplayConfig;
use toml::Spanned;

use crate::aging::age;
use crate::cache::PageCache;
use crate::client::{self, Shared};
use crate::error::{LabError, Stop};
use crate::link::Link;
use crate::outcome::Outcome;
use crate::sampler::{Snapshot, sample};
use crate::scenario::{REPLAY_DEPTH, Scenario};
use crate::summary::Ended;
use crate::testbed::{Bench, Kind, Testbed};

/// Longer than any run: what ends by itself has no other end.
const FOR_EVER: Nanos = Nanos::secs(1 << 30);

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// Share of the aging's writes that are done, 0 to 1.
    Aging(f64),
    /// Virtual time since the clock was started.
    Running(Nanos),
}

/// Runs the scenario's array number `which`. `progress` is called now and then.
///
/// # Errors
/// When the array or its volume cannot be made (which names the line), a request fails, or time comes to an end.
///
/// # Panics
/// If there is no array of that number.
pub fn run(
    scenario: &Scenario,
    which: usize,
    seed: u64,
    progress: impl Fn(Progress) + 'static,
) -> Result<Outcome, LabError> {
    let part = &scenario.spec.array[which];
    let spec = &scenario.spec;
    let cpu = spec.cpu.as_ref().map(Spanned::as_ref);
    let (drive, others) = (scenario.drive()?, scenario.other_drives()?);
    let kind = |n: usize| {
        let section = scenario.devices_of(part.as_ref(), n);
        let its = others.iter().find(|(of, _)| std::ptr::eq(*of, section));
        Kind { drive: its.map_or(&drive, |(_, drive)| drive), section }
    };
    let drives: Vec<Kind<'_>> = (0..part.as_ref().devices()).map(kind).collect();
    let fabric = scenario.network.as_ref().map(|network| &network.topology);
    let bench = Rc::new(Bench::new(&drives, seed, cpu, fabric));
    let playing = play(bench.clone(), scenario.clone(), which, seed, Rc::new(progress));
    let ended = match bench.cores.len() {
        // The same, with less ado.
        1 => bench.cores.reactor(0).run(playing),
        _ => bench.cores.run(playing),
    };
    let at = bench.world.now();
    let array = part.as_ref().name().to_owned();
    match ended {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(Stop::Request(error))) => Err(LabError::Request { array, error }),
        Ok(Err(Stop::Workload(why))) => Err(scenario.wrong(&scenario.spec.workload, why).into()),
        Ok(Err(stop)) => Err(scenario.wrong(part, stop.to_string()).into()),
        Err(halt) => Err(LabError::Halted { array, halt, at }),
    }
}

/// Plays a recording from its beginning to its end before the clock starts.
async fn replay(bed: &Testbed, recording: &'static Shipped, size: u64) -> Result<(), Stop> {
    let source = ReplayConfig::closed_loop(recording, REPLAY_DEPTH).build(size);
    let shared = Rc::new(Shared::new(bed, Nanos::ZERO, FOR_EVER));
    client::start(&shared, &bed.seats[0], source.map_err(|why| Stop::Workload(why.to_string()))?);
    shared.all_ended().await?;
    Ok(())
}

async fn play(
    bench: Rc<Bench>,
    scenario: Scenario,
    which: usize,
    seed: u64,
    progress: Rc<dyn Fn(Progress)>,
) -> Result<Outcome, Stop> {
    let spec = &scenario.spec;
    let section = spec.array[which].as_ref();
    let bed = Rc::new(Testbed::set_up(&bench, &scenario, section).await?);
    let size = bed.home().store.size();
    let sources = spec.workload.as_ref().build(size, seed).map_err(|why| Stop::Workload(why.to_string()))?;
    let told = progress.clone();
    let aging = scenario.aging();
    age(bed.home(), &aging, Rc::new(move |share| told(Progress::Aging(share)))).await?;
    if let Some(recording) = aging.recording {
        replay(&bed, recording, size).await?;
    }

    let link = spec.network.as_ref().map(Spanned::as_ref).map(|network| Link::new(network.rate.0, network.latency.0));
    let cache = spec.cache.as_ref().map(|cache| PageCache::new(cache.as_ref(), &bed.seats[0]));
    let run = spec.run.as_ref();
    let mut shared = Shared::new(&bed, run.ramp.0, run.duration.0);
    (shared.link, shared.cache) = (link, cache);
    let shared = Rc::new(shared);
    let before = Snapshot::take(&bed, &shared);
    let samples = Rc::new(RefCell::new(Vec::new()));
    let told = progress.clone();
    let sampler = sample(
        bed.clone(),
        shared.clone(),
        run.sample.0,
        samples.clone(),
        Rc::new(move |at| told(Progress::Running(at))),
    );
    for (n, source) in sources.into_iter().enumerate() {
        client::start(&shared, &bed.seats[n % bed.seats.len()], source);
    }
    let ramp = sampler.await;
    shared.all_ended().await?;
    let after = Snapshot::take(&bed, &shared);
    let samples = samples.take();
    let (before, ramp, after) = (&before, &ramp, &after);
    let ended = Ended { scenario: &scenario, section, seed, bed: &bed, shared: &shared, before, ramp, after };
    Ok(ended.outcome(samples))
}
