//! The engine's words into those of the control protocol.

use cygnus_control::scrub::{LostBlock, ScrubReport, ScrubStatus};
use cygnus_control::stats::{DeviceStats, Stats};
use cygnus_control::status::{
    AddedGroup, ArrayState, ArrayStatus, ClientsStatus, DeviceCounters, DevicePace, DeviceRates, DeviceState,
    DeviceStatus, GroupActivity, GroupRole, GroupStatus, Growth, JobState, JobStatus, Lag, LifetimeErrors,
    MemoryStatus, Patience, RecoveryStatus, RecoveryStep, RepairCounters, SpareStatus, SuspendedStatus, VolumeStatus,
    WriteCounters,
};
use cygnus_engine::{ArrayHealth, MemberStatus, RecoveryReport, Traffic};
use cygnus_format::{GroupState, MemberState};
use cygnus_host::devices::now_unix;
use cygnus_host::state::ArrayRecord;
use cygnus_types::{BLOCK, ByteSize, MemberIx, Nanos};

/// What only `serve` knows of the array.
pub struct Serving<'a> {
    /// Where members were last seen.
    pub record: &'a ArrayRecord,
    /// Addresses.
    pub listening: &'a [String],
    /// Bytes per second by member.
    pub rates: &'a [DeviceRates],
    /// Long work.
    pub jobs: &'a [JobStatus],
    /// Scrubs.
    pub scrub: ScrubStatus,
    /// What is wrong with the file at a member's path, given the member's size.
    pub odd_file: &'a dyn Fn(&str, ByteSize) -> Option<String>,
    /// Why a member that is looked for has not come back.
    pub why_not_back: &'a dyn Fn(MemberIx) -> Option<String>,
    /// Who has how much memory.
    pub memory: MemoryStatus,
    /// The connections.
    pub clients: ClientsStatus,
}

/// A job.
pub fn job(job: &cygnus_engine::JobStatus) -> JobStatus {
    let (state, why) = match &job.state {
        cygnus_engine::JobState::Running => (JobState::Running, None),
        cygnus_engine::JobState::Done => (JobState::Done, None),
        cygnus_engine::JobState::Failed(why) => (JobState::Failed, Some(why.clone())),
        cygnus_engine::JobState::Cancelled => (JobState::Cancelled, None),
    };
    JobStatus {
        id: job.id,
        kind: job.kind.word().into(),
        subject: job.subject.clone(),
        state,
        why,
        done_bytes: job.done,
        total_bytes: job.total,
        elapsed_seconds: job.elapsed.as_secs_f64(),
        rate: job.rate,
        eta_seconds: job.eta.map(|eta| eta.as_secs_f64()),
    }
}

/// A served array's status; `connections` tells how many clients a volume has.
pub fn status(
    engine: &cygnus_engine::ArrayStatus,
    report: &RecoveryReport,
    serving: Serving<'_>,
    connections: impl Fn(&str) -> u32,
) -> ArrayStatus {
    let width = usize::from(engine.data) + usize::from(engine.parity);
    let lost =
        |group: usize| engine.members[group * width..][..width].iter().filter(|member| !member.is_online()).count();
    // A group that has left keeps its number and is not shown.
    let there = |group: &cygnus_types::GroupId| engine.groups[group.index()].state != GroupState::Retired;
    let shown = engine.groups.iter().enumerate().filter(|(_, group)| there(&group.id));
    let groups: Vec<GroupStatus> = shown.map(|(index, group)| group_status(group, lost(index) as u32)).collect();
    ArrayStatus {
        name: engine.name.clone(),
        uuid: engine.uuid.to_string(),
        preset: engine.preset.clone(),
        served: true,
        state: match engine.health {
            ArrayHealth::Online => ArrayState::Healthy,
            ArrayHealth::Degraded => ArrayState::Degraded,
            ArrayHealth::Rebuilding => ArrayState::Rebuilding,
            ArrayHealth::Suspended => ArrayState::Suspended,
            ArrayHealth::ReadOnly => ArrayState::ReadOnly,
        },
        data_columns: engine.data.into(),
        parity_columns: engine.parity.into(),
        segment_bytes: engine.segment.0,
        capacity_bytes: Some(engine.usable.0),
        live_bytes: Some(engine.mapped.0),
        writes: Some(writes(&engine.traffic)),
        clean: report.was_clean,
        repairs: Some(RepairCounters {
            reconstructed: engine.traffic.reconstructed,
            repaired: engine.traffic.repaired,
            unreadable: engine.traffic.unreadable,
        }),
        patience: Some(Patience {
            hung_after_millis: engine.hung_after.0 / 1_000_000,
            hedged: engine.traffic.hedged,
            read_around: engine.traffic.read_around,
        }),
        fault: engine.fault.clone(),
        oddities: Vec::new(),
        suspended: engine.suspended.as_ref().map(|of| suspended(of, engine.suspended_for, engine.requests_wait)),
        recovery: Some(recovery(report)),
        listening: serving.listening.to_vec(),
        groups,
        devices: engine.members.iter().filter(|m| there(&m.group)).map(|m| device_status(m, &serving)).collect(),
        spares: engine.spares.iter().map(spare_status).collect(),
        volumes: volumes(engine, connections),
        scrub: serving.scrub,
        in_place: None,
        memory: Some(serving.memory),
        clients: Some(serving.clients),
        jobs: serving.jobs.to_vec(),
    }
}

