//! What the demo's client writes, and how it knows what must come back.
//!
//! Every 4 KiB block holds words that follow from (seed, block, version); the version of every block is remembered, so
//! each read can be compared without keeping the data. Two writes to one block are never in flight together, since the
//! protocol leaves their order open. That is why requests do not come from crate `workload`, whose jobs know of none that is in flight.

use super::client::{ClientError, Connection, InFlight};
use super::snapshot::{Latency, Phase};
use cygnus_nbd::Command;
use cygnus_target::Histogram;
use cygnus_types::{BLOCK, Nanos, Rng};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Blocks of the largest write.
const MAX_BLOCKS: u64 = 16;
/// Blocks of one read when verifying.
const VERIFY_BLOCKS: u64 = 64;
/// How long to wait for replies before looking at the clock again.
const PATIENCE: Duration = Duration::from_millis(100);

/// The generator of one version of one block.
fn words(seed: u64, block: u64, version: u32) -> Rng {
    Rng::new(seed ^ block.rotate_left(20) ^ (u64::from(version) << 48)).fork()
}

/// Appends the contents of a block to a request.
fn write_block(out: &mut Vec<u8>, seed: u64, block: u64, version: u32) {
    let mut words = words(seed, block, version);
    for _ in 0..BLOCK / 8 {
        out.extend_from_slice(&words.next_u64().to_le_bytes());
    }
}

/// Whether a block is what was written last; version 0 is "never written", which reads as zeros.
fn is_intact(data: &[u8], seed: u64, block: u64, version: u32) -> bool {
    if version == 0 {
        return data.iter().all(|&byte| byte == 0);
    }
    let mut words = words(seed, block, version);
    data.as_chunks::<8>().0.iter().all(|chunk| *chunk == words.next_u64().to_le_bytes())
}

/// What the display reads while the client works.
#[derive(Debug, Default)]
pub struct Progress {
    inner: Mutex<Inner>,
    /// Set by the display: end everything now.
    pub abort: AtomicBool,
}

#[derive(Debug)]
struct Inner {
    phase: Phase,
    fraction: f64,
    requests: u64,
    bytes: u64,
    since_last: Histogram,
}

impl Default for Inner {
    fn default() -> Self {
        Self { phase: Phase::Filling, fraction: 0.0, requests: 0, bytes: 0, since_last: Histogram::default() }
    }
}

/// One reading of [`Progress`].
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// What the client does.
    pub phase: Phase,
    /// How far it is with that.
    pub fraction: f64,
    /// Requests answered so far.
    pub requests: u64,
    /// Bytes moved so far.
    pub bytes: u64,
    /// Latency since the last reading.
    pub latency: Latency,
}

/// The four percentiles that are shown.
pub fn percentiles(histogram: &Histogram) -> Latency {
    let at = |quantile| Duration::from(histogram.quantile(quantile));
    Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: histogram.max().into() }
}

impl Progress {
    /// Reads, and begins a new interval.
    pub fn read(&self) -> Reading {
        let mut inner = self.lock();
        let histogram = std::mem::take(&mut inner.since_last);
        let Inner { phase, fraction, requests, bytes, .. } = *inner;
        Reading { phase, fraction, requests, bytes, latency: percentiles(&histogram) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().expect("neither side panics while it holds the lock")
    }

    fn answered(&self, request: &InFlight, took: Duration) {
        let mut inner = self.lock();
        inner.requests += 1;
        inner.bytes += u64::from(request.length);
        inner.since_last.record(Nanos::from(took));
    }

    fn at(&self, phase: Phase, fraction: f64) {
        let mut inner = self.lock();
        (inner.phase, inner.fraction) = (phase, fraction);
    }

    fn aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }
}

/// How much the client writes, and for how long at most.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Seed of contents and addresses.
    pub seed: u64,
    /// Rng writes after the fill, as a multiple of the volume's size.
    pub overwrites: u32,
    /// Writing ends after this long.
    pub time_limit: Duration,
}

/// What the client wrote and compared, and what was wrong.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Bytes that were sent in writes.
    pub written_bytes: u64,
    /// Time it took to write them, flush included.
    pub write_time: Duration,
    /// Latency of all writes.
    pub write_latency: Histogram,
    /// Bytes that were read back and compared with what was written.
    pub verified_bytes: u64,
    /// Blocks that were not what was written.
    pub wrong_blocks: u64,
    /// Whether the writing ended before the plan was done.
    pub cut_short: bool,
    /// Whether everything was aborted.
    pub aborted: bool,
}

/// Writes, overwrites and verifies.
pub struct Workload<'a> {
    connection: Connection,
    plan: Plan,
    progress: &'a Progress,
    versions: Vec<u32>,
    random: Rng,
    started: Instant,
    outcome: Outcome,
}

