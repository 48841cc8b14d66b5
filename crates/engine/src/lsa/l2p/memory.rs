//! What the maps of an array take of memory, its limit, and what waits to be given back.
//!
//! Readers take no lock, so a part of a map that was replaced may still be looked at by a reactor that had found it a
//! moment before. None holds on to it across an await, so it can go as soon as every reactor has answered a message
//! since: the rounds of flushes ask them anyway.

use std::any::Any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::lsa::rule::MapRule;

/// The owner of a part of a map that was replaced, and the bytes that it takes.
type Retired = (Box<dyn Any + Send>, usize);

#[derive(Default)]
struct Waiting {
    /// Replaced since the last round began.
    fresh: Vec<Retired>,
    /// Replaced before.
    settling: Vec<Retired>,
}

/// See the module's text.
pub(crate) struct MapMemory {
    bytes: AtomicU64,
    limit: AtomicU64,
    recovery: u64,
    at_once: u64,
    /// The array is being opened: what does not fit is counted, and not taken in.
    opening: AtomicBool,
    /// Entries that did not fit.
    left_out: AtomicU64,
    dense_from: u32,
    waiting: Mutex<Waiting>,
}

impl MapMemory {
    pub(crate) fn new(rule: MapRule) -> Self {
        Self {
            bytes: AtomicU64::new(0),
            limit: AtomicU64::new(rule.limit.0),
            recovery: rule.recovery.0,
            at_once: rule.at_once,
            opening: AtomicBool::new(true),
            left_out: AtomicU64::new(0),
            dense_from: rule.dense_from,
            waiting: Mutex::default(),
        }
    }

    /// Bytes taken, those that wait to be given back among them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// What they may take.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Whether the maps may grow.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.bytes() < self.limit()
    }

    /// Bytes that recovery may take now for what it finds.
    pub(crate) fn room_for_recovery(&self) -> u64 {
        self.recovery.saturating_add(self.limit().saturating_sub(self.bytes()))
    }

    /// Blocks that recovery holds at once, even if there is room for more.
    pub(crate) fn at_once(&self) -> u64 {
        self.at_once
    }

    /// The array is open: from now on clients' writes are refused before the maps would grow too large.
    pub(crate) fn end_opening(&self) {
        self.opening.store(false, Ordering::Relaxed);
    }

    /// Whether some part of the maps may become larger. Else the caller leaves out an entry, which is counted here.
    pub(in crate::lsa) fn may_grow(&self) -> bool {
        let may = !self.opening.load(Ordering::Relaxed) || self.has_room();
        if !may {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    /// Whether all entries have found room while the array was opened.
    pub(crate) fn has_all(&self) -> bool {
        self.left_out.load(Ordering::Relaxed) == 0
    }

    /// Entries from which a chunk is dense.
    pub(super) fn dense_from(&self) -> u32 {
        self.dense_from
    }

    /// Entries below which a dense chunk becomes a table again; far enough from the other mark that no chunk goes back
    /// and forth.
    pub(super) fn thin_below(&self) -> u32 {
        self.dense_from / 3 * 2
    }

    pub(in crate::lsa) fn take(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(in crate::lsa) fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Keeps what was replaced until nobody can be looking at it any more.
    pub(super) fn retire(&self, part: impl Any + Send, bytes: usize) {
        self.waiting.lock().expect("no holder panics").fresh.push((Box::new(part), bytes));
    }

    /// A round begins that every reactor answers.
    pub(super) fn begin_settling(&self) {
        let mut waiting = self.waiting.lock().expect("no holder panics");
        let fresh = std::mem::take(&mut waiting.fresh);
        waiting.settling.extend(fresh);
    }

    /// All have answered since [`MapMemory::begin_settling`].
    pub(super) fn end_settling(&self) {
        let settled = std::mem::take(&mut self.waiting.lock().expect("no holder panics").settling);
        self.give_back(settled.iter().map(|&(_, bytes)| bytes).sum());
    }
}
