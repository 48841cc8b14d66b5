//! Growing: whole R-groups are added to an open array.
//!
//! First the new devices get superblocks that show their group as *joining*: those say nothing about the array. Then the
//! group is put into the state, and one commit writes that to old and new members alike. From the first old member on
//! that has it the group is there; before, it never was, and its devices are as free as they were. Space in it is given
//! out only when the commit is through, so no half-way house holds anything.
//!
//! It gets the lowest number that no group has, and the lowest addresses: those of groups that have left come first
//! ([`crate::resize::retire`] says why nothing can take the one for the other).

use cygnus_format::{ArrayState, GroupState, InvalidState, MAX_GROUPS, MAX_MEMBERS, Raid, Superblock};
use cygnus_runtime::DeviceInfo;
use cygnus_types::{ByteSize, GroupId, Medium, MemberIx, counted};

use crate::array::Array;
use crate::care::member_state;
use crate::care::prepare::Preparer;
use crate::care::seats::{Seats, Taken};
use crate::durable::commit::Committer;
use crate::error::{ArrayError, GroupError};
use crate::peers::ToOwner;
use crate::recover::assemble::{Found, inspect};
use crate::recover::create::{check_sizes, describe_members, segments_on};
use crate::recover::media::{NewGroup, check_mix, groups_of};
use crate::recover::slots::write_superblock;
use crate::recover::zones::check_zones;
use crate::resize::turn::{Turn, recompute_usable};
use crate::work::Work;

/// What was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The new groups.
    pub groups: Vec<AddedGroup>,
    /// What volumes may hold now.
    pub usable: ByteSize,
    /// What they could hold before.
    pub usable_before: ByteSize,
}

/// A group that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedGroup {
    /// Which.
    pub group: GroupId,
    /// How many columns it has.
    pub raid: Raid,
    /// The number of its first member.
    pub first_member: MemberIx,
    /// Its segments.
    pub segments: u32,
    /// Bytes of its members that stay unused, because the smallest one counts.
    pub unused: ByteSize,
}

impl Array {
    /// Adds the devices as whole R-groups, in this order: all of them, or none. All reactors must have the devices under
    /// their numbers. The first new group is the next to take the clients' writes. What the groups store on, the devices say.
    ///
    /// With `force` the devices may hold something, which is lost.
    ///
    /// # Errors
    /// See [`GroupError`]. The array is as it was then, except when it is faulted: the next opening finds either all the
    /// groups or none.
    pub fn add_groups<'a>(&'a self, devices: &'a [DeviceInfo], force: bool) -> Work<'a, Result<Added, GroupError>> {
        self.add_groups_on(devices, &[], force)
    }

