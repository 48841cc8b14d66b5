//! What R-groups store on: as their members say, or as somebody says for them.

use cygnus_format::{ArrayState, GroupDesc, GroupState, Raid};
use cygnus_policy::Policies;
use cygnus_runtime::{DeviceClass, DeviceInfo, Runtime};
use cygnus_types::Medium;

use crate::error::ArrayError;

/// A group of devices that come to an array.
pub(crate) struct NewGroup<'d> {
    pub devices: &'d [DeviceInfo],
    pub medium: Medium,
    pub raid: Raid,
}

/// Takes the devices that come to an array for groups, one after the other: as wide as groups on its medium are. Their media are as
/// `said`, of all alike or one by one; else what the members say. Members that say neither flash nor disk count as whatever the others of
/// their group are, or as flash.
///
/// # Errors
/// When members of a group say different things where media are kept apart, something else is said than one medium or one for each
/// group, or the devices are not whole groups.
pub(crate) fn groups_of<'d>(
    rt: &Runtime,
    devices: &'d [DeviceInfo],
    raid_on: impl Fn(Medium) -> Raid,
    said: &[Medium],
    (state, policies): (&ArrayState, &Policies),
) -> Result<Vec<NewGroup<'d>>, ArrayError> {
    let alike = all_alike(rt, devices, state);
    let (mut groups, mut left) = (Vec::new(), devices);
    while !left.is_empty() {
        let number = groups.len();
        let medium = match said {
            [] if !policies.mixes_media => alike,
            [] => asked(rt, number, left, &raid_on)?,
            // Should too few be said, it is still told how many groups there are.
            [.., last] => *said.get(number).unwrap_or(last),
        };
        let raid = raid_on(medium);
        let Some((its, others)) = left.split_at_checked(raid.width().into()) else {
            return Err(ArrayError::Invalid(format!(
                "new R-group {number}, on {medium}, takes {} devices ({raid}), and {} are left for it of {}",
                raid.width(),
                left.len(),
                devices.len()
            )));
        };
        groups.push(NewGroup { devices: its, medium, raid });
        left = others;
    }
    match said.len() {
        0 | 1 => Ok(groups),
        n if n == groups.len() => Ok(groups),
        n => Err(ArrayError::Invalid(format!(
            "{n} media are given for {} R-groups: give one for each of them, in their order, or a single one for all",
            groups.len()
        ))),
    }
}

/// The medium that all groups count as where media are not kept apart: what those there count as; else what the slowest member says,
/// since a stripe is as fast as that. Kernels are often mistaken about disks that are not really there, so nothing is refused.
fn all_alike(rt: &Runtime, devices: &[DeviceInfo], state: &ArrayState) -> Medium {
    let there = state.groups.iter().find(|group| matches!(group.state, GroupState::InService | GroupState::Joining));
    let on_disk = |device: &DeviceInfo| medium_of(rt, device) == Some(Medium::Disk);
    let asked = || if devices.iter().any(on_disk) { Medium::Disk } else { Medium::Flash };
    there.map_or_else(asked, |group| group.medium)
}

/// What the members of the next group say, which the devices begin with. The first of them that says anything tells how many they are.
fn asked(
    rt: &Runtime,
    group: usize,
    devices: &[DeviceInfo],
    raid_on: &impl Fn(Medium) -> Raid,
) -> Result<Medium, ArrayError> {
    let says = devices.iter().enumerate().find_map(|(at, device)| Some((at, medium_of(rt, device)?)));
    let is_its = |&(at, medium): &(usize, Medium)| at < raid_on(medium).width().into();
    let width = raid_on(says.filter(is_its).map_or(Medium::Flash, |(_, medium)| medium)).width();
    let its = &devices[..devices.len().min(width.into())];
    let on = |medium: Medium| its.iter().find(|device| medium_of(rt, device) == Some(medium));
    match (on(Medium::Flash), on(Medium::Disk)) {
        (Some(flash), Some(disk)) => Err(ArrayError::Invalid(format!(
            "new R-group {group} has members on flash ({}) and on disks ({}): a stripe is as fast as its slowest member; give members \
             of one kind, or say what the group is to count as (--media)",
            flash.name, disk.name
        ))),
        (None, Some(_)) => Ok(Medium::Disk),
        (_, None) => Ok(Medium::Flash),
    }
}

/// What a device says that it stores on. Devices tell flash from disks, and no more: that it is faster flash, or that disks with zones are to
/// be kept apart from those without, somebody has to say.
fn medium_of(rt: &Runtime, device: &DeviceInfo) -> Option<Medium> {
    match rt.capabilities(device.ix).class {
        DeviceClass::Flash => Some(Medium::Flash),
        DeviceClass::Disk => Some(Medium::Disk),
        DeviceClass::Remote | DeviceClass::Memory | DeviceClass::Unknown => None,
    }
}

/// Whether the groups may be on the media that they are on.
///
/// # Errors
/// When they are on several, and the array's preset does not keep these apart.
pub(crate) fn check_mix(state: &ArrayState, policies: &Policies) -> Result<(), ArrayError> {
    let in_use = state.groups.iter().enumerate().filter(|(_, group)| {
        matches!(group.state, GroupState::InService | GroupState::Joining) && !policies.mixes_media
    });
    let of = |(number, group): (usize, &GroupDesc)| (number, group.medium);
    let mut in_use = in_use.map(of);
    let Some((first, medium)) = in_use.next() else { return Ok(()) };
    match in_use.find(|(_, on)| *on != medium) {
        None => Ok(()),
        Some((other, on)) => Err(ArrayError::Invalid(format!(
            "R-group {first} is on {medium} and R-group {other} on {on}, and preset {} takes all groups for alike: give groups on one \
             medium, say that all count as one (--media {medium}), or use preset salsa, which keeps media apart",
            state.preset
        ))),
    }
}
