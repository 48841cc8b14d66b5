//! Which of the superblocks that were found of an array counts.
//!
//! It is that of the highest generation, with one exception. A superblock is on record when of some R-group all members in service have
//! it, or more than may be lost; before that nobody has relied on it. One that a single member has taken while the others were awaited may
//! have a high generation and never have been on record. If the others went on without that member, in a later session, then what they say
//! counts, and the member is one that was away.

use cygnus_types::Uuid;

use crate::array_state::{GroupDesc, GroupState, MemberDesc, MemberState};
use crate::superblock::Superblock;

/// The superblock that counts of those that were found, all of one array; `None` if none of them knows the array. Those that `may_have_newer`
/// names lost a superblock that may have been newer than what was found of them.
pub fn newest<'a>(
    found: impl IntoIterator<Item = &'a Superblock>,
    may_have_newer: impl Fn(&Uuid) -> bool,
) -> Option<&'a Superblock> {
    let found: Vec<&Superblock> = found.into_iter().collect();
    let mut tell: Vec<&Superblock> = found.iter().copied().filter(|one| !one.is_joining()).collect();
    tell.sort_by_key(|one| std::cmp::Reverse(one.rank()));
    let first = *tell.first()?;
    let counts = tell.iter().find(|one| {
        let went_on = tell.iter().any(|other| other.state.session > one.state.session);
        !went_on || may_be_on_record(one, &found, &may_have_newer)
    });
    Some(counts.copied().unwrap_or(first))
}

/// Whether a superblock was on record, or may have been, since members are not here.
fn may_be_on_record(one: &Superblock, found: &[&Superblock], may_have_newer: &impl Fn(&Uuid) -> bool) -> bool {
    let own_of = |member: &MemberDesc| found.iter().find(|own| own.member_uuid == member.uuid);
    // Members only go forward: who has an older one never had this.
    let lacks = |member: &&MemberDesc| {
        own_of(member).is_some_and(|own| own.generation < one.generation) && !may_have_newer(&member.uuid)
    };
    let by_group = |group: &GroupDesc| {
        let of = |state: MemberState| group.members.iter().filter(move |member| member.state == state);
        let (online, lacking) = (of(MemberState::Online).count(), of(MemberState::Online).filter(lacks).count());
        // Who is being filled may have counted or not.
        let filled = of(MemberState::Rebuilding).filter(|member| !lacks(member)).count();
        let (have, losses) = (online - lacking + filled, one.state.geometry.with_raid(group.raid).losses());
        have > 0 && (lacking == 0 || have > losses)
    };
    one.state.groups.iter().filter(|group| group.state != GroupState::Retired).any(by_group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array_state::ArrayState;
    use crate::array_state::tests::tank;
    use cygnus_types::MemberIx;

    /// What a member has, by its number, generation and session.
    fn of(member: usize, generation: u64, session: u64, state: &ArrayState) -> Superblock {
        let member_uuid = state.members().nth(member).unwrap().uuid;
        let state = ArrayState { session, ..state.clone() };
        let array = Uuid::from_random(1, 1);
        Superblock { generation, array, member: MemberIx(member as u16), member_uuid, read_only: false, state }
    }

    fn counts(found: &[Superblock], silent: &[usize]) -> (u64, u64) {
        let state = tank();
        let silent: Vec<Uuid> = silent.iter().map(|&ix| state.members().nth(ix).unwrap().uuid).collect();
        let newest = newest(found, |uuid| silent.contains(uuid)).unwrap();
        (newest.generation, newest.state.session)
    }

    #[test]
    fn what_one_member_alone_took_does_not_count_once_the_others_went_on() {
        let state = tank();
        assert_eq!(state.geometry.parity, 1, "as the following has it");
        let width = usize::from(state.geometry.width());
        let all = state.members().count();
        let others = |generation, session| (1..all).map(move |ix| (ix, generation, session));
        let made = |of_others: Vec<(usize, u64, u64)>, first: (u64, u64)| -> Vec<Superblock> {
            let first = of(0, first.0, first.1, &state);
            let others = of_others.into_iter().map(|(ix, generation, session)| of(ix, generation, session, &state));
            [first].into_iter().chain(others).collect()
        };
        // They are of an earlier generation and a later session.
        let found = made(others(12, 4).collect(), (15, 3));
        assert_eq!(counts(&found, &[]), (12, 4));
        // It is the newest as ever while nobody went on, and when the later generation is theirs.
        assert_eq!(counts(&made(others(9, 3).collect(), (15, 3)), &[]), (15, 3));
        assert_eq!(counts(&made(others(16, 4).collect(), (15, 3)), &[]), (16, 4));
        // Of its group one is not here, or has lost what it had: it may have been on record.
        let without: Vec<_> = others(12, 4).filter(|&(ix, ..)| ix != 1).collect();
        assert_eq!(counts(&made(without, (15, 3)), &[]), (15, 3));
        assert_eq!(counts(&found, &[1]), (15, 3));
        // Two of a group had it, more than may be lost.
        let two: Vec<_> = others(12, 4).map(|(ix, g, s)| if ix == 1 { (ix, 15, 3) } else { (ix, g, s) }).collect();
        assert_eq!(counts(&made(two, (15, 3)), &[]), (15, 3));
        // All in service had it: the others of its group were out of service.
        let mut alone = state.clone();
        alone.groups[0].members[1..width].iter_mut().for_each(|member| member.state = MemberState::Missing);
        let mut found = made(others(12, 4).collect(), (15, 3));
        found[0] = of(0, 15, 3, &alone);
        assert_eq!(counts(&found, &[]), (15, 3));
    }

    #[test]
    fn who_is_only_about_to_join_tells_nothing() {
        let mut joining = tank();
        joining.groups[1].state = GroupState::Joining;
        let ix = usize::from(joining.geometry.width());
        let alone = of(ix, 5, 1, &joining);
        assert!(alone.is_joining() && newest([&alone], |_| false).is_none());
    }
}
