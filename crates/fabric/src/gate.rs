//! Something that lets nothing through now and then, and knows for how long that was for want of storage.

use cygnus_types::Nanos;

/// What a wait was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Links and buses were taken.
    Link,
    /// Modules were.
    Storage,
}

impl Cause {
    /// Of a wait of which so much was for storage.
    pub(crate) fn of(storage: Nanos, waited: Nanos) -> Self {
        if storage.0 * 2 > waited.0 { Self::Storage } else { Self::Link }
    }
}

/// Open, or shut since some time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
    since: Option<Nanos>,
    /// Time for which it was shut because of storage, up to the last opening.
    storage: Nanos,
}

impl Gate {
    pub(crate) fn shut(&mut self, now: Nanos) {
        self.since.get_or_insert(now);
    }

    /// It opens, if it was shut; what it was shut for is known only now.
    pub(crate) fn open(&mut self, now: Nanos, cause: Cause) {
        if let Some(since) = self.since.take()
            && cause == Cause::Storage
        {
            self.storage += now - since;
        }
    }

    /// To be kept by whoever begins to wait.
    pub(crate) fn mark(&self) -> Nanos {
        self.storage
    }

    /// How much of a wait that began at that mark was for storage. (Who comes while it is shut has not waited for all of it.)
    pub(crate) fn storage_since(&self, mark: Nanos, waited: Nanos) -> Nanos {
        (self.storage - mark).min(waited)
    }
}
