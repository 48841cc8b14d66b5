//! Clients that keep a number of random 4 KiB requests in flight, and how long each of these took.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_engine::{Volume, VolumeError};
use cygnus_runtime::{Rng, Runtime};
use cygnus_types::{BLOCK, Nanos};

/// How often to look whether it is enough.
const LOOK: Nanos = Nanos::micros(100);

/// What clients do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Requests in flight.
    pub depth: u32,
    /// Of 100 requests, how many are reads.
    pub read_percent: u64,
}

/// What was measured.
#[derive(Default)]
pub(crate) struct Latencies {
    sorted: Vec<u64>,
    took: Nanos,
}

impl Latencies {
    pub(crate) fn count(&self) -> u64 {
        self.sorted.len() as u64
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.count() as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// Microseconds.
    pub(crate) fn mean(&self) -> f64 {
        self.sorted.iter().sum::<u64>() as f64 / 1e3 / (self.count().max(1)) as f64
    }

    /// Latency in microseconds that `permille` of a thousand requests did not exceed; 0 if there were no requests.
    pub(crate) fn permille(&self, permille: u64) -> f64 {
        let at = (self.count() * permille).div_ceil(1000).saturating_sub(1) as usize;
        self.sorted.get(at).map_or(0.0, |&ns| ns as f64 / 1e3)
    }
}

/// What the clients share.
#[derive(Default)]
struct Shared {
    samples: RefCell<Vec<u64>>,
    running: Cell<u32>,
    stop: Cell<bool>,
    failed: RefCell<Option<VolumeError>>,
}

/// Loads the volume until `enough` says so, which is told how many requests have ended.
pub(crate) async fn run(
    rt: &Runtime,
    volume: &Volume,
    load: Load,
    enough: impl Fn(u64) -> bool,
) -> Result<Latencies, VolumeError> {
    let shared = Rc::new(Shared::default());
    let begun = rt.now();
    for seed in 0..load.depth {
        shared.running.set(shared.running.get() + 1);
        rt.spawn(client(rt.clone(), volume.clone(), load, Rng::new(seed.into()), shared.clone()));
    }
    while shared.running.get() > 0 {
        let done = enough(shared.samples.borrow().len() as u64) || shared.failed.borrow().is_some();
        shared.stop.set(shared.stop.get() || done);
        rt.sleep(LOOK).await;
    }
    if let Some(error) = shared.failed.take() {
        return Err(error);
    }
    let mut sorted = shared.samples.take();
    sorted.sort_unstable();
    Ok(Latencies { sorted, took: rt.now().since(begun) })
}

async fn client(rt: Runtime, volume: Volume, load: Load, mut rng: Rng, shared: Rc<Shared>) {
    let mut buf = rt.alloc(BLOCK).full();
    while !shared.stop.get() {
        let offset = rng.below(volume.size() / BLOCK as u64) * BLOCK as u64;
        let begun = rt.now();
        let result = match rng.below(100) < load.read_percent {
            true => volume.read(offset, buf.clone()).await.map(|read| buf = read),
            false => volume.write(offset, buf.clone()).await,
        };
        match result {
            Ok(()) => shared.samples.borrow_mut().push(rt.now().since(begun).0),
            Err(error) => {
                shared.failed.replace(Some(error));
            }
        }
    }
    shared.running.set(shared.running.get() - 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_was_measured() {
        let latencies = Latencies { sorted: (1..=1000).map(|us| us * 1000).collect(), took: Nanos::secs(2) };
        assert_eq!(
            (latencies.permille(500), latencies.permille(999), latencies.permille(1000)),
            (500.0, 999.0, 1000.0)
        );
        assert_eq!((latencies.per_second(), latencies.mean()), (500.0, 500.5));
        assert_eq!(Latencies::default().permille(999), 0.0);
    }
}
