//! Members that are written in order: where segments have to lie on them, and who cannot take them.

use cygnus_format::{DATA_START, Geometry, GroupState};
use cygnus_runtime::{DeviceInfo, Resets, Runtime};
use cygnus_types::{BLOCK, ByteSize, GroupId};

use crate::care::member::MemberShared;
use crate::error::ArrayError;
use crate::reactor::Reactor;
use crate::write::holders::keeps_no_backups;

/// The zones of those devices that have any, with the devices' names.
fn in_order<'a>(rt: &Runtime, devices: &'a [DeviceInfo]) -> Vec<(&'a str, Resets)> {
    let resets = |device: &'a DeviceInfo| Some((device.name.as_str(), rt.capabilities(device.ix).resets?));
    devices.iter().filter_map(resets).collect()
}

/// Where segments can begin on all of an array's devices, and what their size is a multiple of; in blocks. `None`: wherever they
/// like.
///
/// # Errors
/// When zones do not fit each other.
pub(crate) fn alignment(rt: &Runtime, devices: &[DeviceInfo]) -> Result<Option<(u64, u64)>, ArrayError> {
    let zones = in_order(rt, devices);
    let Some(&(largest, Resets { unit, .. })) = zones.iter().max_by_key(|(_, resets)| resets.unit) else {
        return Ok(None);
    };
    if let Some((odd, resets)) = zones.iter().find(|(_, resets)| !unit.is_multiple_of(resets.unit)) {
        let (of_one, of_other) = (ByteSize(unit), ByteSize(resets.unit));
        return Err(ArrayError::Invalid(format!(
            "zones of {of_one} on {largest} are not whole zones of {of_other} on {odd}: give devices with equal zones"
        )));
    }
    let first = zones.iter().map(|(_, resets)| resets.first).fold(DATA_START, u64::max).next_multiple_of(unit);
    Ok(Some((first / BLOCK as u64, unit / BLOCK as u64)))
}

/// Blocks that are left free on each member behind its transient area, so that segments begin where they can ([`alignment`]).
pub(crate) fn lead_blocks(alignment: Option<(u64, u64)>, transient_blocks: u32) -> u64 {
    let behind_area = DATA_START / BLOCK as u64 + u64::from(transient_blocks);
    alignment.map_or(0, |(first, zone)| first.max(behind_area).next_multiple_of(zone) - behind_area)
}

/// What there is to say of groups whose open stripes have no backups although other groups' have.
pub(crate) fn groups_without_backups(reactor: &Reactor) -> Option<String> {
    let shared = &reactor.shared;
    let is_without = |group: &GroupId| {
        let devices = reactor.of_group(*group).filter_map(MemberShared::device);
        shared.group_state(*group) != GroupState::Retired && { devices }.any(|dev| keeps_no_backups(&reactor.rt, dev))
    };
    let groups = (0..shared.layout.groups()).map(|n| GroupId(n as u16)).filter(is_without);
    let names: Vec<String> = groups.map(|group| group.to_string()).collect();
    (shared.until_full.has_transient_area() && !names.is_empty()).then(|| {
        format!(
            "members of {} are written in order, in zones, so a flush ends the stripes that are open there, and {} protection is for the \
             other R-groups",
            names.join(", "),
            shared.until_full
        )
    })
}

/// Members are written anywhere, their superblocks again and again.
///
/// # Errors
/// When a device can only be written in order, and nobody stands between.
pub fn refuse_zoned(rt: &Runtime, devices: &[DeviceInfo]) -> Result<(), ArrayError> {
    let zones = |device: &DeviceInfo| Some((device.name.clone(), rt.capabilities(device.ix).zones?));
    match devices.iter().find_map(zones) {
        None => Ok(()),
        Some((name, zones)) => Err(ArrayError::Invalid(format!(
            "{name} is to be written in order, in zones of {}, and members are written anywhere: give devices without zones",
            ByteSize(zones.bytes)
        ))),
    }
}

/// For arrays that are written in place.
///
/// # Errors
/// When a device has zones, whoever keeps them in order.
pub fn refuse_in_order(rt: &Runtime, devices: &[DeviceInfo]) -> Result<(), ArrayError> {
    refuse_zoned(rt, devices)?;
    match in_order(rt, devices).first() {
        None => Ok(()),
        Some((name, resets)) => Err(ArrayError::Invalid(format!(
            "{name} is written in order, in zones of {}, and arrays of this kind write blocks again where they lie: use a preset that \
             writes a log (swan, log-raid, serial, triple-a, salsa), or give devices without zones",
            ByteSize(resets.unit)
        ))),
    }
}

/// Devices that are to be members of an array that there is.
///
/// # Errors
/// When a device is written in order, and the array's segments are not whole zones of it.
pub(crate) fn check_zones(rt: &Runtime, devices: &[DeviceInfo], geometry: &Geometry) -> Result<(), ArrayError> {
    refuse_zoned(rt, devices)?;
    let (start, bytes) = (geometry.segments_start(), geometry.segment_bytes());
    let fits = |resets: &Resets| {
        start.is_multiple_of(resets.unit) && bytes.is_multiple_of(resets.unit) && start >= resets.first
    };
    match in_order(rt, devices).iter().find(|(_, resets)| !fits(resets)) {
        None => Ok(()),
        Some((name, resets)) => Err(ArrayError::Invalid(format!(
            "{name} is written in order, in zones of {}, and this array's segments of {}, from {} on, are not whole zones of it: give a \
             device without zones, or make an array with this one from the start",
            ByteSize(resets.unit),
            ByteSize(bytes),
            ByteSize(start)
        ))),
    }
}

/// What there is to say where more segments may be open than some member can have zones partly written. It works, slowly.
pub(crate) fn few_active_zones(reactor: &Reactor, open_segments: usize) -> Option<String> {
    let limit =
        |member: &MemberShared| Some((reactor.rt.capabilities(member.device()?).resets?.active?, member.name()));
    let (limit, name) = reactor.shared.members.iter().filter_map(limit).min()?;
    (open_segments > limit as usize).then(|| {
        format!(
            "{limit} zones of {name} can be partly written at a time, and up to {open_segments} segments are written to at once: \
             zones will be ended early and what they lack kept aside, which is slow; fewer --reactors write to fewer"
        )
    })
}
