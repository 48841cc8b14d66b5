//! Values of which the newest version counts. The home reactor makes versions while all others read; older ones stay where
//! they are, so a reference that was lent out stays good, and there is no lock on the way of a read or a write.

use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use cygnus_format::Layout;

/// Pages of [`Versions`]: one more than there can be versions' bits.
const PAGES: usize = 32;

/// Values that take each other's place, the newest of which counts. Older ones stay where they are, for references to them
/// may have been lent out: meant for what is small and seldom changes.
struct Versions<T> {
    /// Page p has 2^p versions.
    pages: [OnceLock<Box<[OnceLock<T>]>>; PAGES],
    len: AtomicUsize,
}

impl<T> Versions<T> {
    fn new(first: T) -> Self {
        let versions = Self { pages: [const { OnceLock::new() }; PAGES], len: AtomicUsize::new(0) };
        versions.push(first);
        versions
    }

    /// A new version. One reactor makes them; the others see it some time later.
    fn push(&self, version: T) {
        let at = self.len.load(Ordering::Relaxed);
        let (page, within) = Self::slot(at);
        let page = self.pages[page].get_or_init(|| (0..=at).map(|_| OnceLock::new()).collect());
        assert!(page[within].set(version).is_ok(), "one reactor makes versions");
        // The version first: whoever sees the length sees it too.
        self.len.store(at + 1, Ordering::Release);
    }

    #[inline]
    fn newest(&self) -> &T {
        let (page, within) = Self::slot(self.len.load(Ordering::Acquire) - 1);
        self.pages[page].get().and_then(|page| page[within].get()).expect("versions below the length are there")
    }

    /// Page of a version, and which of that it is: the pages before hold 2^p - 1.
    #[inline]
    fn slot(at: usize) -> (usize, usize) {
        let page = (at + 1).ilog2() as usize;
        (page, at + 1 - (1 << page))
    }
}

/// The layout as it is now: groups come and go. Borrowed, it is the newest; a reference to a [`Layout`] got from it stays
/// what it was.
pub(crate) struct NewestLayout(Versions<Layout>);

impl NewestLayout {
    pub(crate) fn new(first: Layout) -> Self {
        Self(Versions::new(first))
    }

    pub(crate) fn becomes(&self, layout: Layout) {
        self.0.push(layout);
    }
}

impl Deref for NewestLayout {
    type Target = Layout;

    #[inline]
    fn deref(&self) -> &Layout {
        self.0.newest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stay_good_while_versions_follow_each_other() {
        let versions = Versions::new(0);
        let first = versions.newest();
        for version in 1..100 {
            versions.push(version);
            assert_eq!((*first, *versions.newest()), (0, version));
        }
    }
}
