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

#[cfg(test)]
mod tests {
    use cygnus_types::Nanos;

    use super::*;
    use crate::scenario::Scenario;
    use crate::testbed::{Bench, Kind, Testbed};

    const BLOCK: u32 = 4096;
    /// A tenth of the memory is ten blocks, a fifth are twenty.
    const SCENARIO: &str = "name = \"cache\"\n[devices]\npreset = \"null\"\ncapacity = \"64MiB\"\n[[array]]\npreset = \"raid0\"\n\
        drives = 2\n[[workload.fio]]\n[cache]\nmemory = \"400KiB\"\n[run]\nduration = \"1ms\"\nsample = \"1ms\"\n";

    /// Lets `test` use a cache before an array.
    fn with_cache<F: Future<Output = ()> + 'static>(test: impl FnOnce(Rc<PageCache>, Rc<Seat>) -> F + 'static) {
        let scenario = Scenario::parse("cache.toml", SCENARIO).unwrap_or_else(|error| panic!("{error}"));
        let section = &scenario.spec.devices;
        let drive = scenario.drive().unwrap_or_else(|error| panic!("{error}"));
        let kind = Kind { drive: &drive, section: section.as_ref() };
        let bench = Rc::new(Bench::new(&[kind; 2], 1, None, None));
        let inside = bench.clone();
        let ended = bench.cores.reactor(0).run(async move {
            let array = scenario.spec.array[0].as_ref();
            let bed = Testbed::set_up(&inside, &scenario, array).await.unwrap_or_else(|stop| panic!("{stop}"));
            let section = scenario.spec.cache.as_ref().expect("the scenario has one").as_ref();
            let seat = bed.seats[0].clone();
            test(PageCache::new(section, &seat), seat).await;
        });
        ended.unwrap_or_else(|halt| panic!("{halt}"));
    }

    /// Writes `blocks`, one after the other.
    async fn write(cache: &PageCache, blocks: std::ops::Range<u64>) {
        for block in blocks {
            cache.write(block * u64::from(BLOCK), BLOCK).await.expect("there is room, and drives that work");
        }
    }

    /// Blocks that the array has, once nothing happens any more.
    async fn stored(seat: &Seat) -> u64 {
        seat.rt.sleep(Nanos::millis(10)).await;
        seat.store.activity().user_blocks
    }

    #[test]
    fn nothing_is_written_back_until_a_tenth_is_dirty_and_then_all_of_it() {
        with_cache(|cache, seat| async move {
            write(&cache, 0..9).await;
            assert_eq!(stored(&seat).await, 0);
            write(&cache, 9..10).await;
            assert_eq!(stored(&seat).await, 10);
            write(&cache, 10..13).await;
            assert_eq!(stored(&seat).await, 10, "a bulk begins anew");
        });
    }

    #[test]
    fn writers_wait_while_a_fifth_is_dirty() {
        with_cache(|cache, seat| async move {
            write(&cache, 0..20).await;
            assert_eq!(seat.store.activity().user_blocks, 0, "nobody had to wait yet");
            write(&cache, 20..21).await;
            assert!(seat.store.activity().user_blocks > 0, "one was written back to make room");
            write(&cache, 21..60).await;
            assert!(cache.dirty.get() <= 20 * u64::from(BLOCK));
        });
    }

    #[test]
    fn a_flush_leaves_nothing_dirty() {
        with_cache(|cache, seat| async move {
            write(&cache, 0..3).await;
            cache.flush(&seat.store).await.expect("the drives work");
            assert_eq!((cache.dirty.get(), seat.store.activity().user_blocks), (0, 3));
            cache.flush(&seat.store).await.expect("there is nothing to do");
        });
    }

    #[test]
    fn what_could_not_be_written_back_fails_a_later_request_once() {
        with_cache(|cache, seat| async move {
            let beyond = seat.store.size();
            cache.write(beyond, BLOCK).await.expect("it is only in memory");
            assert!(cache.flush(&seat.store).await.is_err());
            cache.flush(&seat.store).await.expect("it was told");
        });
    }
}
