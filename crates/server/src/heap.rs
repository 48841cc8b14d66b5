//! What the C library's allocator keeps of memory that was freed.
//!
//! It gives pages back only from the end of an arena, so one small allocation that stays keeps all that was freed before it.
//! After a load of many things (lines, queues, tasks) that is some MiB for good, and each thread that helped to open the array
//! leaves an arena with a few KiB in use. Asked for it, the allocator returns the pages in between too.

/// Less than this is not worth the walk through all that is free; while what is in use changes by more, a load goes on.
#[cfg(target_env = "gnu")]
const CRUMBS: usize = 1 << 20;

/// The heap of this process as last looked at, in bytes.
#[derive(Default)]
pub struct Heap {
    /// In use.
    #[cfg(target_env = "gnu")]
    used: usize,
    /// Freed, with its pages returned.
    #[cfg(target_env = "gnu")]
    returned: usize,
}

impl Heap {
    /// Returns to the system what lies unused, once each time a load has gone. To be called about every second.
    #[cfg(target_env = "gnu")]
    pub fn give_back(&mut self) {
        // SAFETY: no pointers involved; it locks what it reads.
        let info = unsafe { libc::mallinfo2() };
        if self.is_worth_it(info.uordblks, info.fordblks) {
            // SAFETY: no pointers involved; it locks what it works on.
            unsafe { libc::malloc_trim(0) };
        }
    }

    /// Other allocators return what is free by themselves.
    #[cfg(not(target_env = "gnu"))]
    pub fn give_back(&mut self) {}

    /// Whether a load has gone and left something. From then on that counts as returned.
    #[cfg(target_env = "gnu")]
    fn is_worth_it(&mut self, used: usize, free: usize) -> bool {
        let is_calm = self.used.abs_diff(used) < CRUMBS;
        self.used = used;
        // What was in use again is not returned any more.
        self.returned = self.returned.min(free);
        let worth = is_calm && free - self.returned >= CRUMBS;
        if worth {
            self.returned = free;
        }
        worth
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn pages_go_back_once_for_each_load_that_has_gone() {
        let mut heap = Heap::default();
        let mut looks = |used, free| heap.is_worth_it(used * CRUMBS, free * CRUMBS);
        assert!(!looks(9, 0) && !looks(30, 0), "a load comes");
        assert!(!looks(9, 21), "and may not be over");
        assert!(looks(9, 21), "it is");
        assert!(!looks(9, 21) && !looks(9, 21), "once");
        assert!(!looks(20, 10) && !looks(9, 21) && looks(9, 21), "the next one");
        assert!(!looks(9, 21));
    }
}
