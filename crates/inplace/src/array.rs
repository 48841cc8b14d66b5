//! An array as its callers hold it: opened, asked, administered, closed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_engine::{ArrayError, JobStatus, Jobs, Work};
use cygnus_runtime::{DeviceInfo, Event, Runtime};
use cygnus_types::Nanos;

use crate::error::RaidError;
use crate::guardian::Guardian;
use crate::ledger::Ledger;
use crate::lock::Lock;
use crate::open::OpenReport;
use crate::raid::{Core, Raid};
use crate::volume::{Volume, VolumeState};
use crate::worker::Fill;

/// An open array. Cheap to clone; it lives on one reactor.
#[derive(Clone)]
pub struct Array(pub(crate) Rc<Inner>);

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
    pub guardian: RefCell<Guardian>,
    /// Notified when there is something to do for a worker, and when one has ended.
    pub changed: Event,
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
    async fn end_session(&self) -> Result<(), ArrayError> {
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

impl Array {
    /// What opening found.
    pub fn report(&self) -> OpenReport {
        self.0.report.borrow().clone()
    }

    /// A volume by name.
    pub fn volume(&self, name: &str) -> Option<Volume> {
        let volumes = self.0.volumes.borrow();
        volumes.iter().find(|volume| volume.name == name).map(|state| Volume::new(self.0.clone(), state.clone()))
    }

    /// Names of all volumes.
    pub fn volume_names(&self) -> Vec<String> {
        self.0.volumes.borrow().iter().map(|volume| volume.name.clone()).collect()
    }

    /// Long work: all that runs, and the last that has ended, oldest first.
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.0.jobs.statuses(self.0.rt.now())
    }

    /// Closes the array cleanly: everything durable, and no resync at the next opening, unless one is under way: that goes
    /// on then. Volumes answer that they are gone from the start of this.
    ///
    /// # Errors
    /// When not everything could be made durable, as when members are awaited who do not come within ten seconds; the next
    /// opening then resyncs what was being written.
    pub fn close(self) -> Work<'static, Result<(), ArrayError>> {
        let rt = self.0.rt.clone();
        let close = async move {
            let inner = &self.0;
            inner.closing.set(true);
            inner.changed.notify();
            inner.rt.spawn(inner.clone().close_without_members());
            let closed = inner.end_session().await;
            inner.end_guardian();
            let given_up = inner.given_up().map(ArrayError::Faulted);
            closed.map_err(|error| given_up.unwrap_or(error))
        };
        Box::pin(async move { rt.carry_out(close).await })
    }

    /// While more members of a group are in trouble than its redundancy covers, requests wait for them; from now on for so
    /// long at most, and then fail until the members are back.
    pub fn set_suspended_for(&self, span: Nanos) {
        self.0.core().care.requests_wait.set(span);
    }

    /// Carries out a change of the array to its end, whatever becomes of the caller: half of it would be neither the one
    /// array nor the other.
    pub(crate) fn carry_out<'a, T: 'static>(&'a self, change: impl Future<Output = T> + 'static) -> Work<'a, T> {
        Box::pin(self.0.rt.carry_out(change))
    }
}
