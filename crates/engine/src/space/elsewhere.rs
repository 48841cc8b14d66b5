//! How many blocks lie on each medium. Those on flash are what is left of all, so an array on flash alone counts nothing here.

use std::sync::atomic::{AtomicU64, Ordering};

use cygnus_types::Medium;

/// Blocks on media other than flash. All others are on flash, those of which the data is lost too.
#[derive(Default)]
pub(crate) struct Elsewhere([AtomicU64; Medium::ALL.len()]);

impl Elsewhere {
    /// So many blocks more lie on a medium.
    #[inline]
    pub(crate) fn come_to(&self, medium: Medium, blocks: u64) {
        if medium != Medium::Flash {
            self.0[medium.index()].fetch_add(blocks, Ordering::Relaxed);
        }
    }

    /// A block lies there no longer.
    #[inline]
    pub(crate) fn one_leaves(&self, medium: Medium) {
        if medium != Medium::Flash {
            self.0[medium.index()].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Blocks on a medium, of so many in all.
    #[inline]
    pub(crate) fn on(&self, medium: Medium, all: u64) -> u64 {
        let on = |medium: Medium| self.0[medium.index()].load(Ordering::Relaxed);
        match medium {
            Medium::Flash => all.saturating_sub(Medium::ALL.map(on).iter().sum()),
            Medium::Disk | Medium::Nvm | Medium::Smr => on(medium),
        }
    }
}
