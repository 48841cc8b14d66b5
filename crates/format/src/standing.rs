//! What a device is to an array: by its identity, never by the number in its superblock. Numbers are given out again, to the
//! members of another group or to a device that takes a member's place; a UUID is one device's for ever.

use cygnus_types::{GroupId, MemberIx, Uuid};

use crate::array_state::{ArrayState, GroupState, MemberDesc, MemberState};
use crate::constants::SPARE;
use crate::superblock::Superblock;

/// What a device with a superblock of the array is to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The member of this number, current or stale.
    Member(MemberIx),
    /// A spare of the array.
    Spare,
    /// Nothing: it was about to be added with its R-group, and that was cut short.
    Joining,
    /// Nothing any more: its R-group has left.
    Left,
    /// Nothing any more: another device has its place.
    Replaced,
    /// Nothing any more: it was a spare.
    FormerSpare,
}

impl Standing {
    /// Why the device takes no part, for people; `None` for members and spares.
    pub fn why_not(self) -> Option<&'static str> {
        match self {
            Standing::Member(_) | Standing::Spare => None,
            Standing::Joining => Some("was about to be added, and that was cut short"),
            Standing::Left => Some("has left the array with its R-group"),
            Standing::Replaced => Some("was replaced by another device"),
            Standing::FormerSpare => Some("was a spare and is none any more"),
        }
    }

    /// What to do with a device that takes no part, for people.
    pub fn remedy(self) -> &'static str {
        match self {
            Standing::Joining => "leave it out, or add it again",
            _ => "leave it out",
        }
    }
}

impl ArrayState {
    /// The members in service that have everything.
    pub fn online(&self) -> impl Iterator<Item = Uuid> {
        self.members().filter(|member| member.state == MemberState::Online).map(|member| member.uuid)
    }

    /// What the device with this superblock is to the array, of which this is the newest state.
    pub fn standing(&self, own: &Superblock) -> Standing {
        if self.lists(SPARE, own.member_uuid) {
            return Standing::Spare;
        }
        match self.members().position(|desc| desc.uuid == own.member_uuid) {
            Some(ix) if self.has_left(MemberIx(ix as u16)) => Standing::Left,
            Some(ix) => Standing::Member(MemberIx(ix as u16)),
            None if own.is_joining() => Standing::Joining,
            None if own.member == SPARE => Standing::FormerSpare,
            None if self.has_group_of(own) => Standing::Replaced,
            None => Standing::Left,
        }
    }

    /// Whether the group in which a device was a member is still there: then the two have a member in common. (When all
    /// of its members have been replaced since, it cannot be told from one that has left.)
    fn has_group_of(&self, own: &Superblock) -> bool {
        let Some(number) = own.state.group_of(own.member).map(GroupId::index) else { return false };
        match (self.groups.get(number), own.state.groups.get(number)) {
            (Some(here), Some(there)) if here.state != GroupState::Retired => {
                here.members.iter().any(|member| there.members.iter().any(|other| other.uuid == member.uuid))
            }
            _ => false,
        }
    }
}

impl MemberDesc {
    /// Whether the member is out of service, and was so already when this session began.
    pub fn left_before(&self, session: u64) -> bool {
        matches!(self.state, MemberState::Missing | MemberState::Failed) && session > self.holds.session
    }
}

impl Superblock {
    /// Which of two superblocks of an array counts: the greater one. When members parted ways, those that went on without the others say
    /// so by a later opening, or by whom they missed.
    pub fn rank(&self) -> impl Ord + use<> {
        let without = self.state.members().filter(|m| m.state != MemberState::Online).count();
        (self.generation, self.state.session, without)
    }

    /// Whether the member with this superblock was in service without others that the array, of which this is the newest state, has in
    /// service, and these without it: then each side has what the other lacks. One that was about to begin a session with all
    /// others when the power failed is none such.
    pub fn parted_from(&self, newest: &ArrayState) -> bool {
        let Some(desc) = newest.members().find(|desc| desc.uuid == self.member_uuid) else { return false };
        desc.left_before(self.state.session) && self.is_without(&newest.online().collect::<Vec<_>>())
    }

