//! A file system's cache between the clients and the array: what they write is in memory at first, and written back in
//! bulks.
//!
//! As Linux does with its defaults: nothing is written back until a tenth of the memory is dirty
//! (`dirty_background_ratio`), and writers wait while a fifth is (`dirty_ratio`). Then all that is dirty is written, in the
//! order in which it came. Reads are not modelled: they go to the array.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use cygnus_runtime::Event;

use crate::scenario::CacheSection;
use crate::store::{RequestError, Store, blank};
use crate::testbed::Seat;

/// Requests of a write-back at a time.
const DEPTH: usize = 32;

/// Parts of the memory that are dirty when write-back begins, and when writers wait.
const BACKGROUND: u64 = 10;
const LIMIT: u64 = 5;

/// See the module's text.
pub(crate) struct PageCache {
    memory: u64,
    dirty: Cell<u64>,
    /// Offset and length of what waits to be written back.
    waiting: RefCell<VecDeque<(u64, u32)>>,
    /// Whether a write-back is under way: it ends when nothing waits.
    writing: Cell<bool>,
    changed: Event,
    failure: Cell<Option<RequestError>>,
}

impl PageCache {
    /// A cache, with what writes it back.
    pub fn new(section: &CacheSection, seat: &Rc<Seat>) -> Rc<Self> {
        let cache = Rc::new(Self {
            memory: section.memory.0,
            dirty: Cell::new(0),
            waiting: RefCell::default(),
            writing: Cell::new(false),
            changed: Event::new(),
            failure: Cell::new(None),
        });
        for _ in 0..DEPTH {
            seat.rt.spawn(cache.clone().write_back(seat.clone()));
        }
        cache
    }

    /// Takes a write, once there is room.
    ///
    /// # Errors
    /// The failure of an earlier one, which was already answered.
    pub async fn write(&self, offset: u64, len: u32) -> Result<(), RequestError> {
        self.until(|| self.dirty.get() + u64::from(len) <= self.memory / LIMIT || self.dirty.get() == 0).await;
        self.dirty.set(self.dirty.get() + u64::from(len));
        self.waiting.borrow_mut().push_back((offset, len));
        if self.dirty.get() >= self.memory / BACKGROUND {
            self.begin();
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Writes all back, and makes it durable.
    ///
    /// # Errors
    /// As of [`PageCache::write`], and of the flush.
    pub async fn flush(&self, store: &Store) -> Result<(), RequestError> {
        self.begin();
        self.until(|| self.dirty.get() == 0).await;
        self.failure.take().map_or(Ok(()), Err)?;
        store.flush().await
    }

    fn begin(&self) {
        if !self.writing.replace(true) {
            self.changed.notify();
        }
    }

    async fn write_back(self: Rc<Self>, seat: Rc<Seat>) {
        loop {
            self.until(|| self.writing.get()).await;
            let Some((offset, len)) = self.waiting.borrow_mut().pop_front() else {
                self.writing.set(false);
                continue;
            };
            if let Err(error) = seat.store.write(offset, blank(&seat.rt, len as usize)).await {
                self.failure.set(Some(error));
            }
            self.dirty.set(self.dirty.get() - u64::from(len));
            self.changed.notify();
            // An array that takes it at once would never let others have their turn.
            seat.rt.yield_now().await;
        }
    }

    async fn until(&self, ready: impl Fn() -> bool) {
        while !ready() {
            let changed = self.changed.wait();
            if !ready() {
                changed.await;
            }
        }
    }
}
