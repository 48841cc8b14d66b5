//! Where blocks go that move out of the way: the groups that the rule may choose among, and the lane that leads to the chosen one
//! (`docs/decisions/066-moves-choose-their-target.md`).
//!
//! A group may take blocks if it is another one than theirs, on the same medium, not burdened, and has an open segment for moves or would
//! be granted one. Within its own group a block would get out of nobody's way: a stripe takes all columns. If the rule allows no
//! targets, the only choice is the group in which the clients' log is.

use std::rc::Rc;

use cygnus_format::GroupState;
use cygnus_policy::{ClusterView, Decision};
use cygnus_runtime::DeviceIx;
use cygnus_types::{GroupId, Medium, Nanos};

use crate::autonomics::marks::Marks;
use crate::autonomics::sight::Sight;
use crate::autonomics::steering::Steering;
use crate::autonomics::targets::share_of_a_switch;
use crate::reactor::Reactor;
use crate::write::grant::Room;
use crate::write::lane::{Lane, Slot};

/// The groups that a decision may choose among.
pub(super) struct Choice {
    pub groups: Vec<GroupId>,
    /// The slot for one of them that is nobody's target yet.
    free: Option<Slot>,
}

/// See the module's text.
pub(super) struct Placing<'a> {
    pub reactor: &'a Rc<Reactor>,
    pub marks: &'a Marks,
    pub sight: &'a Sight,
}

