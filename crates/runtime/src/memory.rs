//! Accounts of memory: what a part of the program may take, and what it has taken. Shared by all reactors.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The account of one part. Whoever takes memory for that part asks here first, and says when it has gone.
#[derive(Debug)]
pub struct MemoryPart {
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

/// How an account stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes taken now.
    pub used: usize,
    /// Most bytes that were taken at any time.
    pub peak: usize,
    /// Bytes that may be taken.
    pub limit: usize,
}

impl MemoryPart {
    /// An account of at most `limit` bytes, with nothing taken.
    pub fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// An account that refuses nothing.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// Takes `bytes` if the limit allows it.
    #[must_use = "without an account there is no memory"]
    pub fn try_take(&self, bytes: usize) -> bool {
        self.take_if(|used| bytes <= self.limit - used, bytes)
    }

    /// Takes `bytes` for somebody who holds `held` already, if that leaves at least as much as he then holds. So one who
    /// takes all he can get has half, and something is left for whoever comes next. (The rule is that of shared memory in
    /// switches: A. Choudhury and E. Hahne, Dynamic queue length thresholds, 1998.)
    #[must_use = "without an account there is no memory"]
    pub fn try_take_share(&self, bytes: usize, held: usize) -> bool {
        let fits = |used: usize| (self.limit - used).checked_sub(bytes).is_some_and(|left| held + bytes <= left);
        self.take_if(fits, bytes)
    }

    fn take_if(&self, fits: impl Fn(usize) -> bool, bytes: usize) -> bool {
        let more = |used: usize| fits(used).then(|| used + bytes);
        let Ok(before) = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) else { return false };
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        true
    }

    /// Gives back `bytes` that were taken.
    pub fn give(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        assert!(before >= bytes, "{bytes} bytes are given back of {before} taken");
    }

    /// Bytes that may be taken.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// How it stands.
    pub fn usage(&self) -> MemoryUse {
        let load = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        MemoryUse { used: load(&self.used), peak: load(&self.peak), limit: self.limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit() {
        let part = MemoryPart::new(100);
        assert!(part.try_take(60) && !part.try_take(41) && part.try_take(40));
        part.give(70);
        assert_eq!(part.usage(), MemoryUse { used: 30, peak: 100, limit: 100 });
        assert!(MemoryPart::unlimited().try_take(usize::MAX));
    }

    #[test]
    fn something_is_left_for_the_next() {
        let part = MemoryPart::new(1000);
        let mut held = [0; 9];
        // Each takes all he can get, one after the other.
        for held in &mut held {
            while part.try_take_share(1, *held) {
                *held += 1;
            }
            assert!(*held > 0, "nobody is left without");
        }
        assert_eq!(held[..3], [500, 250, 125]);
        // As soon as the first lets go, the others are served.
        part.give(held[0]);
        assert!(part.try_take_share(100, held[8]));
    }

    #[test]
    #[should_panic(expected = "given back")]
    fn nothing_is_given_back_twice() {
        MemoryPart::new(10).give(1);
    }
}
