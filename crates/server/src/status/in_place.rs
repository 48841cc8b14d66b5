//! Arrays that update in place, in the words of the control protocol.

use super::log_structured::suspended;
use cygnus_control::status::{
    ArrayState, ArrayStatus, ClientsStatus, DeviceCounters, DeviceRates, DeviceState, DeviceStatus, GroupStatus,
    InPlaceStatus, JobStatus, LifetimeErrors, MemoryStatus, Patience, RecoveryStatus, RecoveryStep, RepairCounters,
    VolumeStatus,
};
use cygnus_engine::ArrayHealth;
use cygnus_format::MemberState;
use cygnus_host::state::ArrayRecord;
use cygnus_inplace::{MemberStatus, OpenReport, Status};
use cygnus_types::{BLOCK, Nanos};

/// What only `serve` knows of the array.
pub struct Serving<'a> {
    /// Where members were last seen.
    pub record: &'a ArrayRecord,
    /// Addresses.
    pub listening: &'a [String],
    /// Bytes per second by member.
    pub rates: &'a [DeviceRates],
    /// Long work.
    pub jobs: Vec<JobStatus>,
    /// After what time a member that answers nothing is given up.
    pub hung_after: Nanos,
    /// Who has how much memory.
    pub memory: MemoryStatus,
    /// The connections.
    pub clients: ClientsStatus,
}

/// A served array's status; `connections` tells how many clients a volume has.
pub fn status(
    array: &Status,
    report: &OpenReport,
    serving: Serving<'_>,
    connections: impl Fn(&str) -> u32,
) -> ArrayStatus {
    ArrayStatus {
        name: array.name.clone(),
        uuid: array.uuid.to_string(),
        preset: array.level.name().into(),
        served: true,
        state: match array.health {
            ArrayHealth::Online => ArrayState::Healthy,
            ArrayHealth::Degraded => ArrayState::Degraded,
            ArrayHealth::Rebuilding => ArrayState::Rebuilding,
            ArrayHealth::Suspended => ArrayState::Suspended,
            ArrayHealth::ReadOnly => ArrayState::ReadOnly,
        },
        data_columns: array.data.into(),
        parity_columns: array.parity.into(),
        segment_bytes: array.region.0,
        capacity_bytes: Some(array.capacity.0),
        live_bytes: Some(array.volumes.iter().map(|volume| volume.size.0).sum()),
        writes: None,
        clean: report.was_clean,
        repairs: Some(RepairCounters { reconstructed: array.counters.reconstructed, ..RepairCounters::default() }),
        patience: Some(Patience { hung_after_millis: serving.hung_after.0 / 1_000_000, ..Patience::default() }),
        oddities: Vec::new(),
        suspended: array.suspended.as_ref().map(|of| suspended(of, array.suspended_for, array.requests_wait)),
        fault: (array.health == ArrayHealth::ReadOnly)
            .then(|| "more members have failed than its level survives: bring them back and start it again".into()),
        recovery: Some(RecoveryStatus {
            clean_stop: report.was_clean,
            steps: vec![RecoveryStep { name: "open".into(), micros: report.took.0 / 1000 }],
            remarks: report.remarks.clone(),
            ..RecoveryStatus::default()
        }),
        listening: serving.listening.to_vec(),
        groups: groups(array),
        devices: array.members.iter().map(|member| device(array, member, &serving)).collect(),
        spares: Vec::new(),
        volumes: volumes(array, connections),
        scrub: Default::default(),
        in_place: Some(InPlaceStatus {
            regions: array.regions,
            dirty_regions: array.dirty_regions as u32,
            stale_regions: array.stale_regions as u32,
        }),
        memory: Some(serving.memory),
        clients: Some(serving.clients),
        jobs: serving.jobs,
    }
}

fn width(array: &Status) -> usize {
    usize::from(array.data) + usize::from(array.parity)
}

