//! A volume in memory, right or deliberately wrong, to test the oracle itself.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_runtime::{BufSlice, Rng, Runtime};
use cygnus_types::{Acknowledged, BLOCK, Nanos, Paging};

use crate::target::{RequestError, Target};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    /// A flush forgets a block now and then.
    FlushForgets,
    /// A flush is acknowledged and does nothing.
    FlushIgnored,
    /// FUA is treated like any write.
    FuaIgnored,
    /// A read now and then returns the version before.
    StaleRead,
    /// A read now and then returns the neighbour's block.
    WrongBlock,
    /// A read now and then succeeds without reading.
    EmptyRead,
    /// A power cut leaves half-written blocks.
    TornBlock,
    /// Unaligned writes to one block at the same time lose one another.
    LostMerge,
    /// A trim does nothing.
    TrimIgnored,
    /// A multi-block write is acknowledged without its last block.
    ShortWrite,
}

pub(crate) const BUGS: [Bug; 10] = [
    Bug::FlushForgets,
    Bug::FlushIgnored,
    Bug::FuaIgnored,
    Bug::StaleRead,
    Bug::WrongBlock,
    Bug::EmptyRead,
    Bug::TornBlock,
    Bug::LostMerge,
    Bug::TrimIgnored,
    Bug::ShortWrite,
];

type Bytes = [u8; BLOCK];

/// Versions of a block, oldest first: the first is durable, the last is current.
type Versions = Vec<Box<Bytes>>;

struct Inner {
    blocks: Vec<Versions>,
    rng: Rng,
    bug: Bug,
}

#[derive(Clone)]
pub(crate) struct Memory {
    rt: Runtime,
    inner: Rc<RefCell<Inner>>,
}

impl Memory {
    pub(crate) fn new(rt: Runtime, blocks: usize, bug: Bug, seed: u64) -> Self {
        let blocks = vec![vec![Box::new([0; BLOCK])]; blocks];
        Self { rt, inner: Rc::new(RefCell::new(Inner { blocks, rng: Rng::new(seed), bug })) }
    }

    /// The same volume after a power cut, on a new reactor.
    pub(crate) fn after_power_cut(&self, rt: Runtime) -> Self {
        let mut inner = self.inner.borrow_mut();
        let Inner { blocks, rng, bug } = &mut *inner;
        for versions in blocks {
            let survivor = rng.below(versions.len() as u64) as usize;
            let mut bytes = versions[survivor].clone();
            if *bug == Bug::TornBlock && survivor > 0 {
                let half = BLOCK / 2;
                bytes[half..].copy_from_slice(&versions[survivor - 1][half..]);
            }
            *versions = vec![bytes];
        }
        drop(inner);
        Self { rt, inner: self.inner.clone() }
    }

    fn bug(&self, bug: Bug) -> bool {
        self.inner.borrow().bug == bug
    }

    /// True for a bug that is planted, about one time in eight.
    fn strikes(&self, bug: Bug) -> bool {
        self.bug(bug) && self.inner.borrow_mut().rng.chance(1, 8)
    }

    async fn pause(&self) {
        let span = Nanos(self.inner.borrow_mut().rng.below(20_000));
        self.rt.sleep(span).await;
    }

    fn current(&self, block: usize) -> Box<Bytes> {
        self.inner.borrow().blocks[block].last().expect("there is always a version").clone()
    }

    /// Applies `change` to each block of a byte range, one after the other, with pauses between.
    async fn change(&self, offset: u64, len: u64, fua: bool, change: impl Fn(u64, &mut [u8])) {
        self.pause().await;
        let end = offset + len;
        let mut at = offset;
        while at < end {
            let block = (at / BLOCK as u64) as usize;
            let next = end.min((block as u64 + 1) * BLOCK as u64);
            let within = (at % BLOCK as u64) as usize;
            let merges = (next - at) < BLOCK as u64;
            let mut bytes = self.current(block);
            if merges && self.bug(Bug::LostMerge) {
                self.pause().await;
            }
            change(at, &mut bytes[within..within + (next - at) as usize]);
            let last = next == end && next - offset > BLOCK as u64;
            if !(last && self.strikes(Bug::ShortWrite)) {
                let versions = &mut self.inner.borrow_mut().blocks[block];
                versions.push(bytes);
            }
            if fua && !self.bug(Bug::FuaIgnored) {
                self.harden(block);
            }
            if self.inner.borrow_mut().rng.chance(1, 8) {
                self.pause().await;
            }
            at = next;
        }
        self.pause().await;
    }

    fn harden(&self, block: usize) {
        let versions = &mut self.inner.borrow_mut().blocks[block];
        let last = versions.len() - 1;
        versions.drain(..last);
    }
}