    /// Whether it says that one of these members is out of service.
    pub fn is_without(&self, members: &[Uuid]) -> bool {
        let mut out = self.state.members().filter(|theirs| theirs.state != MemberState::Online);
        out.any(|theirs| members.contains(&theirs.uuid))
    }
}

#[cfg(test)]
mod tests {
    use cygnus_types::Medium;

    use super::*;
    use crate::array_state::tests::tank;

    fn of(member: u16, state: &ArrayState) -> Superblock {
        let member_uuid = match MemberIx(member) {
            SPARE => state.spares[0].uuid,
            ix => state.members().nth(ix.index()).unwrap().uuid,
        };
        let array = Uuid::from_random(1, 1);
        Superblock {
            generation: 7,
            array,
            member: MemberIx(member),
            member_uuid,
            read_only: false,
            state: state.clone(),
        }
    }

    #[test]
    fn a_device_is_what_its_identity_says() {
        let old = tank();
        assert_eq!(old.standing(&of(4, &old)), Standing::Member(MemberIx(4)));
        assert_eq!(old.standing(&of(SPARE.0, &old)), Standing::Spare);
        let mut now = old.clone();
        now.spares.clear();
        now.groups[0].members[2].uuid = Uuid::from_random(70, 70);
        assert_eq!(now.standing(&of(2, &old)), Standing::Replaced);
        assert_eq!(now.standing(&of(SPARE.0, &old)), Standing::FormerSpare);
        now.groups[1].state = GroupState::Retired;
        now.groups[1].extents.clear();
        assert_eq!(now.standing(&of(3, &old)), Standing::Left, "listed still");
        let new = (80..83)
            .map(|n| crate::array_state::MemberDesc { uuid: Uuid::from_random(n, n), ..old.groups[1].members[0] });
        now.admit(4, (Medium::Flash, now.geometry.raid()), new.collect(), GroupState::InService).unwrap();
        assert_eq!(now.standing(&of(3, &old)), Standing::Left, "another group has its number");
        assert_eq!(now.standing(&of(3, &now)), Standing::Member(MemberIx(3)));
        let mut joining = now.clone();
        let more = (90..93)
            .map(|n| crate::array_state::MemberDesc { uuid: Uuid::from_random(n, n), ..old.groups[1].members[0] });
        joining.admit(4, (Medium::Flash, now.geometry.raid()), more.collect(), GroupState::Joining).unwrap();
        assert_eq!(now.standing(&of(6, &joining)), Standing::Joining);
    }

    #[test]
    fn members_have_parted_if_each_side_lists_the_other_as_out_of_service() {
        let set = |state: &mut ArrayState, ix: usize, to: MemberState, session: u64| {
            let desc = state.groups.iter_mut().flat_map(|group| &mut group.members).nth(ix).unwrap();
            (desc.state, desc.holds.session) = (to, session);
        };
        let before = tank();
        let mut newest = before.clone();
        newest.session += 1;
        set(&mut newest, 0, MemberState::Missing, before.session);
        assert!(!of(0, &before).parted_from(&newest), "it was away");
        let mut began = before.clone();
        began.session += 1;
        assert!(!of(0, &began).parted_from(&newest), "it was to begin a session with the others");
        set(&mut began, 1, MemberState::Missing, before.session);
        assert!(of(0, &began).parted_from(&newest));
        set(&mut newest, 0, MemberState::Online, before.session);
        assert!(!of(0, &began).parted_from(&newest), "it was filled anew");
    }

    #[test]
    fn of_sides_with_equal_generations_the_later_session_counts_and_then_who_missed_others() {
        let state = tank();
        let (own, mut later, mut alone) = (of(0, &state), of(1, &state), of(1, &state));
        later.state.session += 1;
        let mut missed = state.clone();
        missed.groups[0].members[0].state = MemberState::Missing;
        alone.state = missed;
        assert!(own.rank() < later.rank() && own.rank() < alone.rank() && alone.rank() < later.rank());
        let newer = Superblock { generation: own.generation + 1, ..of(0, &state) };
        assert!(later.rank() < newer.rank());
    }
}
