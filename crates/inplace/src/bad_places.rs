//! Places that a device could not read, to be written anew.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use cygnus_runtime::Event;

/// Most that is remembered. What does not fit in will be met again.
const MOST: usize = 4096;

/// Parts of devices in which something could not be read, and which nobody has looked at since.
#[derive(Default)]
pub(crate) struct BadPlaces {
    /// Stripe and device.
    places: RefCell<BTreeSet<(u64, usize)>>,
    /// The stripe being mended: what cannot be read of it now is no news. (Two places in one row would else call for each
    /// other for ever.)
    pub under_work: Cell<Option<u64>>,
    pub found: Event,
}

impl BadPlaces {
    pub(crate) fn note(&self, stripe: u64, device: usize) {
        let mut places = self.places.borrow_mut();
        if self.under_work.get() != Some(stripe) && places.len() < MOST && places.insert((stripe, device)) {
            self.found.notify();
        }
    }

    pub(crate) fn next(&self) -> Option<(u64, usize)> {
        self.places.borrow_mut().pop_first()
    }
}

/// What became of a device's part of a stripe.
#[derive(Default)]
pub(crate) struct Mended {
    /// Blocks written anew.
    pub mended: u64,
    /// Blocks that the other devices do not yield either.
    pub lost: u64,
}
