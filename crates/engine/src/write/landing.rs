//! Stripes that are closed and not yet on the devices, and how long one waits for them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cygnus_runtime::Event;

use crate::write::lane::Lane;

/// A stripe that is closed and not yet on the devices.
struct Closed {
    lane: Lane,
    /// All of it is on the devices but parity that members are to compute from the copies that they have.
    lacks_only_parity: bool,
}

/// Those of a reactor, by their sequence.
#[derive(Default)]
pub(crate) struct Landing(RefCell<BTreeMap<u64, Closed>>);

impl Landing {
    pub(crate) fn begins(&self, seq: u64, lane: Lane) {
        self.0.borrow_mut().insert(seq, Closed { lane, lacks_only_parity: false });
    }

    pub(crate) fn ends(&self, seq: u64) {
        self.0.borrow_mut().remove(&seq);
    }

    /// The lowest sequence of any.
    pub(crate) fn lowest(&self) -> Option<u64> {
        self.0.borrow().keys().next().copied()
    }

    /// A stripe is on the devices but for parity that members are to compute, and they have copies of all of which that is the parity.
    /// Those who wait for `progress` are told.
    pub(crate) fn lacks_only_parity(&self, seq: u64, progress: &Event) {
        if let Some(stripe) = self.0.borrow_mut().get_mut(&seq) {
            stripe.lacks_only_parity = true;
        }
        progress.notify();
    }

    /// Waits until all stripes of these lanes with lower sequences are on the devices.
    pub(crate) async fn until_landed(&self, lanes: &[Lane], below: u64, progress: &Event) {
        self.while_any(|stripe| lanes.contains(&stripe.lane), below, progress).await;
    }

    /// The same, but not until members have computed the parity of what they have copies of: any m members may be lost without it too.
    pub(crate) async fn until_landed_or_copied(&self, lanes: &[Lane], below: u64, progress: &Event) {
        self.while_any(|stripe| lanes.contains(&stripe.lane) && !stripe.lacks_only_parity, below, progress).await;
    }

    async fn while_any(&self, is_such: impl Fn(&Closed) -> bool, below: u64, progress: &Event) {
        loop {
            let changed = progress.wait();
            if !self.0.borrow().range(..below).any(|(_, stripe)| is_such(stripe)) {
                return;
            }
            changed.await;
        }
    }
}
