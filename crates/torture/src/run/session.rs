//! How a session begins and how it ends.

use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::ArrayError;
use cygnus_runtime::DeviceInfo;
use cygnus_sim::DiskId;

use super::state::{Run, Session};
use crate::array::{Array, Unopened};
use crate::failure::{OnceMore, RunFailure, Step, Trouble};
use crate::journal;
use crate::story::{Absent, Cycle, Ending, Sort};

impl Run<'_> {
    pub(super) fn open(&mut self, cycle: &Cycle) -> Result<Session, RunFailure> {
        let disks = self.members.given(cycle.stale, &mut self.rng);
        let mut absent = cycle.absent.filter(|absent| self.is_outlasted(absent));
        let mut cuts = cycle.cuts.iter();
        loop {
            self.world.cut_power_after(cuts.next().copied());
            let cluster = self.cluster(&disks);
            let mut here = self.world.infos(&disks);
            here.retain(|device| absent.is_none_or(|absent| device.name != format!("d{}", absent.member)));
            let written = self.written(&disks);
            let opened = Array::open(&cluster, &here, &self.story.shape, false, self.kept());
            self.world.cut_power_after(None);
            match opened {
                Ok(array) => {
                    let session = Session { cluster, array, devices: self.world.infos(&disks) };
                    if let Some(session) = self.begin(session)? {
                        return Ok(session);
                    }
                }
                // Its group lacks another one, which was away when the last session ended: an operator brings this one.
                Err(Unopened::Refused(error)) if lacks_too_many(&error) && absent.take().is_some() => {
                    journal::tell(format!("{} not opened: {error}", self.world.now()));
                }
                Err(Unopened::Refused(error))
                    if let Some(force) = cycle.force.as_ref().filter(|_| lacks_too_many(&error)) =>
                {
                    drop(cluster);
                    return self.open_with_force(&disks, force, error);
                }
                Err(Unopened::Refused(error)) if self.may_refuse_for_rot(&error) => {
                    drop(cluster);
                    if self.written(&disks) != written {
                        self.wrote_remains_alone(&disks, &here, &error)?;
                    }
                    return self.open_over_loss(&disks, &error);
                }
                Err(Unopened::Refused(error)) => {
                    self.note_refusal(&disks, &error);
                    return Err(RunFailure::NotOpened(error));
                }
                Err(Unopened::Halted(Trouble::Failure(failure))) => return Err(failure.during(Step::Opening)),
                Err(Unopened::Halted(Trouble::PowerCut)) => {
                    drop(cluster);
                    self.power_went_while_opening();
                }
            }
        }
    }

    /// Whether another member of its group was in service to the end, and is here. The others alone would go on from what was before,
    /// as a copy does that nobody told: no operator should let them.
    fn is_outlasted(&self, absent: &Absent) -> bool {
        let shape = &self.story.shape;
        let mut others = self.were_online.iter().filter(|&&n| n != absent.member);
        let is_outlasted = others.any(|&n| shape.set_of(n) == shape.set_of(absent.member));
        if !is_outlasted {
            journal::tell(format!("{} d{} is brought, as the others are behind", self.world.now(), absent.member));
        }
        is_outlasted
    }

    /// An opening was refused and has written. That is right for one thing: what a killed server has left in memory. Done once
    /// more, it changes not a byte, while whatever else an opening might write has another session or number in it.
    fn wrote_remains_alone(
        &self,
        disks: &[DiskId],
        here: &[DeviceInfo],
        refusal: &Arc<ArrayError>,
    ) -> Result<(), RunFailure> {
        let wrote = |again| Err(RunFailure::WroteThough { refusal: refusal.clone(), again });
        if self.machine.is_none() {
            return wrote(None);
        }
        let before: Vec<_> = disks.iter().map(|&disk| (disk, self.world.save(disk))).collect();
        let cluster = self.cluster(disks);
        let again = Array::open(&cluster, here, &self.story.shape, false, self.kept());
        match again {
            Err(Unopened::Refused(error)) if error == *refusal => {}
            Err(Unopened::Refused(error)) => return wrote(Some(OnceMore::RefusedDifferently(error))),
            Ok(_) => return wrote(Some(OnceMore::NotRefused)),
            Err(Unopened::Halted(trouble)) => return wrote(Some(OnceMore::NotEnded(Box::new(trouble.into())))),
        }
        drop(cluster);
        match before.iter().find(|(disk, saved)| self.world.differs_from(*disk, saved)) {
            None => Ok(()),
            Some((disk, _)) => wrote(Some(OnceMore::WroteElse(*disk))),
        }
    }

    /// An array of these devices was not opened: where more has rotted of one than is promised to be survived, it is right to
    /// refuse, and the story ends.
    pub(super) fn note_refusal(&mut self, disks: &[DiskId], error: &ArrayError) {
        let lost = disks.iter().any(|&disk| crate::rot::has_lost_a_slot(&self.world, disk));
        self.is_refused = lost && matches!(error, ArrayError::LostSuperblock { .. });
    }

    /// An array was opened; `None` if the power went meanwhile.
    pub(super) fn begin(&mut self, session: Session) -> Result<Option<Session>, RunFailure> {
        let array = session.array.home().clone();
        self.shared.inspect_with(Some(Rc::new(move || array.invariants())));
        if !self.world.is_powered() {
            self.after_power_cut(session, "power cut just after opening");
            return Ok(None);
        }
        self.members.are_placed(&session.array.home().status());
        self.torn_segments.extend(&session.array.home().recovery().torn_segments);
        self.settle_volumes(&session)?;
        self.shared.inspect()?;
        Ok(Some(session))
    }

    /// Bytes written to devices so far.
    pub(super) fn written(&self, disks: &[DiskId]) -> u64 {
        disks.iter().map(|&disk| self.world.stats(disk).written_bytes).sum()
    }

    pub(super) fn power_went_while_opening(&mut self) {
        journal::tell(format!("{} power cut while opening", self.world.now()));
        if self.machine.is_some() || !self.story.levels.is_empty() {
            // What the process before had acknowledged may not have been on the devices yet.
            self.shared.power_was_cut(self.world.now(), "power cut while opening");
        }
        self.machine_went_down();
        self.tally.cuts_in_transit += 1;
        self.world.restore_power();
    }

    /// Whether all that devices had taken is there when the array is opened again: none has lost what it had taken, and enough of
    /// them are there.
    fn devices_keep_what_they_took(&self, cycle: &Cycle) -> bool {
        let forgets = cycle.passing.iter().any(|(_, trouble)| trouble.sort == Sort::Unpowered);
        let is_plain = self.shared.oracle.borrow().is_plain();
        is_plain && !forgets && !self.ruined && !self.is_doomed
    }

    pub(super) fn finish(&mut self, session: Session, cycle: &Cycle) -> Result<(), RunFailure> {
        match cycle.ending {
            Ending::PowerCut(_) => {
                self.world.cut_power();
                self.after_power_cut(session, "power cut");
            }
            Ending::Kill(_, power_too) => {
                journal::tell(format!("{} process killed", self.world.now()));
                self.tally.kills += 1;
                self.drop_session(session);
                if self.devices_keep_what_they_took(cycle) && !power_too {
                    let kept = self.machine.is_some();
                    self.tally.kept += u64::from(kept);
                    self.shared.process_was_killed(self.world.now(), kept);
                } else {
                    self.shared.power_was_cut(self.world.now(), "process killed");
                }
                if power_too {
                    self.machine_went_down();
                    self.world.cut_power();
                    self.world.restore_power();
                }
            }
            Ending::Clean(cut) => return self.close(session, cut),
        }
        Ok(())
    }

    pub(super) fn close(&mut self, session: Session, cut: Option<u64>) -> Result<(), RunFailure> {
        self.world.cut_power_after(cut);
        let since = self.shared.oracle.borrow_mut().begin_flush();
        let closing = session.array.close();
        let closed = self.wait(&session, closing);
        self.world.cut_power_after(None);
        match closed {
            // It waited for members, which are in trouble still.
            Ok(Err(ArrayError::Suspended(why))) if self.shared.loses_nothing.get() => {
                journal::tell(format!("{} {why}", self.world.now()));
                self.tally.given_up += 1;
                self.drop_session(session);
                self.shared.power_was_cut(self.world.now(), "closed while suspended");
                Ok(())
            }
            Ok(result) => {
                result.map_err(|error| RunFailure::NotClosed(Arc::new(error)))?;
                journal::tell(format!("{} closed", self.world.now()));
                self.tally.clean_stops += 1;
                let lost = session.array.volumes_with_losses();
                let now = self.world.now();
                for volume in &self.volumes {
                    if lost.contains(&volume.name) {
                        // Nobody has flushed it since; the log and the status say so.
                        self.shared.oracle.borrow_mut().told_of_loss(volume.number, since, now);
                    }
                    self.shared.oracle.borrow_mut().end_flush(volume.number, since, now);
                }
                self.drop_session(session);
                self.machine_went_down();
                // Closed means durable: nothing may be left in the devices' caches that matters.
                self.world.cut_power();
                self.shared.power_was_cut(now, "closed, then power cut");
                self.world.restore_power();
                Ok(())
            }
            Err(Trouble::PowerCut) => {
                self.tally.cuts_in_transit += 1;
                self.after_power_cut(session, "power cut while closing");
                Ok(())
            }
            Err(Trouble::Failure(failure)) => Err(failure.during(Step::Closing)),
        }
    }

    pub(super) fn drop_session(&mut self, session: Session) {
        let members = session.array.home().status().members;
        self.were_online = (0..members.len()).filter(|&n| members[n].is_online()).collect();
        // It keeps a handle to the array, which must go with its reactor.
        self.shared.inspect_with(None);
        drop(session);
    }

    pub(super) fn after_power_cut(&mut self, session: Session, what: &str) {
        journal::tell(format!("{} {what}", self.world.now()));
        self.tally.power_cuts += 1;
        self.shared.power_was_cut(self.world.now(), what);
        self.drop_session(session);
        self.machine_went_down();
        self.world.restore_power();
    }
}

/// Whether an opening was refused since a group lacks more members than its parity covers.
pub(super) fn lacks_too_many(error: &ArrayError) -> bool {
    matches!(error, ArrayError::TooManyMissing { .. })
}
