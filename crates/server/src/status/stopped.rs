//! What superblocks tell of an array that is not served, or not by a server that can be asked.

use super::{by_name, lifetime, losses, remembered, scrubs};
use cygnus_control::media::MediumName;
use cygnus_control::paging::Pages;
use cygnus_control::status::{
    ArrayState, ArrayStatus, DeviceState, DeviceStatus, GroupStatus, PLACE_UNKNOWN, VolumeStatus,
};
use cygnus_engine::{is_outdated, policies_of, until_full_of, usable_bytes};
use cygnus_format::{GroupState, MemberDesc, MemberState, Superblock, VolumeDesc};
use cygnus_host::members::{Assembly, Member};
use cygnus_host::state::ArrayRecord;
use cygnus_policy::HealthView;
use cygnus_types::{Acknowledged, BLOCK, ByteSize, MemberIx};

/// What is said of a member that was served without the others while they were served without it.
const PARTED: &str = "went on without the other members, and they without it";

/// What the superblocks of a stopped array tell.
pub fn status(assembly: &Assembly, record: &ArrayRecord) -> ArrayStatus {
    let state = &assembly.newest.state;
    let devices = devices(assembly, record);
    let groups = groups(state, &devices);
    let well = health(&groups);
    let policies = policies_of(state).ok();
    let mut oddities = assembly.oddities.clone();
    let is_here_and_out = |device: &DeviceStatus| device.state == DeviceState::Failed || device.is_back();
    if well == ArrayState::Failed && devices.iter().any(is_here_and_out) {
        oddities.push(advise_force(&state.name));
    }
    // One side may be in service without the other; nobody else can be, until somebody says which side counts.
    let is_refused = assembly.holder().is_none() && devices.iter().any(|device| device.trouble.is_some());
    let well = if is_refused { ArrayState::Failed } else { well };
    ArrayStatus {
        in_use_by: assembly.holder().map(|(_, holder)| holder.to_string()),
        cleaning: policies.map(|policies| policies.rules().to_string()),
        streams: policies.map(|policies| policies.streams.to_string()),
        data_columns: state.geometry.data.into(),
        protection: Some(until_full_of(state).to_string()),
        transient_bytes: Some(u64::from(state.geometry.transient_blocks) * BLOCK as u64).filter(|&bytes| bytes > 0),
        parity_columns: state.geometry.parity.into(),
        segment_bytes: state.geometry.segment_bytes(),
        capacity_bytes: usable_bytes(state).ok().map(|usable| usable.0),
        live_bytes: live_bytes(state),
        clean: state.clean,
        losses: losses(state.losses),
        oddities,
        groups,
        devices,
        spares: assembly.spare_statuses(),
        volumes: volumes(assembly),
        scrub: scrubs(state.last_scrub_unix, None),
        ..ArrayStatus::bare(&state.name, &assembly.newest.array, &state.preset, well)
    }
}

fn devices(assembly: &Assembly, record: &ArrayRecord) -> Vec<DeviceStatus> {
    let state = &assembly.newest.state;
    let one = |(index, (desc, found)): (usize, (&MemberDesc, &Option<Member>))| {
        let member = MemberIx(index as u16);
        let group = state.group_of(member).expect("each member is of a group");
        let path = found.as_ref().map(|found| found.path.display().to_string()).or_else(|| remembered(record, member));
        let device = DeviceStatus {
            size_bytes: found.as_ref().map_or(0, |found| found.size),
            lifetime: lifetime(desc.errors),
            suspect: suspicion(state, desc),
            trouble: found.as_ref().filter(|found| found.superblock.parted_from(state)).map(|_| PARTED.into()),
            ..DeviceStatus::bare(
                member,
                group,
                path.unwrap_or_else(|| PLACE_UNKNOWN.into()),
                member_state(desc, found.as_ref(), &assembly.newest),
            )
        };
        (!state.has_left(member)).then_some(device)
    };
    state.members().zip(&assembly.members).enumerate().filter_map(one).collect()
}

