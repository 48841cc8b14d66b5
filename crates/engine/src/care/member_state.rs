//! The states of members and of the array, and which may follow which.
//!
//! | member | means | next |
//! |---|---|---|
//! | online | holds everything it should | missing, failed |
//! | missing | its device was late, not there or without room; what it holds is old but good: it is caught up when it is back | rebuilding |
//! | failed | errors of its medium; not believed until somebody says so: a replacement by itself, or by force | rebuilding |
//! | rebuilding | gets all writes, is read where its column is whole | online, missing, failed |
//!
//! A *spare* is no member yet: it takes a lost member's place as "rebuilding". Or it is filled beside a member that is
//! online, as its *successor*: that is no state of the member, which is online before and after, nor of the spare, which a
//! crash leaves a spare; one commit gives the member's identity to the other device ([`crate::care::drain`]). A *stale* device is one that comes back as
//! a member that is missing or failed. The states are in the superblocks; a change is made here and nowhere else.
//!
//! | R-group | means | next |
//! |---|---|---|
//! | joining | only its own members know of it: it is not part of the array yet | in service |
//! | in service | takes part | retiring |
//! | retiring | gets nothing new; its data moves to the others | in service, retired |
//! | retired | has left; another one may get its number and its addresses | |
//!
//! | array | means |
//! |---|---|
//! | online | all members are |
//! | degraded | some are not, and nobody is filling their place |
//! | rebuilding | some are not, and at least one is being filled |
//! | suspended | it waits for members of a group of which more are in trouble than its parity covers ([`crate::care::suspension`]) |
//! | read-only | it was opened so, or is being given up: reads go on |
//! | faulted | as many are not at opening: it is not opened |

use cygnus_format::{GroupDesc, GroupState, Holdings, MemberDesc, MemberState};

/// Whether a member may go from one state to the other.
pub(crate) fn may_become(from: MemberState, to: MemberState) -> bool {
    use MemberState::{Failed, Missing, Online, Rebuilding};
    match from {
        Online => matches!(to, Missing | Failed),
        Missing | Failed => to == Rebuilding,
        Rebuilding => matches!(to, Online | Missing | Failed),
    }
}

/// Puts a member into a state.
///
/// # Panics
/// When that state may not follow the present one.
pub fn change(desc: &mut MemberDesc, to: MemberState) {
    assert!(may_become(desc.state, to), "member {}: {} after {}", desc.uuid, to.word(), desc.state.word());
    desc.state = to;
    if to == MemberState::Online {
        desc.holds = Holdings::default();
    }
}

/// Whether an R-group may go from one state to the other.
fn group_may_become(from: GroupState, to: GroupState) -> bool {
    use GroupState::{InService, Joining, Retired, Retiring};
    matches!((from, to), (Joining | Retiring, InService) | (InService, Retiring) | (Retiring, Retired))
}

/// Puts an R-group into a state.
///
/// # Panics
/// When that state may not follow the present one.
pub(crate) fn change_group(desc: &mut GroupDesc, to: GroupState) {
    assert!(group_may_become(desc.state, to), "an R-group: {} after {}", to.word(), desc.state.word());
    desc.state = to;
    if to == GroupState::Retired {
        desc.extents.clear();
    }
}

/// Records that a member is out of service. `below`: it has every stripe below this sequence, if it was online. The
/// newest superblock that all had was of this generation and session.
pub fn depart(desc: &mut MemberDesc, to: MemberState, below: u64, generation: u64, session: u64) {
    if desc.state == MemberState::Online {
        desc.holds = Holdings { below, ..Holdings::default() };
    }
    desc.holds.generation = generation;
    desc.holds.session = session;
    change(desc, to);
}

/// How an array is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayHealth {
    /// All members are online.
    Online,
    /// Some members are not online, and nobody is filling their place.
    Degraded,
    /// Some members are not online, and at least one is being filled.
    Rebuilding,
    /// It waits for members; what can be read is.
    Suspended,
    /// It takes no writes; what can be read is.
    ReadOnly,
}

/// What an array does for those who ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serves {
    All,
    WhenMembersAreBack,
    Reads,
}

/// The health of an array with members in these states.
pub(crate) fn health(members: impl Iterator<Item = MemberState>, serves: Serves) -> ArrayHealth {
    let mut health = ArrayHealth::Online;
    for state in members {
        health = match (state, health) {
            (MemberState::Online, _) => health,
            (MemberState::Rebuilding, _) | (_, ArrayHealth::Rebuilding) => ArrayHealth::Rebuilding,
            _ => ArrayHealth::Degraded,
        };
    }
    match serves {
        Serves::All => health,
        Serves::WhenMembersAreBack => ArrayHealth::Suspended,
        Serves::Reads => ArrayHealth::ReadOnly,
    }
}

#[cfg(test)]
mod tests {
    use cygnus_format::MemberErrors;
    use cygnus_types::Uuid;

    use super::*;
    use MemberState::{Failed, Missing, Online, Rebuilding};

    fn member(state: MemberState, holds: Holdings) -> MemberDesc {
        let uuid = Uuid::from_random(1, 1);
        MemberDesc { uuid, size_bytes: 0, state, holds, errors: MemberErrors::default() }
    }

    #[test]
    fn nobody_is_online_again_without_being_rebuilt() {
        for from in [Missing, Failed] {
            assert!(!may_become(from, Online) && may_become(from, Rebuilding));
        }
        assert!(may_become(Rebuilding, Online) && !may_become(Online, Rebuilding));
    }

    #[test]
    #[should_panic(expected = "retired after in service")]
    fn no_group_leaves_with_its_data() {
        change_group(
            &mut GroupDesc {
                extents: vec![],
                state: GroupState::InService,
                medium: cygnus_types::Medium::Flash,
                raid: cygnus_format::Raid { data: 1, parity: 1 },
                members: vec![],
            },
            GroupState::Retired,
        );
    }

    #[test]
    #[should_panic(expected = "online after missing")]
    fn an_impossible_change_is_a_bug() {
        let mut desc = member(Missing, Holdings::default());
        change(&mut desc, Online);
    }

    #[test]
    fn what_was_restored_before_is_remembered_when_a_rebuild_is_cut_short() {
        let holds = Holdings { restored: 5, restored_below: 90, ..Holdings::default() };
        let mut desc = member(Rebuilding, holds);
        depart(&mut desc, Missing, 70, 8, 2);
        assert_eq!(desc.holds, Holdings { generation: 8, session: 2, ..holds });
        let mut desc = member(Online, Holdings::default());
        depart(&mut desc, Failed, 70, 8, 2);
        assert_eq!(desc.holds, Holdings { below: 70, generation: 8, session: 2, ..Holdings::default() });
    }

    #[test]
    fn an_array_is_as_well_as_its_members() {
        for (members, serves, expected) in [
            (&[Online, Online][..], Serves::All, ArrayHealth::Online),
            (&[Online, Missing], Serves::All, ArrayHealth::Degraded),
            (&[Rebuilding, Failed], Serves::All, ArrayHealth::Rebuilding),
            (&[Failed, Rebuilding], Serves::All, ArrayHealth::Rebuilding),
            (&[Online, Missing], Serves::WhenMembersAreBack, ArrayHealth::Suspended),
            (&[Online, Online], Serves::Reads, ArrayHealth::ReadOnly),
        ] {
            assert_eq!(health(members.iter().copied(), serves), expected, "{members:?}");
        }
    }
}
