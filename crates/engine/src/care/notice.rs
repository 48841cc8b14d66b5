//! Who notices that a member does not do its work, and who waits until it does: on whichever reactor.

use std::pin::pin;

use cygnus_runtime::{DeviceIx, IoClass, IoError, Raced, either, race};
use cygnus_types::{GroupId, Nanos};

use crate::care::member::MemberShared;
use crate::care::trouble::Trouble;
use crate::counters::count;
use crate::error::VolumeError;
use crate::peers::ToHome;
use crate::reactor::Reactor;

impl Reactor {
    /// An operation of a device has failed.
    #[cold]
    pub(crate) fn io_failed(&self, dev: DeviceIx, class: IoClass, error: IoError) {
        if let Some(trouble) = Trouble::of_error(class, error.kind) {
            self.note_trouble(dev, trouble, &format!("{} failed: {error}", class.words()));
        }
    }

    /// A device did not do what it should. A member's own is not written to from now on; a successor's does not take over.
    #[cold]
    pub(crate) fn note_trouble(&self, dev: DeviceIx, trouble: Trouble, why: &str) {
        for state in self.shared.members.iter() {
            if state.known_device() == Some(dev) {
                self.note_trouble_of(state, trouble, why);
            } else if state.end_succession(dev) {
                let name = state.name();
                self.shared.log(format!("the device that is to take over from {name} is out of service: {why}"));
                self.tell_home_of_members();
            }
        }
    }

    fn note_trouble_of(&self, state: &MemberShared, trouble: Trouble, why: &str) {
        let Some(begins) = state.begin_trouble(trouble, why) else { return };
        if begins {
            count(if trouble.is_readable() { &state.counters.write_errors } else { &state.counters.read_errors }, 1);
            if !state.is_awaited() {
                self.shared.log(format!("{} does not do its work: {why}", state.name()));
            }
        }
        self.tell_home_of_members();
    }

    /// Something has become of a member that the home reactor should look at.
    pub(crate) fn tell_home_of_members(&self) {
        match self.is_home() {
            true => self.home().members_changed.notify(),
            false => self.peers.tell_home(&self.rt, ToHome::MembersChanged),
        }
    }

    /// How often members of a group have stopped answering, or begun to answer again, so far: as often before and after, and
    /// nobody did in between.
    pub(crate) fn silences(&self, group: GroupId) -> u64 {
        self.of_group(group).map(MemberShared::silences).sum()
    }

    /// Whether what a group did not deliver may only be away: somebody has stopped answering or begun again since there were
    /// `before` silences, or does not answer now. Nothing is to be concluded from such an answer.
    pub(crate) fn was_disturbed(&self, group: GroupId, before: u64) -> bool {
        let silent = |state: &MemberShared| state.device().is_some() && (!state.is_readable() || state.is_awaited());
        self.silences(group) != before || self.of_group(group).any(silent)
    }

    /// Waits until every member of a group that is in service answers; `false`: the array is ending.
    pub(crate) async fn until_it_answers(&self, group: GroupId) -> bool {
        loop {
            let answers = self.answers.wait();
            if self.is_ending() {
                return false;
            }
            if !self.was_disturbed(group, self.silences(group)) {
                return true;
            }
            answers.await;
        }
    }

    /// Members of a group that hold all they should, or are owed it, and are in trouble.
    pub(crate) fn troubled_in(&self, group: GroupId) -> usize {
        self.of_group(group).filter(|state| state.is_online() && state.trouble().is_some()).count()
    }

    pub(crate) fn of_group(&self, group: GroupId) -> impl Iterator<Item = &MemberShared> {
        (0..self.shared.layout.width(group)).map(move |column| self.shared.member(group, column).1)
    }

    /// Waits for something that somebody's request needs, unless the array is suspended and the request has waited for
    /// members as long as it may.
    pub(crate) async fn unless_suspended<T>(&self, work: impl Future<Output = T>) -> Result<T, VolumeError> {
        let mut work = pin!(work);
        loop {
            // Whenever somebody falls silent or is back, there may be another time.
            let changed = self.answers.wait();
            let fail_at = self.shared.suspension.requests_fail_at();
            if self.rt.now() >= fail_at {
                let waits_for = self.shared.suspension.get().map_or_else(String::new, |suspended| suspended.words());
                return Err(VolumeError::Suspended { waits_for });
            }
            let limit = async {
                match fail_at {
                    Nanos::MAX => changed.await,
                    at => either(changed, self.rt.sleep_until(at)).await,
                }
            };
            if let Raced::First(done) = race(work.as_mut(), limit).await {
                return Ok(done);
            }
        }
    }
}