    /// The same with what the groups store on: of all of them, or of each.
    ///
    /// # Errors
    /// As [`Array::add_groups`].
    pub fn add_groups_on<'a>(
        &'a self,
        devices: &'a [DeviceInfo],
        media: &'a [Medium],
        force: bool,
    ) -> Work<'a, Result<Added, GroupError>> {
        let (array, devices, media) = (self.clone(), devices.to_vec(), media.to_vec());
        self.carry_out(async move {
            let reactor = &array.reactor;
            reactor.shared.check_fault()?;
            let _turn = Turn::take(reactor)?;
            array.check_new(&devices)?;
            let _taken = Taken::new(reactor, devices.iter().map(|device| device.ix).collect());
            if !force {
                array.refuse_used_by_others(&devices).await?;
            }
            let (planned, groups) = array.plan(&devices, &media)?;
            let added = groups.iter().map(|&group| {
                let desc = &planned.groups[group.index()];
                let first_member = MemberIx(planned.numbers_of(group).start as u16);
                let (raid, segments, unused) = (desc.raid, desc.segments(), ByteSize(desc.unused_bytes()));
                AddedGroup { group, raid, first_member, segments, unused }
            });
            let added: Vec<AddedGroup> = added.collect();
            let stamped = array.stamp(&devices, &groups, &planned).await;
            if stamped.is_err() {
                array.wipe_quietly(&devices).await;
            }
            stamped?;
            let usable_before = ByteSize::of_blocks(reactor.shared.held.usable());
            array.take_in(&groups, &planned, &devices);
            // All reactors know the group before anything can lie in it.
            reactor.peers.ask_others(&reactor.rt, |ticket| ToOwner::Fence { ticket }).await;
            Committer::of(reactor).commit_state().await?;
            for AddedGroup { group, segments, .. } in &added {
                reactor.home().space.borrow_mut().add_group(&reactor.shared, *group);
                reactor.shared.log(format!("{group} with {} was added", counted(*segments, "segment")));
            }
            recompute_usable(reactor);
            reactor.update_pressure();
            reactor.home().space_changed.notify();
            Ok(Added { groups: added, usable: ByteSize::of_blocks(reactor.shared.held.usable()), usable_before })
        })
    }

    /// The state with groups of these devices, joining, and their numbers. Numbers and addresses that it gives them stay
    /// theirs: nobody but who has the turn gives out any.
    fn plan(&self, devices: &[DeviceInfo], said: &[Medium]) -> Result<(ArrayState, Vec<GroupId>), GroupError> {
        let reactor = &self.reactor;
        let mut state = reactor.home().state.borrow().clone();
        let mut groups = Vec::new();
        let raid_on = |medium| reactor.shared.protections.on(medium).as_promised().raid();
        let new = groups_of(&reactor.rt, devices, raid_on, said, (&state, &reactor.shared.policies))?;
        for NewGroup { devices, medium, raid } in new {
            let (segments, members) = (segments_on(devices, &state.geometry), describe_members(&reactor.rt, devices));
            let admitted = state.admit(segments, (medium, raid), members, GroupState::Joining);
            groups.push(admitted.map_err(GroupError::NoAddresses)?);
        }
        check_mix(&state, &reactor.shared.policies)?;
        match state.validate() {
            Ok(()) => Ok((state, groups)),
            Err(InvalidState::Layout(error)) => Err(GroupError::NoAddresses(error)),
            Err(error) => Err(ArrayError::Invalid(error.to_string()).into()),
        }
    }

    fn check_new(&self, devices: &[DeviceInfo]) -> Result<(), GroupError> {
        let reactor = &self.reactor;
        let raids = Medium::ALL.map(|medium| reactor.shared.protections.on(medium).as_promised().raid());
        let (raid, widest) = (raids[0], raids.into_iter().map(Raid::width).max().unwrap_or(1));
        let (given, width) = (devices.len(), usize::from(raid.width()));
        let are_alike = raids.iter().all(|other| *other == raid);
        if devices.is_empty() || are_alike && !given.is_multiple_of(width) {
            let (data, parity) = (raid.data, raid.parity);
            return Err(GroupError::NotWhole { data, parity, width, given, over: given % width });
        }
        let state = reactor.home().state.borrow();
        let there = || state.groups.iter().filter(|group| group.state != GroupState::Retired);
        // Where groups differ in width, the layout tells of too many members.
        let groups = there().count() + given.div_ceil(widest.into());
        let members = there().map(|group| group.members.len()).sum::<usize>() + given;
        if groups > MAX_GROUPS || members > MAX_MEMBERS {
            return Err(GroupError::TooMany { groups, members });
        }
        drop(state);
        for (at, device) in devices.iter().enumerate() {
            let twice = devices[..at].iter().any(|other| other.ix == device.ix);
            if twice || Seats::of(reactor).is_in_use(device.ix) {
                return Err(GroupError::InService(device.name.clone()));
            }
        }
        let geometry = reactor.shared.layout.geometry();
        check_zones(&reactor.rt, devices, geometry)?;
        Ok(check_sizes(devices, geometry)?)
    }

    /// As `refuse_used`, but for what an attempt to add the devices to this array has left, cut short.
    async fn refuse_used_by_others(&self, devices: &[DeviceInfo]) -> Result<(), GroupError> {
        for device in devices {
            if let Found::Member(own) = inspect(&self.reactor.rt, device).await?
                && own.array == self.reactor.home().uuid
                && own.is_joining()
            {
                continue;
            }
            crate::recover::create::refuse_used(&self.reactor.rt, std::slice::from_ref(device)).await?;
        }
        Ok(())
    }

    /// Makes the devices ready, and writes superblocks that show their groups as joining.
    async fn stamp(&self, devices: &[DeviceInfo], groups: &[GroupId], state: &ArrayState) -> Result<(), GroupError> {
        let layout = state.layout().map_err(GroupError::NoAddresses)?;
        let mut devices = devices.iter();
        for &group in groups {
            for (column, device) in (0..layout.width(group)).zip(devices.by_ref()) {
                let io = |error| ArrayError::Io { device: device.name.clone(), offset: 0, error };
                Preparer::of(&self.reactor).prepare(layout.segments(group), device).await.map_err(io)?;
                self.stamp_one(device, layout.member(group, column), state).await?;
            }
        }
        Ok(())
    }

    /// Both slots: whichever is overwritten first, and torn, the other one still tells whose device this is.
    async fn stamp_one(&self, device: &DeviceInfo, member: MemberIx, state: &ArrayState) -> Result<(), GroupError> {
        let (rt, home) = (&self.reactor.rt, self.reactor.home());
        let member_uuid = state.members().nth(member.index()).expect("it was just put there").uuid;
        // An open array has written at least two.
        let newest = home.records.generation.get();
        for generation in [newest - 1, newest] {
            let state = state.clone();
            let block = Superblock { generation, array: home.uuid, member, member_uuid, read_only: false, state };
            let bytes = block.encode().map_err(|error| ArrayError::Invalid(error.to_string()))?;
            write_superblock(rt, device.ix, generation, &bytes).await.map_err(|error| error.of(&device.name))?;
        }
        Ok(())
    }

    /// The attempt failed already and says why; what is left on a device that cannot be written is known as joining.
    async fn wipe_quietly(&self, devices: &[DeviceInfo]) {
        for device in devices {
            let _ = crate::recover::create::wipe(&self.reactor.rt, device).await;
        }
    }

    /// Puts the groups into the tables of all reactors and into the state that the next commit writes.
    fn take_in(&self, groups: &[GroupId], planned: &ArrayState, devices: &[DeviceInfo]) {
        let (shared, home) = (&self.reactor.shared, self.reactor.home());
        let mut state = home.state.borrow_mut();
        let mut left = devices;
        for &group in groups {
            let mut desc = planned.groups[group.index()].clone();
            let devices = left.split_off(..desc.members.len()).expect("the group was planned for them");
            member_state::change_group(&mut desc, GroupState::InService);
            shared.add_group(group, &desc, devices);
            shared.layout.members_of(group).for_each(|member| home.forget_member(member));
            match state.groups.get_mut(group.index()) {
                Some(left) => {
                    assert_eq!(left.state, GroupState::Retired, "the number of {group} is another one's");
                    *left = desc;
                }
                None => state.groups.push(desc),
            }
        }
    }
}