/// An array that waits `waited` for members, and whose requests wait for so long.
pub fn suspended(of: &cygnus_engine::Suspended, waited: Nanos, requests_wait: Nanos) -> SuspendedStatus {
    let millis = |span: Nanos| span.0 / 1_000_000;
    SuspendedStatus {
        for_millis: millis(waited),
        waits_for: of.words(),
        requests_fail_after_millis: (requests_wait != Nanos::MAX).then(|| millis(requests_wait)),
    }
}

/// What was added to an array that is like this now.
pub fn growth(added: &cygnus_engine::Added, now: &cygnus_engine::ArrayStatus) -> Growth {
    let one = |group: &cygnus_engine::AddedGroup| AddedGroup {
        index: group.group.0.into(),
        segments: group.segments,
        unused_bytes: group.unused.0,
    };
    Growth {
        groups: added.groups.iter().map(one).collect(),
        segment_bytes: now.segment.0,
        capacity_bytes: added.usable.0,
        capacity_before_bytes: added.usable_before.0,
    }
}

/// The volumes by name.
pub fn volumes(engine: &cygnus_engine::ArrayStatus, connections: impl Fn(&str) -> u32) -> Vec<VolumeStatus> {
    let one = |volume: &cygnus_engine::VolumeStatus| VolumeStatus {
        name: volume.name.clone(),
        id: volume.id.0,
        size_bytes: volume.size.0,
        used_bytes: Some(volume.mapped.0),
        connections: connections(&volume.name),
        lost_blocks: volume.lost,
        in_doubt: volume.unknown.is_some(),
        unreadable_bytes: volume.unknown.map(|size| size.0),
    };
    let mut volumes: Vec<VolumeStatus> = engine.volumes.iter().map(one).collect();
    volumes.sort_by(|a, b| a.name.cmp(&b.name));
    volumes
}

/// The counters for the live view, without those of the clients.
pub fn stats(engine: &cygnus_engine::ArrayStatus, at_ns: u64) -> Stats {
    let device = |member: &MemberStatus| DeviceStats {
        group: member.group.0.into(),
        online: member.is_online(),
        io: counters(member),
    };
    Stats {
        at_ns,
        groups: engine.groups.iter().map(|group| group_status(group, 0)).collect(),
        devices: engine.members.iter().map(device).collect(),
        client: Default::default(),
        writes: writes(&engine.traffic),
        rotations: engine.traffic.rotations,
        cleaned_segments: engine.traffic.victims,
        write_delay_ns: engine.pressure_ns,
    }
}

/// What opening took.
pub fn recovery(report: &RecoveryReport) -> RecoveryStatus {
    let step = |(name, took): &(&'static str, cygnus_types::Nanos)| RecoveryStep {
        name: (*name).into(),
        micros: took.0 / 1000,
    };
    RecoveryStatus {
        clean_stop: report.was_clean,
        steps: report.steps.iter().map(step).collect(),
        replayed_blocks: report.replayed_blocks as u64,
        torn_stripes: report.torn_stripes as u64,
        lost_blocks: report.lost_blocks as u64,
        remarks: report.remarks.clone(),
    }
}

/// The counters of one member.
pub fn counters(member: &MemberStatus) -> DeviceCounters {
    DeviceCounters {
        read_bytes: member.read,
        cleaning_read_bytes: member.cleaning_read,
        written_bytes: member.written,
        trimmed_bytes: member.trimmed,
        scrub_read_bytes: member.scrub_read,
        errors: member.errors.read + member.errors.write,
        read_errors: member.errors.read,
        write_errors: member.errors.write,
        checksum_errors: member.errors.wrong,
        parity_errors: member.errors.parity,
        repaired: member.errors.repaired,
        unrepairable: member.errors.unrepairable,
    }
}

