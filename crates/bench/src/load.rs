//! Requests that a benchmark makes of a volume, in the reactor that the engine runs on.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use cygnus_engine::{Volume, VolumeError};
use cygnus_runtime::{BufSlice, Event, Runtime};
use cygnus_types::BLOCK;

/// Blocks of request memory, used in turn.
const RING: usize = 128;

/// Who makes them.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) rt: Runtime,
    pub(crate) volume: Volume,
    /// How many at once.
    pub(crate) depth: usize,
    /// Where it begins in the fixed sequence of scattered blocks: those on different cores go to different blocks.
    pub(crate) from: u64,
}

impl Load {
    pub(crate) fn volume_blocks(&self) -> u64 {
        self.volume.size() / BLOCK as u64
    }

    /// Runs `count` operations, `depth` at a time; nanoseconds for each.
    async fn at_depth<F: Future<Output = Result<(), VolumeError>> + 'static>(
        &self,
        count: u64,
        op: impl Fn(u64) -> F + Clone + 'static,
    ) -> Result<f64, VolumeError> {
        let next = Rc::new(Cell::new(0));
        let (running, done) = (Rc::new(Cell::new(self.depth)), Rc::new(Event::new()));
        let failure = Rc::new(Cell::new(None));
        let begun = Instant::now();
        for _ in 0..self.depth {
            let (next, running, done, failure) = (next.clone(), running.clone(), done.clone(), failure.clone());
            let (rt, op) = (self.rt.clone(), op.clone());
            self.rt.spawn(async move {
                while next.get() < count {
                    next.set(next.get() + 1);
                    if let Err(error) = op(next.get()).await {
                        failure.set(Some(error));
                        break;
                    }
                    rt.yield_now().await;
                }
                running.set(running.get() - 1);
                done.notify();
            });
        }
        while running.get() > 0 {
            done.wait().await;
        }
        let elapsed = begun.elapsed().as_nanos() as f64 / count as f64;
        failure.take().map_or(Ok(elapsed), Err)
    }

    /// Memory for requests, all zeros: what null devices give, too.
    fn zeroed(&self) -> BufSlice {
        let ring = self.rt.alloc(RING * BLOCK).full();
        ring.zero(0..RING * BLOCK);
        ring
    }

    pub(crate) async fn random_writes(&self, count: u64) -> Result<f64, VolumeError> {
        let ring = self.zeroed();
        let (volume, blocks, from) = (self.volume.clone(), self.volume_blocks(), self.from);
        self.at_depth(count, move |i| {
            let (data, volume) = (piece(&ring, i), volume.clone());
            announce(&volume, from + i + 1, blocks);
            async move { write(&volume, scatter(from + i, blocks) * BLOCK as u64, data).await }
        })
        .await
    }

    /// The loop of the benchmark around nothing.
    pub(crate) async fn nothing(&self, count: u64) -> Result<f64, VolumeError> {
        self.at_depth(count, |_| async { Ok(()) }).await
    }

    pub(crate) async fn random_reads(&self, count: u64) -> Result<f64, VolumeError> {
        let ring = self.zeroed();
        let (volume, blocks, from) = (self.volume.clone(), self.volume_blocks(), self.from);
        self.at_depth(count, move |i| {
            let (into, volume) = (piece(&ring, i), volume.clone());
            announce(&volume, from + i + 1, blocks);
            async move { volume.read(scatter(from + i, blocks) * BLOCK as u64, into).await.map(drop) }
        })
        .await
    }

    pub(crate) async fn sequential_writes(&self, size: usize) -> Result<f64, VolumeError> {
        let data = self.rt.alloc(size).full();
        let volume = self.volume.clone();
        let count = volume.size() / size as u64;
        self.at_depth(count, move |i| {
            let (volume, data) = (volume.clone(), data.clone());
            async move { write(&volume, (i - 1) * data.len() as u64, data).await }
        })
        .await
    }

    pub(crate) async fn fill(&self) -> Result<f64, VolumeError> {
        self.sequential_writes(1 << 20).await
    }
}

fn piece(ring: &BufSlice, i: u64) -> BufSlice {
    let at = i as usize % RING * BLOCK;
    ring.slice(at..at + BLOCK)
}

/// Says which request follows, as a server does that sees the next one of its queue.
fn announce(volume: &Volume, i: u64, blocks: u64) {
    volume.announce(scatter(i, blocks) * BLOCK as u64);
}

async fn write(volume: &Volume, offset: u64, data: BufSlice) -> Result<(), VolumeError> {
    match volume.try_write(offset, data.bytes()) {
        true => Ok(()),
        false => volume.write(offset, data).await,
    }
}

/// The i-th of a fixed sequence of scattered block numbers.
fn scatter(i: u64, blocks: u64) -> u64 {
    let mut z = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 27;
    ((u128::from(z) * u128::from(blocks)) >> 64) as u64
}
