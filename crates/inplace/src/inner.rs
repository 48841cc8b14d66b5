//! An open array, as those who work for it know it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_engine::{ArrayError, Job, Jobs};
use cygnus_runtime::{Claim, DeviceInfo, Event, Runtime};

use crate::core::Core;
use crate::error::RaidError;
use crate::ledger::Ledger;
use crate::lock::Lock;
use crate::looked_after::LookedAfter;
use crate::raid::Raid;
use crate::report::OpenReport;
use crate::volume_state::VolumeState;

/// A member to be filled.
pub(crate) struct Fill {
    pub job: Job,
    /// What it lacks, in order.
    pub regions: Vec<u32>,
}

/// See the module's text.
pub(crate) struct Inner {
    pub rt: Runtime,
    pub raid: Raid,
    pub report: RefCell<OpenReport>,
    pub volumes: RefCell<Vec<Rc<VolumeState>>>,
    /// By member, its device; one that is not there has none.
    pub devices: RefCell<Vec<Option<DeviceInfo>>>,
    pub jobs: Jobs,
    /// Jobs that the worker has not come to yet, by the member to be filled.
    pub waiting: RefCell<BTreeMap<usize, Fill>>,
    /// One change of volumes or members at a time.
    pub admin: Lock,
    pub closing: Cell<bool>,
    pub workers: Cell<u32>,
    pub guardian: RefCell<LookedAfter>,
    /// Notified when there is something to do for a worker, and when one has ended.
    pub changed: Event,
    /// What keeps others in this program from its devices while the array is open.
    pub claim: Cell<Option<Claim>>,
}

impl Inner {
    pub(crate) fn new(rt: Runtime, raid: Raid, devices: Vec<Option<DeviceInfo>>) -> Self {
        let inner = Self {
            rt,
            raid,
            report: RefCell::default(),
            volumes: RefCell::default(),
            devices: RefCell::new(devices),
            jobs: Jobs::default(),
            waiting: RefCell::default(),
            admin: Lock::default(),
            closing: Cell::new(false),
            workers: Cell::new(0),
            guardian: RefCell::default(),
            changed: Event::new(),
            claim: Cell::default(),
        };
        let known = inner.ledger().state.borrow().volumes.iter().map(|desc| Rc::new(VolumeState::new(desc))).collect();
        inner.volumes.replace(known);
        inner
    }

    pub(crate) fn core(&self) -> &Rc<Core> {
        &self.raid.0
    }

    pub(crate) fn ledger(&self) -> &Rc<Ledger> {
        self.core().ledger.get().expect("an array that was opened has one")
    }

    /// Lets whoever is at work come to an end, and makes everything durable.
    pub(crate) async fn end_session(&self) -> Result<(), ArrayError> {
        while self.workers.get() > 0 {
            let ended = self.changed.wait();
            if self.workers.get() > 0 {
                ended.await;
            }
        }
        self.core().flush().await.map_err(faulted)?;
        let fits = self.ledger().intent().is_none_or(|intent| intent.stale().is_empty());
        self.ledger().state.borrow_mut().clean = fits;
        self.commit().await
    }

    /// Makes the present state durable.
    pub(crate) async fn commit(&self) -> Result<(), ArrayError> {
        self.ledger().commit(self.core()).await.map_err(faulted)
    }
}

pub(crate) fn faulted(error: RaidError) -> ArrayError {
    ArrayError::Faulted(error.to_string())
}
