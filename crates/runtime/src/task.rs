//! Task slots, the ready queue and the wakers that lead to it.
//!
//! A waker is two small numbers, the executor's place in a thread-local registry and the task's slot, so cloning one
//! costs nothing. It only works on the thread that made it; anywhere else it panics rather than lose a wake-up.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{RawWaker, RawWakerVTable, Waker};

pub(crate) type LocalFuture = Pin<Box<dyn Future<Output = ()>>>;

/// Tasks that want to be polled, each at most once.
#[derive(Default)]
pub(crate) struct ReadyQueue {
    inner: RefCell<ReadyInner>,
}

#[derive(Default)]
struct ReadyInner {
    order: Vec<u32>,
    queued: Vec<bool>,
}

impl ReadyQueue {
    pub(crate) fn push(&self, task: u32) {
        let mut inner = self.inner.borrow_mut();
        let slot = task as usize;
        if inner.queued.len() <= slot {
            inner.queued.resize(slot + 1, false);
        }
        if !std::mem::replace(&mut inner.queued[slot], true) {
            inner.order.push(task);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.inner.borrow().order.is_empty()
    }

    /// Moves everything ready now into `batch`; tasks woken meanwhile wait for the next turn, so I/O gets its chance.
    pub(crate) fn take(&self, batch: &mut Vec<u32>) {
        let mut inner = self.inner.borrow_mut();
        std::mem::swap(&mut inner.order, batch);
        for &task in batch.iter() {
            inner.queued[task as usize] = false;
        }
    }
}

thread_local! {
    /// Executors living on this thread (more than one only in virtual time).
    static REGISTRY: RefCell<Vec<Option<Rc<ReadyQueue>>>> = const { RefCell::new(Vec::new()) };
}

/// Enters a ready queue into this thread's registry and says under which number.
pub(crate) fn register(queue: Rc<ReadyQueue>) -> u32 {
    REGISTRY.with_borrow_mut(|all| {
        let free = all.iter().position(Option::is_none).unwrap_or_else(|| {
            all.push(None);
            all.len() - 1
        });
        all[free] = Some(queue);
        free as u32
    })
}

/// Takes an executor out of the registry; its wakers do nothing from now on.
pub(crate) fn unregister(executor: u32) {
    // At thread exit the registry may be gone before the executor is.
    let _ = REGISTRY.try_with(|all| {
        if let Ok(mut all) = all.try_borrow_mut() {
            all[executor as usize] = None;
        }
    });
}

const EXECUTOR_SHIFT: u32 = 32;
static VTABLE: RawWakerVTable = RawWakerVTable::new(|data| RawWaker::new(data, &VTABLE), wake, wake, |_| {});

fn wake(data: *const ()) {
    let packed = data as usize as u64;
    let (executor, task) = ((packed >> EXECUTOR_SHIFT) as usize, packed as u32);
    let _ = REGISTRY.try_with(|all| {
        let Ok(all) = all.try_borrow() else { return };
        match all.get(executor) {
            Some(Some(queue)) => queue.push(task),
            Some(None) => {}
            None => panic!("a waker of one reactor was used on another reactor's thread: use a message instead"),
        }
    });
}

/// The waker of a task. Same-thread only, see the module's text.
pub(crate) fn waker(executor: u32, task: u32) -> Waker {
    let data = ((u64::from(executor) << EXECUTOR_SHIFT) | u64::from(task)) as usize as *const ();
    // SAFETY: the vtable's functions treat `data` as a number, never as a pointer, so every contract of RawWaker holds
    // trivially: clone copies the number and drop has nothing to release.
    unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) }
}

/// Task futures by slot; a slot is reused once its task has ended. Slot 0 stays empty: it is the main future's number.
pub(crate) struct Tasks {
    slots: Vec<Option<LocalFuture>>,
    free: Vec<u32>,
    live: usize,
}

impl Default for Tasks {
    fn default() -> Self {
        Self { slots: vec![None], free: Vec::new(), live: 0 }
    }
}

impl Tasks {
    pub(crate) fn insert(&mut self, future: LocalFuture) -> u32 {
        self.live += 1;
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(future);
                slot
            }
            None => {
                self.slots.push(Some(future));
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Takes a task out for polling; `None` for a stale wake-up.
    pub(crate) fn take(&mut self, slot: u32) -> Option<LocalFuture> {
        self.slots.get_mut(slot as usize)?.take()
    }

    pub(crate) fn put_back(&mut self, slot: u32, future: LocalFuture) {
        self.slots[slot as usize] = Some(future);
    }

    pub(crate) fn release(&mut self, slot: u32) {
        self.live -= 1;
        self.free.push(slot);
    }

    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Takes every task out, for dropping them outside any borrow.
    pub(crate) fn drain(&mut self) -> Vec<LocalFuture> {
        self.slots.iter_mut().filter_map(Option::take).collect()
    }
}
