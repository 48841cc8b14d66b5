//! What requests waited for.

use std::ops::{AddAssign, Sub};

use cygnus_types::Nanos;

/// Waiting, added up twice: by where, and by what for; the sums are equal. Of a request of several packets it is that of the
/// packet that came last, on each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Outside the root complex, whose queue was full, and in it.
    pub root: Nanos,
    /// In switches.
    pub switch: Nanos,
    /// In the endpoint, both ways.
    pub endpoint: Nanos,
    /// At the module, while it did other things.
    pub module: Nanos,
    /// For the cluster's bus and for links.
    pub link: Nanos,
    /// For modules.
    pub storage: Nanos,
}

/// Where a wait was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Root,
    Switch,
    Endpoint,
    Module,
}

impl Stalls {
    /// All waiting.
    pub fn total(&self) -> Nanos {
        self.link + self.storage
    }

    /// Adds a wait of which so much was for storage.
    pub(crate) fn add(&mut self, place: Place, waited: Nanos, storage: Nanos) {
        let at = match place {
            Place::Root => &mut self.root,
            Place::Switch => &mut self.switch,
            Place::Endpoint => &mut self.endpoint,
            Place::Module => &mut self.module,
        };
        *at += waited;
        self.storage += storage;
        self.link += waited - storage;
    }
}

impl AddAssign for Stalls {
    fn add_assign(&mut self, other: Stalls) {
        self.root += other.root;
        self.switch += other.switch;
        self.endpoint += other.endpoint;
        self.module += other.module;
        self.link += other.link;
        self.storage += other.storage;
    }
}

impl Sub for Stalls {
    type Output = Stalls;
    fn sub(self, other: Stalls) -> Stalls {
        Stalls {
            root: self.root - other.root,
            switch: self.switch - other.switch,
            endpoint: self.endpoint - other.endpoint,
            module: self.module - other.module,
            link: self.link - other.link,
            storage: self.storage - other.storage,
        }
    }
}

/// What a cluster's requests came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterCounters {
    /// Requests answered.
    pub requests: u64,
    /// Sum of their times, from the submission to the answer.
    pub latency: Nanos,
    /// Sum of their waiting.
    pub stalls: Stalls,
    /// Time for which the bus was taken.
    pub bus: Nanos,
    /// Bytes of data to the modules.
    pub down: u64,
    /// Bytes of data from them.
    pub up: u64,
}

impl Sub for ClusterCounters {
    type Output = ClusterCounters;
    /// What came since then.
    fn sub(self, earlier: ClusterCounters) -> ClusterCounters {
        ClusterCounters {
            requests: self.requests - earlier.requests,
            latency: self.latency - earlier.latency,
            stalls: self.stalls - earlier.stalls,
            bus: self.bus - earlier.bus,
            down: self.down - earlier.down,
            up: self.up - earlier.up,
        }
    }
}
