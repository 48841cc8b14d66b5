//! Arrays that update in place, while they are served.

use super::{Serving, by_name, capabilities, device_state, millis, remembered, state, suspended};
use cygnus_control::stats::{DeviceStats, Stats};
use cygnus_control::status::{
    ArrayStatus, DeviceCounters, DeviceStatus, GroupStatus, InPlaceStatus, PLACE_UNKNOWN, Patience, RecoveryStatus,
    RecoveryStep, RepairCounters, VolumeStatus, WriteCounters,
};
use cygnus_engine::ArrayHealth;
use cygnus_format::MemberState;
use cygnus_host::state::ArrayRecord;
use cygnus_inplace::{MemberStatus, OpenReport, Status};
use cygnus_types::{Acknowledged, BLOCK, GroupId};

/// A served array's status.
pub fn status(array: &Status, report: &OpenReport, serving: Serving<'_>) -> ArrayStatus {
    let bare = ArrayStatus::bare(&array.name, &array.uuid, array.level.name(), state(array.health));
    let status = ArrayStatus {
        data_columns: array.data.into(),
        parity_columns: array.parity.into(),
        segment_bytes: array.region.0,
        capacity_bytes: Some(array.capacity.0),
        live_bytes: Some(array.volumes.iter().map(|volume| volume.size.0).sum()),
        clean: report.was_clean,
        repairs: Some(RepairCounters { reconstructed: array.counters.reconstructed, ..RepairCounters::default() }),
        patience: Some(Patience { hung_after_millis: millis(serving.hung_after), ..Patience::default() }),
        suspended: array.suspended.as_ref().map(|of| suspended(of, array.suspended_for, array.requests_wait)),
        fault: (array.health == ArrayHealth::ReadOnly)
            .then(|| "more members have failed than its level survives: bring them back and start it again".into()),
        recovery: Some(RecoveryStatus {
            clean_stop: report.was_clean,
            steps: vec![RecoveryStep { name: "open".into(), micros: report.took.0 / 1000 }],
            remarks: report.remarks.clone(),
            ..RecoveryStatus::default()
        }),
        groups: groups(array),
        devices: array.members.iter().map(|member| device(array, member, &serving)).collect(),
        volumes: volumes(array, serving.connections),
        in_place: Some(InPlaceStatus {
            regions: array.regions,
            dirty_regions: array.dirty_regions as u32,
            stale_regions: array.stale_regions as u32,
        }),
        ..bare
    };
    serving.whole(status)
}

/// The counters for the live view, without those of the clients.
pub fn stats(array: &Status, at_ns: u64) -> Stats {
    let device = |member: &MemberStatus| DeviceStats {
        group: group(array, member).0.into(),
        online: member.state == MemberState::Online,
        io: counters(member),
    };
    let devices = array.members.iter().map(device).collect();
    Stats { at_ns, groups: groups(array), devices, writes: written(array), ..Stats::default() }
}

fn width(array: &Status) -> usize {
    usize::from(array.data) + usize::from(array.parity)
}

/// The groups of members that share copies or parity.
fn groups(array: &Status) -> Vec<GroupStatus> {
    let lost = |members: &[MemberStatus]| members.iter().filter(|m| m.state != MemberState::Online).count() as u32;
    let group = |(index, members): (u32, &[MemberStatus])| GroupStatus {
        index,
        segments: array.regions,
        capacity_bytes: u64::from(array.regions) * array.region.0 * u64::from(array.data),
        data_columns: array.data.into(),
        parity_columns: array.parity.into(),
        missing_devices: lost(members),
        medium: None,
        activity: None,
    };
    (0..).zip(array.members.chunks(width(array))).map(group).collect()
}

fn group(array: &Status, member: &MemberStatus) -> GroupId {
    GroupId((member.member.index() / width(array)) as u16)
}

/// Where a member is, or was last seen.
pub fn path(member: &MemberStatus, record: &ArrayRecord) -> String {
    let seen = || remembered(record, member.member).unwrap_or_else(|| PLACE_UNKNOWN.into());
    member.name.clone().unwrap_or_else(seen)
}

fn device(array: &Status, member: &MemberStatus, serving: &Serving<'_>) -> DeviceStatus {
    let (group, path) = (group(array, member), path(member, serving.record));
    serving.member(DeviceStatus {
        trouble: member.trouble.map(|trouble| trouble.words().into()),
        slow_to_answer_millis: member.slow_to_answer.map(millis),
        capabilities: member.capabilities.map(capabilities),
        size_bytes: member.size.0,
        io: counters(member),
        ..DeviceStatus::bare(member.member, group, path, device_state(member.state))
    })
}

/// The counters of one member.
fn counters(member: &MemberStatus) -> DeviceCounters {
    let traffic = &member.traffic;
    DeviceCounters {
        read_bytes: traffic.read,
        written_bytes: traffic.written,
        errors: traffic.read_errors + traffic.write_errors,
        read_errors: traffic.read_errors,
        write_errors: traffic.write_errors,
        repaired: traffic.mended,
        unrepairable: traffic.lost,
        ..DeviceCounters::default()
    }
}

/// The volumes by name.
pub fn volumes(array: &Status, connections: &dyn Fn(&str) -> u32) -> Vec<VolumeStatus> {
    let one = |volume: &cygnus_inplace::VolumeStatus| VolumeStatus {
        used_bytes: Some(volume.size.0),
        connections: connections(&volume.name),
        ..VolumeStatus::bare(&volume.name, volume.id, volume.size, Acknowledged::Written)
    };
    by_name(array.volumes.iter().map(one).collect())
}

/// Bytes that clients have written, and that went to the devices for it.
fn written(array: &Status) -> WriteCounters {
    WriteCounters {
        client_bytes: array.counters.written * BLOCK as u64,
        device_bytes: array.counters.device_written * BLOCK as u64,
        ..WriteCounters::default()
    }
}
