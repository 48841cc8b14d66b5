//! Segments that must not be given back now, because columns of them are being restored: nothing old can land on something
//! new.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cygnus_runtime::Event;

use crate::space::segments::SegIx;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Pins {
    /// By how many each is pinned.
    segments: RefCell<BTreeMap<SegIx, u32>>,
    /// Notified when a segment is not pinned any more.
    pub ended: Event,
}

/// A segment under work, as long as this is kept.
pub(crate) struct Pin<'a>(&'a Pins, SegIx);

impl Pins {
    pub(crate) fn pin(&self, seg: SegIx) -> Pin<'_> {
        *self.segments.borrow_mut().entry(seg).or_default() += 1;
        Pin(self, seg)
    }

    pub(crate) fn has(&self, seg: SegIx) -> bool {
        self.segments.borrow().contains_key(&seg)
    }

    /// All that are pinned.
    pub(crate) fn all(&self) -> Vec<SegIx> {
        self.segments.borrow().keys().copied().collect()
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let Pin(pins, seg) = *self;
        let mut pinned = pins.segments.borrow_mut();
        let times = pinned.get_mut(&seg).expect("it was pinned");
        *times -= 1;
        if *times == 0 {
            pinned.remove(&seg);
            pins.ended.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_pinned_until_the_last_one_lets_it_go() {
        let pins = Pins::default();
        let (first, second) = (pins.pin(SegIx(3)), pins.pin(SegIx(3)));
        assert!(pins.has(SegIx(3)) && !pins.has(SegIx(2)));
        drop(first);
        assert!(pins.has(SegIx(3)));
        drop(second);
        assert!(!pins.has(SegIx(3)));
    }
}