impl<'a> Workload<'a> {
    /// Over the whole export behind `connection`.
    pub fn new(connection: Connection, plan: Plan, progress: &'a Progress) -> Self {
        let blocks = (connection.size() / BLOCK as u64) as usize;
        let random = Rng::new(plan.seed);
        let (versions, outcome) = (vec![0; blocks], Outcome::default());
        Self { connection, plan, progress, versions, random, started: Instant::now(), outcome }
    }

    /// Does all of it.
    pub fn run(mut self) -> Result<Outcome, ClientError> {
        self.fill()?;
        self.overwrite()?;
        self.flush()?;
        self.outcome.write_time = self.started.elapsed();
        self.verify()?;
        self.outcome.aborted = self.progress.aborted();
        Ok(self.outcome)
    }

    fn blocks(&self) -> u64 {
        self.versions.len() as u64
    }

    /// Whether writing has to end before its plan is done.
    fn time_to_stop(&mut self) -> bool {
        let stop = self.progress.aborted() || self.started.elapsed() >= self.plan.time_limit;
        self.outcome.cut_short |= stop;
        stop
    }

    fn fill(&mut self) -> Result<(), ClientError> {
        let mut next = 0;
        while next < self.blocks() && !self.time_to_stop() {
            while self.connection.has_room() && next < self.blocks() {
                let count = MAX_BLOCKS.min(self.blocks() - next);
                self.queue_write(next, count);
                next += count;
            }
            self.collect_writes()?;
            self.progress.at(Phase::Filling, next as f64 / self.blocks() as f64);
        }
        self.drain()
    }

    fn overwrite(&mut self) -> Result<(), ClientError> {
        let planned = self.blocks() * u64::from(self.plan.overwrites);
        let mut written = 0;
        while written < planned && !self.time_to_stop() {
            while self.connection.has_room() && written < planned {
                // Mostly single blocks, as databases write; some runs, as file systems do.
                let count = [1, 1, 1, 1, 1, 2, 4, MAX_BLOCKS][self.random.below(8) as usize].min(self.blocks());
                let first = self.random.below(self.blocks() - count + 1);
                if self.overlaps(first, count) {
                    break;
                }
                self.queue_write(first, count);
                written += count;
            }
            self.collect_writes()?;
            self.progress.at(Phase::Overwriting, written as f64 / planned.max(1) as f64);
        }
        self.drain()
    }

    fn overlaps(&self, first: u64, count: u64) -> bool {
        let (start, end) = (first * BLOCK as u64, (first + count) * BLOCK as u64);
        self.connection.in_flight().any(|other| other.offset < end && start < other.offset + u64::from(other.length))
    }

    fn queue_write(&mut self, first: u64, count: u64) {
        let (seed, versions) = (self.plan.seed, &mut self.versions);
        let (offset, length) = (first * BLOCK as u64, count as u32 * BLOCK as u32);
        self.connection.queue(Command::Write, offset, length, |out| {
            for block in first..first + count {
                let version = &mut versions[block as usize];
                *version += 1;
                write_block(out, seed, block, *version);
            }
        });
        self.outcome.written_bytes += u64::from(length);
    }

    fn collect_writes(&mut self) -> Result<(), ClientError> {
        let (progress, latency) = (self.progress, &mut self.outcome.write_latency);
        self.connection.exchange(PATIENCE, |request, _| {
            let took = request.sent.elapsed();
            progress.answered(&request, took);
            latency.record(Nanos::from(took));
        })
    }

    fn drain(&mut self) -> Result<(), ClientError> {
        while self.connection.in_flight().next().is_some() {
            self.collect_writes()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ClientError> {
        self.connection.queue(Command::Flush, 0, 0, |_| ());
        while self.connection.in_flight().next().is_some() {
            self.connection.exchange(PATIENCE, |_, _| ())?;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), ClientError> {
        let mut next = 0;
        while (next < self.blocks() || self.connection.in_flight().next().is_some()) && !self.progress.aborted() {
            while self.connection.has_room() && next < self.blocks() {
                let count = VERIFY_BLOCKS.min(self.blocks() - next);
                let (offset, length) = (next * BLOCK as u64, count as u32 * BLOCK as u32);
                self.connection.queue(Command::Read, offset, length, |_| ());
                next += count;
            }
            let (seed, versions, progress, outcome) =
                (self.plan.seed, &self.versions, self.progress, &mut self.outcome);
            self.connection.exchange(PATIENCE, |request, data| {
                progress.answered(&request, request.sent.elapsed());
                let first = request.offset / BLOCK as u64;
                for (block, data) in (first..).zip(data.chunks_exact(BLOCK)) {
                    outcome.verified_bytes += BLOCK as u64;
                    outcome.wrong_blocks += u64::from(!is_intact(data, seed, block, versions[block as usize]));
                }
            })?;
            self.progress
                .at(Phase::Verifying, self.outcome.verified_bytes as f64 / (self.blocks() * BLOCK as u64) as f64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
