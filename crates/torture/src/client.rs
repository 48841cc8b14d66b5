//! Clients: tasks that make random requests, check every answer against the oracle, and tell when something is wrong.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use cygnus_runtime::{Event, Rng, Runtime};
use cygnus_types::{BLOCK, Nanos};

use crate::block::Ending;
use crate::oracle::{Kind, Oracle};
use crate::target::{Failure, Target};

/// How the clients of a run behave.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    /// Of 256 requests, how many are reads, flushes, trims, write-zeroes (the rest are writes).
    pub(crate) reads: u64,
    pub(crate) flushes: u64,
    pub(crate) trims: u64,
    pub(crate) zeroes: u64,
    /// Of 256 writes, how many are FUA; of 256 requests, how many are not aligned to 4 KiB.
    pub(crate) fua: u64,
    pub(crate) unaligned: u64,
    /// Longest request in blocks.
    pub(crate) max_blocks: u64,
    /// Longest pause between requests (zero: none).
    pub(crate) pause: Nanos,
    /// Of 256 requests, how many go to the first few blocks of the volume, where clients meet.
    pub(crate) hot: u64,
    /// Whether running out of space is a legal answer.
    pub(crate) may_fill: bool,
}

impl Habits {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let mut one_of = |choices: &[u64]| choices[rng.below(choices.len() as u64) as usize];
        Self {
            reads: one_of(&[0, 40, 100]),
            flushes: one_of(&[0, 3, 12, 40]),
            trims: one_of(&[0, 0, 6, 25]),
            zeroes: one_of(&[0, 0, 6, 20]),
            fua: one_of(&[0, 0, 10, 60]),
            unaligned: one_of(&[0, 0, 20, 120]),
            max_blocks: one_of(&[1, 4, 16, 64]),
            pause: Nanos::micros(one_of(&[0, 0, 50, 1000])),
            hot: one_of(&[0, 20, 120]),
            may_fill: false,
        }
    }
}

/// What the clients of a run share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) oracle: RefCell<Oracle>,
    /// The first thing that went wrong.
    pub(crate) failure: RefCell<Option<String>>,
    /// No more requests, please.
    pub(crate) stop: Cell<bool>,
    /// Requests refused for lack of space.
    pub(crate) refused: Cell<u64>,
    working: Cell<usize>,
    changed: Event,
}

impl Shared {
    /// Reports that something is wrong; the first report counts.
    pub(crate) fn fail(&self, text: String) {
        self.failure.borrow_mut().get_or_insert(text);
        self.stop.set(true);
        self.changed.notify();
    }

    pub(crate) fn failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    /// Every client died, and with it what was not durable.
    pub(crate) fn power_was_cut(&self, at: Nanos, what: &str) {
        self.working.set(0);
        self.stop.set(false);
        self.oracle.borrow_mut().lose_power(at, what);
    }

    /// Starts a task that counts as working until it ends.
    pub(crate) fn spawn(self: &Rc<Self>, rt: &Runtime, work: impl Future<Output = ()> + 'static) {
        self.working.set(self.working.get() + 1);
        let shared = self.clone();
        rt.spawn(async move {
            work.await;
            shared.working.set(shared.working.get() - 1);
            shared.changed.notify();
        });
    }

    /// Waits until every task started by [`Shared::spawn`] has ended, or something has failed.
    pub(crate) async fn wait(&self) {
        while self.working.get() > 0 && !self.failed() {
            self.changed.wait().await;
        }
    }
}

/// A client of one volume.
pub(crate) struct Client<T> {
    pub(crate) rt: Runtime,
    pub(crate) target: T,
    pub(crate) shared: Rc<Shared>,
    /// The oracle's number of the volume.
    pub(crate) volume: u32,
    /// The volume's size in bytes.
    pub(crate) size: u64,
    pub(crate) habits: Habits,
    pub(crate) rng: Rng,
}

impl<T: Target> Client<T> {
    /// Makes `requests` requests, or fewer if told to stop.
    pub(crate) async fn work(mut self, requests: u64) {
        for _ in 0..requests {
            if self.shared.stop.get() {
                return;
            }
            let outcome = self.request().await;
            if let Err(text) = outcome {
                return self.shared.fail(text);
            }
            if self.habits.pause > Nanos::ZERO {
                let pause = Nanos(self.rng.below(self.habits.pause.0));
                self.rt.sleep(pause).await;
            }
        }
    }