fn group_status(group: &cygnus_engine::GroupStatus, missing_devices: u32) -> GroupStatus {
    let full = group.sealed + group.pending + group.meta + group.damaged;
    let empty = group.free + group.withheld;
    GroupStatus {
        index: group.id.0.into(),
        segments: empty + group.open + full,
        capacity_bytes: group.capacity_blocks * BLOCK as u64,
        missing_devices,
        activity: Some(GroupActivity {
            role: match group.role {
                _ if group.state == GroupState::Retiring => GroupRole::Retiring,
                cygnus_engine::GroupRole::FrontEnd => GroupRole::FrontEnd,
                cygnus_engine::GroupRole::Cleaning => GroupRole::Cleaning,
                cygnus_engine::GroupRole::BackEnd => GroupRole::BackEnd,
            },
            free_segments: group.free,
            open_segments: group.open,
            sealed_segments: full,
            damaged_segments: group.damaged,
            live_bytes: group.live_blocks * BLOCK as u64,
        }),
    }
}

fn pace(pace: &cygnus_engine::MemberPace) -> DevicePace {
    let micros = |span: cygnus_types::Nanos| span.0 / 1000;
    let lag = |lag: cygnus_policy::Lag| Lag { p99_us: micros(lag.own), peers_p99_us: micros(lag.peers) };
    DevicePace {
        slow: pace.slow,
        read_mean_us: micros(pace.read_mean),
        read_p99_us: micros(pace.read_p99),
        write_p99_us: micros(pace.write_p99),
        late_after_us: micros(pace.late_after),
        write_lag: pace.write_lag.map(lag),
        flush_lag: pace.flush_lag.map(lag),
    }
}

fn device_status(member: &MemberStatus, serving: &Serving<'_>) -> DeviceStatus {
    let index = u32::from(member.member.0);
    let remembered = serving.record.members.iter().find(|remembered| remembered.index == index);
    let path = remembered.filter(|_| !member.name.starts_with('/')).map(|remembered| remembered.path.display());
    let path = path.map_or_else(|| member.name.clone(), |path| path.to_string());
    let odd = if member.is_online() { (serving.odd_file)(&path, member.size) } else { None };
    DeviceStatus {
        index,
        group: member.group.0.into(),
        state: match member.state {
            MemberState::Online => DeviceState::Online,
            MemberState::Failed => DeviceState::Failed,
            MemberState::Missing => DeviceState::Missing,
            MemberState::Rebuilding => DeviceState::Rebuilding,
        },
        trouble: member.trouble.map(|trouble| trouble.words().into()).or_else(|| (serving.why_not_back)(member.member)),
        slow_to_answer_millis: member.slow_to_answer.map(|span| span.0 / 1_000_000),
        successor: member.successor.clone(),
        size_bytes: member.size.0,
        io: counters(member),
        rates: serving.rates.get(index as usize).copied().unwrap_or_default(),
        pace: member.is_online().then(|| pace(&member.pace)),
        lifetime: lifetime(member.lifetime),
        suspect: member.suspect.map(|why| why.to_string()).or(odd),
        path,
    }
}

/// What a member's superblock remembers of its errors.
pub fn lifetime(errors: cygnus_format::MemberErrors) -> LifetimeErrors {
    LifetimeErrors { read: errors.read, wrong: errors.wrong, slow: errors.slow }
}

/// The scrubs: when the last whole one ended, in seconds since 1970 (0: never), and what the last one found.
pub fn scrubs(last_unix: u64, report: Option<cygnus_engine::ScrubReport>) -> ScrubStatus {
    let last_unix = (last_unix > 0).then_some(last_unix);
    let age_seconds = last_unix.map(|last| now_unix().saturating_sub(last));
    ScrubStatus { last_unix, age_seconds, report: report.map(scrub_report) }
}

/// What a scrub found and did.
pub fn scrub_report(report: cygnus_engine::ScrubReport) -> ScrubReport {
    let lost = |block: cygnus_engine::LostBlock| LostBlock { volume: block.volume, lba: block.lba.0 };
    ScrubReport {
        complete: report.complete,
        blocks: report.blocks,
        bytes_read: report.bytes,
        wrong_blocks: report.wrong_blocks,
        wrong_parity: report.wrong_parity,
        wrong_headers: report.wrong_headers,
        moved_blocks: report.moved,
        rebuilt_blocks: report.rebuilt,
        blocks_without_room: report.without_room,
        lost: report.lost,
        lost_blocks: report.lost_blocks.into_iter().map(lost).collect(),
    }
}

fn spare_status(spare: &cygnus_engine::SpareStatus) -> SpareStatus {
    SpareStatus { uuid: spare.uuid.to_string(), path: spare.name.clone(), size_bytes: spare.size.0 }
}

fn writes(traffic: &Traffic) -> WriteCounters {
    let bytes = |blocks: u64| blocks * BLOCK as u64;
    let Traffic { user_written, relocated, .. } = *traffic;
    let overhead =
        traffic.checkpoint_written + traffic.parity_written + traffic.header_written + traffic.padding_written;
    WriteCounters {
        client_bytes: bytes(user_written),
        cleaned_bytes: bytes(relocated),
        device_bytes: bytes(user_written + relocated + overhead),
    }
}
