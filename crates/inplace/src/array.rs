//! An array as its callers hold it: opened, asked, administered, closed.

use std::rc::Rc;

use cygnus_engine::{ArrayError, JobState, JobStatus, Work};
use cygnus_types::Nanos;

use crate::inner::Inner;
use crate::report::OpenReport;
use crate::volume::Volume;

/// An open array. Cheap to clone; it lives on one reactor.
#[derive(Clone)]
pub struct Array(pub(crate) Rc<Inner>);

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
            inner.claim.take();
            let given_up = inner.given_up().map(ArrayError::Faulted);
            closed.map_err(|error| given_up.unwrap_or(error))
        };
        Box::pin(async move { rt.carry_out(close).await })
    }

    /// Waits until nothing is left to be resynced or filled, or nothing more can be done about it.
    pub async fn settled(&self) {
        let inner = &self.0;
        let busy = || self.jobs().iter().any(|job| job.state == JobState::Running);
        while busy() {
            let changed = inner.changed.wait();
            if busy() {
                changed.await;
            }
        }
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