/// Whether a member in service is suspect by what is on record of it: how its errors came in time only a server knows.
fn suspicion(state: &cygnus_format::ArrayState, desc: &MemberDesc) -> Option<String> {
    let policies = policies_of(state).ok().filter(|_| desc.state == MemberState::Online)?;
    let view = HealthView { errors: desc.errors.blocks(), ..HealthView::default() };
    policies.health.judge(view).map(|why| why.to_string())
}

fn groups(state: &cygnus_format::ArrayState, devices: &[DeviceStatus]) -> Vec<GroupStatus> {
    let gone = |group: u32| {
        let lost = |device: &&DeviceStatus| device.group == group && device.state != DeviceState::Online;
        devices.iter().filter(lost).count() as u32
    };
    let segment_data = |group: &cygnus_format::GroupDesc| {
        u64::from(state.geometry.segment_blocks) * u64::from(group.raid.data) * BLOCK as u64
    };
    (0..)
        .zip(&state.groups)
        .filter(|(_, group)| group.state != GroupState::Retired)
        .map(|(index, group)| GroupStatus {
            index,
            segments: group.segments(),
            capacity_bytes: u64::from(group.segments()) * segment_data(group),
            data_columns: group.raid.data.into(),
            parity_columns: group.raid.parity.into(),
            missing_devices: gone(index),
            medium: state.in_place.is_none().then_some(MediumName(group.medium)),
            activity: None,
        })
        .collect()
}

/// What helps where too many members are out of service, and some of those are here.
fn advise_force(array: &str) -> String {
    format!(
        "too many members are missing: bring them back, which loses nothing; or 'cygnus array check {array}' says whether \
         those that are here can be re-admitted, and what would be unreadable then, and 'cygnus serve {array} \
         --force' does it"
    )
}

/// Bytes that the volumes hold. Only the checkpoint of a clean stop tells of everything.
fn live_bytes(state: &cygnus_format::ArrayState) -> Option<u64> {
    let checkpoint = state.roots[0].as_ref().filter(|_| state.clean)?;
    Some(checkpoint.mapped_blocks * BLOCK as u64)
}

/// The volumes as the superblock lists them, by name.
pub fn volumes(assembly: &Assembly) -> Vec<VolumeStatus> {
    let level = |volume: &VolumeDesc| match assembly.newest.state.in_place {
        Some(_) => Acknowledged::Written,
        None => volume.acknowledged,
    };
    let one = |volume: &VolumeDesc| VolumeStatus {
        in_doubt: volume.in_doubt,
        media: volume.constraint.into(),
        pages: Pages::of(volume.paging),
        ..VolumeStatus::bare(&volume.name, volume.id, ByteSize(volume.size_bytes), level(volume))
    };
    by_name(assembly.newest.state.volumes.iter().map(one).collect())
}

/// How well an array of these groups is.
fn health(groups: &[GroupStatus]) -> ArrayState {
    match () {
        () if groups.iter().all(|group| group.missing_devices == 0) => ArrayState::Healthy,
        () if groups.iter().all(|group| group.missing_devices <= group.parity_columns) => ArrayState::Degraded,
        () => ArrayState::Failed,
    }
}

fn member_state(desc: &MemberDesc, found: Option<&Member>, newest: &Superblock) -> DeviceState {
    match (desc.state, found) {
        (_, Some(member)) if member.is_short(desc) => DeviceState::Failed,
        (MemberState::Failed, _) => DeviceState::Failed,
        (MemberState::Missing, _) | (MemberState::Rebuilding | MemberState::Online, None) => DeviceState::Missing,
        // A copy from some time before: the next opening takes it for one that was away.
        (_, Some(member)) if is_outdated(&member.superblock, newest) => DeviceState::Missing,
        (MemberState::Rebuilding, Some(_)) => DeviceState::Rebuilding,
        (MemberState::Online, Some(_)) => DeviceState::Online,
    }
}
