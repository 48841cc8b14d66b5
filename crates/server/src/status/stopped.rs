//! What superblocks tell of an array that nobody serves.

use super::log_structured::{lifetime, scrubs};
use cygnus_control::status::{
    ArrayState, ArrayStatus, DeviceCounters, DeviceRates, DeviceState, DeviceStatus, GroupStatus, VolumeStatus,
};
use cygnus_engine::usable_bytes;
use cygnus_format::{GroupState, MemberDesc, MemberState};
use cygnus_host::members::{Assembly, Member};
use cygnus_host::state::ArrayRecord;
use cygnus_types::{BLOCK, MemberIx};
use std::path::{Path, PathBuf};

/// What the superblocks of a stopped array tell.
pub fn status(assembly: &Assembly, record: &ArrayRecord) -> ArrayStatus {
    let state = &assembly.newest.state;
    let width = usize::from(state.geometry.width());
    let descs: Vec<_> = state.members().collect();
    let there = |index: usize| !state.has_left(MemberIx(index as u16));
    let devices: Vec<DeviceStatus> = descs
        .iter()
        .zip(&assembly.members)
        .enumerate()
        .filter(|&(index, _)| there(index))
        .map(|(index, (desc, found))| DeviceStatus {
            index: index as u32,
            group: (index / width) as u32,
            path: place(found.as_ref(), index, record),
            trouble: None,
            slow_to_answer_millis: None,
            state: device_state(desc, found.as_ref()),
            successor: None,
            size_bytes: found.as_ref().map_or(0, |member| member.size),
            io: DeviceCounters::default(),
            rates: DeviceRates::default(),
            pace: None,
            lifetime: lifetime(desc.errors),
            suspect: None,
        })
        .collect();
    let gone = |group: usize| {
        let lost = |device: &&DeviceStatus| device.group as usize == group && device.state != DeviceState::Online;
        devices.iter().filter(lost).count() as u32
    };
    let segment_data = u64::from(state.geometry.segment_blocks) * u64::from(state.geometry.data) * BLOCK as u64;
    let groups: Vec<GroupStatus> = (0..)
        .zip(&state.groups)
        .filter(|(_, group)| group.state != GroupState::Retired)
        .map(|(index, group)| GroupStatus {
            index,
            segments: group.segments(),
            capacity_bytes: u64::from(group.segments()) * segment_data,
            missing_devices: gone(index as usize),
            activity: None,
        })
        .collect();
    let well = health(&groups, state.geometry.parity);
    let mut oddities = assembly.oddities.clone();
    let is_here_and_out = |device: &DeviceStatus| device.state == DeviceState::Failed || device.is_back();
    if well == ArrayState::Failed && devices.iter().any(is_here_and_out) {
        oddities.push(advise_force(&state.name));
    }
    ArrayStatus {
        name: state.name.clone(),
        uuid: assembly.newest.array.to_string(),
        preset: state.preset.clone(),
        served: false,
        state: well,
        data_columns: state.geometry.data.into(),
        parity_columns: state.geometry.parity.into(),
        segment_bytes: state.geometry.segment_bytes(),
        capacity_bytes: usable_bytes(state).ok().map(|usable| usable.0),
        live_bytes: live_bytes(state),
        writes: None,
        clean: state.clean,
        repairs: None,
        patience: None,
        fault: None,
        oddities,
        suspended: None,
        recovery: None,
        listening: Vec::new(),
        groups,
        devices,
        spares: assembly.spare_statuses(),
        volumes: volumes(assembly),
        scrub: scrubs(state.last_scrub_unix, None),
        in_place: None,
        memory: None,
        clients: None,
        jobs: Vec::new(),
    }
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
    let one = |volume: &cygnus_format::VolumeDesc| VolumeStatus {
        name: volume.name.clone(),
        id: volume.id.0,
        size_bytes: volume.size_bytes,
        used_bytes: None,
        connections: 0,
        lost_blocks: 0,
        in_doubt: volume.in_doubt,
        unreadable_bytes: None,
    };
    let mut volumes: Vec<VolumeStatus> = assembly.newest.state.volumes.iter().map(one).collect();
    volumes.sort_by(|a, b| a.name.cmp(&b.name));
    volumes
}

/// How well an array of these groups is.
pub fn health(groups: &[GroupStatus], parity: u8) -> ArrayState {
    match groups.iter().map(|group| group.missing_devices).max().unwrap_or(0) {
        0 => ArrayState::Healthy,
        missing if missing <= u32::from(parity) => ArrayState::Degraded,
        _ => ArrayState::Failed,
    }
}

fn device_state(desc: &MemberDesc, found: Option<&Member>) -> DeviceState {
    match (desc.state, found) {
        (_, Some(member)) if member.is_short(desc) => DeviceState::Failed,
        (MemberState::Failed, _) => DeviceState::Failed,
        (MemberState::Missing, _) | (MemberState::Rebuilding | MemberState::Online, None) => DeviceState::Missing,
        (MemberState::Rebuilding, Some(_)) => DeviceState::Rebuilding,
        (MemberState::Online, Some(_)) => DeviceState::Online,
    }
}

/// Where a member is, or was last seen.
fn place(found: Option<&Member>, index: usize, record: &ArrayRecord) -> String {
    let remembered = || record.members.iter().find(|member| member.index as usize == index).map(|member| &member.path);
    let path: Option<&PathBuf> = found.map(|member| &member.path).or_else(remembered);
    path.map_or("unknown".into(), |path: &PathBuf| Path::display(path).to_string())
}