impl Placing<'_> {
    /// The groups to which blocks of a group may go, where clusters are so and cold below this use of their bus.
    pub(super) fn choice(&self, of: GroupId, clusters: &[ClusterView], cold_below: u32, now: Nanos) -> Choice {
        let shared = &self.reactor.shared;
        let from = shared.medium(of);
        if self.marks.rule.targets == 0 {
            return Choice { groups: self.group_of_log(from, now).into_iter().collect(), free: None };
        }
        let (live, rest): (Vec<Slot>, Vec<Slot>) =
            self.slots().partition(|&slot| self.is_live(slot, clusters, cold_below, now));
        let free = rest.first().copied();
        let share = share_of_a_switch(self.marks.rule.targets, self.marks.links.switches());
        let below = |switch| live.iter().filter(|&&slot| self.switch_of_target(slot) == Some(switch)).count();
        let may_begin = |group| free.is_some() && self.switch_of(group).is_none_or(|switch| below(switch) < share);
        let has_room = |group: GroupId| match self.sight.targets.slot_of(group) {
            Some(slot) => self.has_begun(slot) || self.marks.has_room(group),
            None => self.marks.has_room(group) && may_begin(group),
        };
        let steering = Steering::of(shared);
        let may_take = |&group: &GroupId| {
            group != of && shared.medium(group) == from && has_room(group) && !steering.is_burdened(group, now)
        };
        Choice { groups: shared.groups_in(GroupState::InService).filter(may_take).collect(), free }
    }

    /// The group in which the clients' log of a medium goes on, unless that is burdened.
    fn group_of_log(&self, from: Medium, now: Nanos) -> Option<GroupId> {
        let mut writer = self.reactor.writer(Lane::Clients(from)).borrow_mut();
        writer.leave_burdened(self.reactor);
        let group = writer.next_group(self.reactor)?;
        (!Steering::of(&self.reactor.shared).is_burdened(group, now)).then_some(group)
    }

    fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        Slot::ALL.into_iter().take(self.marks.rule.targets as usize)
    }

    fn has_begun(&self, slot: Slot) -> bool {
        self.reactor.writer(Lane::Moved(slot)).borrow().has_begun_a_segment()
    }

    /// Whether a slot keeps its target: see [`crate::autonomics::targets`].
    fn is_live(&self, slot: Slot, clusters: &[ClusterView], cold_below: u32, now: Nanos) -> bool {
        let Some(target) = self.sight.targets.target(slot) else { return false };
        let is_cold = || self.clusters_of(target.group).any(|cluster| clusters[cluster].is_cold(cold_below));
        let is_used = now.since(target.used) < self.marks.rule.rest;
        is_used
            && self.has_begun(slot)
            && !Steering::of(&self.reactor.shared).is_burdened(target.group, now)
            && is_cold()
    }

    fn devices_of(&self, group: GroupId) -> impl Iterator<Item = DeviceIx> + '_ {
        let shared = &self.reactor.shared;
        (0..shared.layout.width(group)).filter_map(move |column| shared.member(group, column).1.device())
    }

    fn clusters_of(&self, group: GroupId) -> impl Iterator<Item = usize> + '_ {
        self.devices_of(group).filter_map(|dev| self.marks.links.cluster_of(dev))
    }

    /// The switch that a group's first device is below.
    fn switch_of(&self, group: GroupId) -> Option<u32> {
        self.clusters_of(group).next().map(|cluster| self.marks.links.clusters[cluster].switch)
    }

    fn switch_of_target(&self, slot: Slot) -> Option<u32> {
        self.sight.targets.target(slot).and_then(|target| self.switch_of(target.group))
    }

    /// Which devices are in some of these groups, by their numbers.
    pub(super) fn devices_in(&self, groups: &[GroupId]) -> Vec<bool> {
        let mut are_in = vec![false; self.marks.links.device_numbers()];
        for dev in groups.iter().flat_map(|&group| self.devices_of(group)) {
            // One that came while the array is served is in no cluster, so nobody asks for it.
            if let Some(is_in) = are_in.get_mut(usize::from(dev.0)) {
                *is_in = true;
            }
        }
        are_in
    }

    /// The group with one of these devices to which blocks go: rather one that is a target already. Its segment is asked for at once.
    pub(super) fn goes_to(&self, choice: &Choice, devices: &[DeviceIx], now: Nanos) -> Option<GroupId> {
        let has_one = |&group: &GroupId| self.devices_of(group).any(|dev| devices.contains(&dev));
        let mut fit = choice.groups.iter().copied().filter(has_one);
        let first = fit.next()?;
        if self.marks.rule.targets == 0 {
            return Some(first);
        }
        let targets = &self.sight.targets;
        let begun = std::iter::once(first).chain(fit).find_map(|group| Some((targets.slot_of(group)?, group)));
        let (slot, group) = begun.or(choice.free.map(|slot| (slot, first)))?;
        targets.uses(slot, group, now);
        self.is_ready(slot, group);
        Some(group)
    }

    /// Whether a slot has room for blocks in a group now; sees to a segment there.
    fn is_ready(&self, slot: Slot, group: GroupId) -> bool {
        let mut writer = self.reactor.writer(Lane::Moved(slot)).borrow_mut();
        let elsewhere = writer.go_to(self.reactor, group);
        let is_ready = writer.is_ready(self.reactor);
        drop(writer);
        if let Some(grant) = elsewhere {
            self.reactor.give_back(grant);
        }
        is_ready
    }

    /// The lane in which blocks on a medium go to where they are to go, if they have room there at once.
    pub(super) fn lane_to(&self, to: Option<GroupId>, on: Medium, now: Nanos) -> Option<Lane> {
        if self.marks.rule.targets == 0 {
            return self.group_of_log(on, now).map(|_| Lane::Clients(on));
        }
        let group = to.filter(|&group| !Steering::of(&self.reactor.shared).is_burdened(group, now))?;
        let slot = self.sight.targets.slot_of(group)?;
        self.is_ready(slot, group).then_some(Lane::Moved(slot))
    }

    /// The cluster that blocks go to by a decision.
    pub(super) fn cluster_given(&self, decision: &Decision, to: Option<GroupId>) -> Option<usize> {
        match *decision {
            Decision::ToCluster { cluster, .. } => Some(cluster),
            Decision::ToModule { .. } => to.and_then(|group| self.clusters_of(group).next()),
            Decision::Fine | Decision::Stays { .. } => None,
        }
    }
}
