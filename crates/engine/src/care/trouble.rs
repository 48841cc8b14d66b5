//! Trouble: what the device of a member did not do, and what that makes of the member.
//!
//! | trouble | seen as | its member, should it leave | is read meanwhile |
//! |---|---|---|---|
//! | full | a write for which the file system below has no room | missing | yes |
//! | erring | a write or flush that fails, and nobody says whether for good | missing; failed when it happens again and again | yes |
//! | failing | a write or flush that ends with an error of the medium | failed | yes |
//! | hung | no answer for as long as the patience says | missing | no |
//! | gone | the device is not there, or the way to it is lost or barred | missing | no |
//!
//! Whichever reactor submitted the operation notices; from then on no reactor writes to the device, and what it should have
//! got is *owed* to it and stays in memory ([`crate::write::writer`]). Whether the member leaves service or is awaited is the home
//! reactor's decision alone ([`crate::care::guardian`]).

use cygnus_format::MemberState;
use cygnus_runtime::{DeviceIx, IoClass, IoError, IoErrorKind};
use cygnus_types::GroupId;

use crate::care::member::MemberShared;
use crate::peers::ToHome;
use crate::reactor::Reactor;
use crate::shared::count;

/// See the module's text. The greater one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Trouble {
    /// The file system below has no room.
    Full = 1,
    /// Writes or flushes fail, which may pass.
    Erring,
    /// Writes or flushes fail because of the medium.
    Failing,
    /// No answer.
    Hung,
    /// Not there.
    Gone,
}

impl Trouble {
    const ALL: [Self; 5] = [Self::Full, Self::Erring, Self::Failing, Self::Hung, Self::Gone];

    /// The one that a byte stands for; 0 stands for none.
    pub(crate) fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|trouble| *trouble as u8 == byte)
    }

    /// What an error says of the device; `None`: of the range alone, or nothing that matters.
    pub fn of_error(class: IoClass, kind: IoErrorKind) -> Option<Self> {
        match (class, kind) {
            // Whoever opens it anew knows already that it was gone.
            (IoClass::Reopen, _) => None,
            (_, IoErrorKind::Gone | IoErrorKind::Path | IoErrorKind::Refused) => Some(Self::Gone),
            (_, IoErrorKind::Hung) => Some(Self::Hung),
            (IoClass::Read | IoClass::Trim, _) => None,
            (_, IoErrorKind::NoSpace) => Some(Self::Full),
            (_, kind) if kind.may_pass() => Some(Self::Erring),
            _ => Some(Self::Failing),
        }
    }

    /// For people, behind the name of the device.
    pub fn words(self) -> &'static str {
        match self {
            Self::Full => "the file system below is full",
            Self::Erring => "writes fail",
            Self::Failing => "its medium fails",
            Self::Hung => "it gives no answer",
            Self::Gone => "it is gone",
        }
    }

    /// Whether what the device holds can be read meanwhile.
    pub fn is_readable(self) -> bool {
        matches!(self, Self::Full | Self::Erring | Self::Failing)
    }

    /// What a member becomes that leaves because of it.
    pub fn state(self) -> MemberState {
        if self == Self::Failing { MemberState::Failed } else { MemberState::Missing }
    }
}

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
            false => self.peers.tell_home(self, ToHome::MembersChanged),
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
            if self.shared.is_stopped() || self.is_home() && self.home().stop.get() {
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
        (0..self.shared.layout.geometry().width()).map(move |column| self.shared.member(group, column).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_device_refuses_to_take_is_held_against_it() {
        use IoErrorKind::{Gone, Hung, Medium, NoSpace, Path, Unclear};
        for (class, kind, expected) in [
            (IoClass::Read, Medium, None),
            (IoClass::Trim, Medium, None),
            (IoClass::Read, Gone, Some(Trouble::Gone)),
            (IoClass::Trim, Hung, Some(Trouble::Hung)),
            (IoClass::Write, NoSpace, Some(Trouble::Full)),
            (IoClass::Flush, Medium, Some(Trouble::Failing)),
            (IoClass::Write, Unclear, Some(Trouble::Erring)),
            (IoClass::Read, Unclear, None),
            (IoClass::Read, Path, Some(Trouble::Gone)),
            (IoClass::Reopen, Gone, None),
        ] {
            assert_eq!(Trouble::of_error(class, kind), expected, "{class:?} {kind:?}");
        }
        for trouble in Trouble::ALL {
            assert_eq!(Trouble::of_byte(trouble as u8), Some(trouble));
        }
        assert_eq!(Trouble::of_byte(0), None);
    }
}