impl Target for Memory {
    async fn read(&self, offset: u64, buf: BufSlice) -> Result<BufSlice, RequestError> {
        self.pause().await;
        if self.strikes(Bug::EmptyRead) {
            return Ok(buf);
        }
        let count = self.inner.borrow().blocks.len();
        let mut done = 0;
        while done < buf.len() {
            let at = offset as usize + done;
            let (mut block, within) = (at / BLOCK, at % BLOCK);
            let part = (BLOCK - within).min(buf.len() - done);
            if self.strikes(Bug::WrongBlock) {
                block = (block + 1) % count;
            }
            let mut bytes = self.current(block);
            if self.strikes(Bug::StaleRead) {
                bytes = self.inner.borrow().blocks[block].iter().rev().nth(1).unwrap_or(&bytes).clone();
            }
            buf.copy_from(done, &bytes[within..within + part]);
            done += part;
        }
        self.pause().await;
        Ok(buf)
    }

    async fn write(&self, offset: u64, buf: BufSlice, fua: bool) -> Result<(), RequestError> {
        let source = |at: u64, bytes: &mut [u8]| {
            let from = (at - offset) as usize;
            bytes.copy_from_slice(&buf.bytes()[from..from + bytes.len()]);
        };
        self.change(offset, buf.len() as u64, fua, source).await;
        Ok(())
    }

    async fn write_zeroes(&self, offset: u64, len: u64, fua: bool) -> Result<(), RequestError> {
        self.change(offset, len, fua, |_, bytes| bytes.fill(0)).await;
        Ok(())
    }

    async fn trim(&self, offset: u64, len: u64) -> Result<(), RequestError> {
        if !self.bug(Bug::TrimIgnored) {
            self.change(offset, len, false, |_, bytes| bytes.fill(0)).await;
        }
        Ok(())
    }

    async fn flush(&self) -> Result<(), RequestError> {
        self.pause().await;
        if !self.bug(Bug::FlushIgnored) {
            let count = self.inner.borrow().blocks.len();
            for block in 0..count {
                if !self.strikes(Bug::FlushForgets) {
                    self.harden(block);
                }
            }
        }
        self.pause().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cygnus_sim::World;
    use cygnus_types::ReactorId;

    use super::*;
    use crate::client::{Client, Shared};
    use crate::failure::RunFailure;
    use crate::story::Habits;

    const BLOCKS: usize = 32;

    /// Three power cuts with clients between them; what went wrong, if anything.
    fn run(bug: Bug, seed: u64) -> Option<RunFailure> {
        let mut rng = Rng::new(seed);
        let world = World::new(rng.next_u64());
        let shared = Rc::new(Shared::default());
        let size = (BLOCKS * BLOCK) as u64;
        let volume = shared.oracle.borrow_mut().create(size, Acknowledged::Memory, Paging::BLOCKS);
        let mut rt = world.reactor(ReactorId(0), &[]);
        let mut memory = Memory::new(rt.clone(), BLOCKS, bug, rng.next_u64());
        let mut habits = Habits::random(&mut rng);
        habits.reads = 60;
        for _ in 0..3 {
            let client = || Client {
                rt: rt.clone(),
                target: memory.clone(),
                shared: shared.clone(),
                volume,
                size,
                heard: Cell::new(shared.oracle.borrow().now()),
            };
            shared.spawn(&rt, client().verify());
            let _ = rt.run(shared.wait());
            for _ in 0..1 + rng.below(4) {
                let requests = (0..60).map(|_| habits.request(&mut rng, BLOCKS as u64)).collect();
                shared.spawn(&rt, client().work(requests));
            }
            world.cut_power_at(world.now() + Nanos::micros(rng.below(6_000)));
            let _ = rt.run(async {
                shared.wait().await;
                rt.sleep(Nanos::secs(1)).await;
            });
            if let Some(failure) = shared.failure.borrow().clone() {
                rt.drop_tasks();
                return Some(failure);
            }
            world.cut_power();
            shared.power_was_cut(world.now(), "power cut");
            rt.drop_tasks();
            world.restore_power();
            rt = world.reactor(ReactorId(0), &[]);
            memory = memory.after_power_cut(rt.clone());
        }
        None
    }

    #[test]
    fn a_correct_volume_is_never_accused() {
        for seed in 0..200 {
            if let Some(failure) = run(Bug::None, seed) {
                panic!("seed {seed}: {failure}");
            }
        }
    }

    #[test]
    fn every_planted_bug_is_caught() {
        for bug in BUGS {
            let caught = (0..80).filter(|&seed| run(bug, seed).is_some()).count();
            println!("{bug:?}: caught by {caught} of 80 seeds");
            assert!(caught >= 3, "{bug:?} was caught by {caught} of 80 seeds");
        }
    }
}