    async fn request(&mut self) -> Result<(), String> {
        let Habits { reads, flushes, trims, zeroes, fua, .. } = self.habits;
        let dice = self.rng.below(256);
        if dice < flushes {
            return self.flush().await;
        }
        let (offset, len) = self.place();
        let fua = self.rng.chance(fua, 256);
        let read = dice < flushes + reads;
        if read || self.shared.oracle.borrow_mut().is_crowded(self.volume, offset, len) {
            return self.read(offset, len).await;
        }
        let (kind, fua) = match dice - flushes - reads {
            n if n < trims => (Kind::Trim, false),
            n if n < trims + zeroes => (Kind::Zero, fua),
            _ => (Kind::Write, fua),
        };
        self.change(kind, offset, len, fua).await
    }

    fn place(&mut self) -> (u64, u64) {
        let (rng, habits) = (&mut self.rng, &self.habits);
        let blocks = self.size / BLOCK as u64;
        let span = if rng.chance(habits.hot, 256) { blocks.min(8) } else { blocks };
        let first = rng.below(span);
        let count = 1 + rng.below(habits.max_blocks.min(blocks - first));
        let (mut start, mut end) = (first * BLOCK as u64, (first + count) * BLOCK as u64);
        if rng.chance(habits.unaligned, 256) {
            // Sectors mostly, bytes sometimes.
            let unit = if rng.chance(3, 4) { 512 } else { 1 };
            start += rng.below(BLOCK as u64 / unit) * unit;
            end -= rng.below((end - start).min(BLOCK as u64) / unit) * unit;
        }
        (start, end - start)
    }

    async fn read(&mut self, offset: u64, len: u64) -> Result<(), String> {
        let since = self.shared.oracle.borrow_mut().begin_read(self.volume);
        let mut buf = self.rt.alloc(len as usize);
        // A read that "succeeds" without touching the buffer must not find the right answer there.
        buf.bytes_mut().fill(0xA5);
        let result = self.target.read(offset, buf.full()).await;
        let now = self.rt.now();
        let mut oracle = self.shared.oracle.borrow_mut();
        match result {
            Ok(buf) => oracle.end_read(self.volume, offset, buf.bytes(), since, now).map_err(|v| v.text),
            Err(failure) => {
                oracle.end_failed_read(self.volume, since);
                Err(self.unexpected("read", offset..offset + len, &failure))
            }
        }
    }

    async fn change(&mut self, kind: Kind, offset: u64, len: u64, fua: bool) -> Result<(), String> {
        let ticket = self.shared.oracle.borrow_mut().begin(self.volume, kind, offset, len, fua);
        let result = match kind {
            Kind::Write => {
                let mut buf = self.rt.alloc(len as usize);
                ticket.fill(buf.bytes_mut());
                self.target.write(offset, buf.full(), fua).await
            }
            Kind::Zero => self.target.write_zeroes(offset, len, fua).await,
            Kind::Trim => self.target.trim(offset, len).await,
        };
        let ending = if result.is_ok() { Ending::Done } else { Ending::Failed };
        self.shared.oracle.borrow_mut().end(&ticket, ending, self.rt.now());
        match result {
            Ok(()) => Ok(()),
            // Writing less than a block may need a new block even for zeros and trims.
            Err(Failure::NoSpace) if self.habits.may_fill => {
                self.shared.refused.set(self.shared.refused.get() + 1);
                Ok(())
            }
            Err(failure) => Err(self.unexpected(&format!("{kind:?}"), offset..offset + len, &failure)),
        }
    }

    async fn flush(&mut self) -> Result<(), String> {
        let since = self.shared.oracle.borrow_mut().begin_flush();
        match self.target.flush().await {
            Ok(()) => {
                self.shared.oracle.borrow_mut().end_flush(self.volume, since, self.rt.now());
                Ok(())
            }
            Err(failure) => Err(self.unexpected("flush", 0..self.size, &failure)),
        }
    }

    fn unexpected(&self, what: &str, bytes: Range<u64>, failure: &Failure) -> String {
        format!("volume {}: {what} of bytes {bytes:?} failed at {}: {failure:?}", self.volume, self.rt.now())
    }

    /// Reads the whole volume and checks every block.
    pub(crate) async fn verify(mut self) {
        const PIECE: u64 = 64 * BLOCK as u64;
        let mut offset = 0;
        while offset < self.size && !self.shared.failed() {
            let len = PIECE.min(self.size - offset);
            if let Err(text) = self.read(offset, len).await {
                self.shared.fail(format!("in the sweep over the whole volume: {text}"));
            }
            offset += len;
        }
    }
}
