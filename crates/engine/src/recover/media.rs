//! What R-groups store on: as their members say, or as somebody says for them.

use cygnus_format::{ArrayState, GroupState};
use cygnus_policy::Policies;
use cygnus_runtime::{DeviceClass, DeviceInfo, Runtime};
use cygnus_types::Medium;

use crate::error::ArrayError;

/// The medium of each group of so many of the devices that come to an array: what is `said`, of all alike or one by one; else what
/// the members say. Members that say neither flash nor disk count as whatever the others of their group are, or as flash.
///
/// # Errors
/// When members of a group say different things where media are kept apart, or something else is said than one medium or one for each
/// group.
pub(crate) fn media(
    rt: &Runtime,
    devices: &[DeviceInfo],
    width: usize,
    said: &[Medium],
    (state, policies): (&ArrayState, &Policies),
) -> Result<Vec<Medium>, ArrayError> {
    let groups = devices.len() / width;
    match said.len() {
        0 if !policies.mixes_media => Ok(vec![all_alike(rt, devices, state); groups]),
        0 => devices.chunks(width).enumerate().map(|(group, devices)| asked(rt, group, devices)).collect(),
        1 => Ok(vec![said[0]; groups]),
        n if n == groups => Ok(said.to_vec()),
        n => Err(ArrayError::Invalid(format!(
            "{n} media are given for {groups} R-groups: give one for each of them, in their order, or a single one for all"
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

/// What the members of a group say.
fn asked(rt: &Runtime, group: usize, devices: &[DeviceInfo]) -> Result<Medium, ArrayError> {
    let on = |medium: Medium| devices.iter().find(|device| medium_of(rt, device) == Some(medium));
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
    let in_use = |medium| {
        let is_on = |(_, group): &(usize, &cygnus_format::GroupDesc)| {
            group.medium == medium && matches!(group.state, GroupState::InService | GroupState::Joining)
        };
        state.groups.iter().enumerate().find(is_on).map(|(number, _)| number)
    };
    let [flash, disk] = Medium::ALL.map(in_use);
    match (flash, disk) {
        (Some(flash), Some(disk)) if !policies.mixes_media => Err(ArrayError::Invalid(format!(
            "R-group {flash} is on flash and R-group {disk} on disks, and preset {} takes all groups for alike: give groups on one \
             medium, say that all count as one (--media flash), or use preset salsa, which keeps media apart",
            state.preset
        ))),
        _ => Ok(()),
    }
}