/// The groups of members that share copies or parity.
pub fn groups(array: &Status) -> Vec<GroupStatus> {
    let lost = |members: &[MemberStatus]| members.iter().filter(|m| m.state != MemberState::Online).count() as u32;
    let group = |(index, members): (u32, &[MemberStatus])| GroupStatus {
        index,
        segments: array.regions,
        capacity_bytes: u64::from(array.regions) * array.region.0 * u64::from(array.data),
        missing_devices: lost(members),
        activity: None,
    };
    (0..).zip(array.members.chunks(width(array))).map(group).collect()
}

fn device(array: &Status, member: &MemberStatus, serving: &Serving<'_>) -> DeviceStatus {
    let index = u32::from(member.member.0);
    let remembered = || {
        let known = serving.record.members.iter().find(|known| known.index == index);
        known.map_or_else(|| "unknown".into(), |known| known.path.display().to_string())
    };
    DeviceStatus {
        index,
        group: (member.member.index() / width(array)) as u32,
        path: member.name.clone().unwrap_or_else(remembered),
        trouble: member.trouble.map(|trouble| trouble.words().into()),
        slow_to_answer_millis: member.slow_to_answer.map(|span| span.0 / 1_000_000),
        state: match member.state {
            MemberState::Online => DeviceState::Online,
            MemberState::Failed => DeviceState::Failed,
            MemberState::Missing => DeviceState::Missing,
            MemberState::Rebuilding => DeviceState::Rebuilding,
        },
        successor: None,
        size_bytes: member.size.0,
        io: counters(member),
        rates: serving.rates.get(index as usize).copied().unwrap_or_default(),
        pace: None,
        lifetime: LifetimeErrors::default(),
        suspect: None,
    }
}

/// The counters of one member.
pub fn counters(member: &MemberStatus) -> DeviceCounters {
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
pub fn volumes(array: &Status, connections: impl Fn(&str) -> u32) -> Vec<VolumeStatus> {
    let one = |volume: &cygnus_inplace::VolumeStatus| VolumeStatus {
        name: volume.name.clone(),
        id: volume.id.0,
        size_bytes: volume.size.0,
        used_bytes: Some(volume.size.0),
        connections: connections(&volume.name),
        lost_blocks: 0,
        in_doubt: false,
        unreadable_bytes: None,
    };
    let mut volumes: Vec<VolumeStatus> = array.volumes.iter().map(one).collect();
    volumes.sort_by(|a, b| a.name.cmp(&b.name));
    volumes
}

/// Bytes that clients have written, and that went to the devices for it.
pub fn written(array: &Status) -> cygnus_control::status::WriteCounters {
    cygnus_control::status::WriteCounters {
        client_bytes: array.counters.written * BLOCK as u64,
        cleaned_bytes: 0,
        device_bytes: array.counters.device_written * BLOCK as u64,
    }
}

/// Why an array that updates in place does not do what was asked, and what does.
pub fn refusal(array: &str, level: &str, request: &str) -> String {
    let (why, remedy) = match request {
        "drain" => ("it has no spares that could take over", "take the member out by 'cygnus array replace --force'"),
        "spare" => ("it has no spares", "put another device into a lost member's place by 'cygnus array replace'"),
        "add" | "retire" => {
            ("where its blocks lie depends on the number of its members", "make another array and copy the volumes")
        }
        "scrub" => ("it has no checksums to verify", "stop it, and compare copies and parity by 'cygnus array check'"),
        "cancel" => {
            ("without its resync or rebuild it has less redundancy than it should", "wait for the end of the job")
        }
        "salvage" => (
            "it keeps no record of what its blocks are",
            "copy the volume from a degraded array as far as it can be read",
        ),
        "dump" => {
            ("what lies behind its superblocks is data and parity, and nothing tells which", "leave out what to dump")
        }
        _ => ("it writes no log", "use an array of another preset"),
    };
    format!("{array} is {level}, updated in place: {why}; {remedy}")
}
