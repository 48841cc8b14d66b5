//! Log-structured arrays that are served.

use super::{Serving, by_name, capabilities, device_state, lifetime, losses, millis, scrubs, state, suspended, zones};
use cygnus_control::kept::KeptStatus;
use cygnus_control::media::MediumName;
use cygnus_control::paging::Pages;
use cygnus_control::shortage::ShortageStatus;
use cygnus_control::stats::{DeviceStats, Stats};
use cygnus_control::status::{
    ArrayStatus, AutonomicsStatus, AvoidedStatus, Copies, DeviceCounters, DevicePace, DeviceStatus, GroupActivity,
    GroupRole, GroupStatus, Lag, LinkStatus, MediumStatus, OutcomeStatus, PLACE_UNKNOWN, ParityBuffer, ParityInside,
    Patience, RecoveryStatus, RecoveryStep, RepairCounters, SpareStatus, VolumeStatus, WriteCounters,
};
use cygnus_engine::{MemberStatus, RecoveryReport, Shortage, Traffic};
use cygnus_format::GroupState;
use cygnus_host::place;
use cygnus_policy::{OutcomeCounts, Rules, UntilFull};
use cygnus_types::BLOCK;

/// A served array's status.
pub fn status(
    engine: &cygnus_engine::ArrayStatus,
    report: &RecoveryReport,
    scrubbed: Option<cygnus_engine::ScrubReport>,
    serving: Serving<'_>,
) -> ArrayStatus {
    let is_lost = |member: &&MemberStatus| !member.is_online();
    let lost = |group: usize| engine.members.iter().filter(|m| m.group.index() == group).filter(is_lost).count();
    // A group that has left keeps its number and is not shown.
    let there = |group: &cygnus_types::GroupId| engine.groups[group.index()].state != GroupState::Retired;
    let shown = engine.groups.iter().enumerate().filter(|(_, group)| there(&group.id));
    let bare = ArrayStatus::bare(&engine.name, &engine.uuid, &engine.preset, state(engine.health));
    let status = ArrayStatus {
        cleaning: Some(Rules { all: Some(engine.cleaning), on: engine.cleaning_on.clone() }.to_string()),
        streams: Some(engine.streams.to_string()),
        data_columns: engine.data.into(),
        parity_columns: engine.parity.into(),
        segment_bytes: engine.segment.0,
        transient_bytes: Some(engine.transient.0).filter(|&bytes| bytes > 0),
        protection: Some(engine.until_full.to_string()),
        copies: matches!(engine.until_full, UntilFull::TwoPhase | UntilFull::Offload).then(|| Copies {
            written_bytes: engine.traffic.backup_written * BLOCK as u64,
            described_beside_bytes: engine.traffic.described_beside * BLOCK as u64,
        }),
        parity_buffer: (engine.until_full == UntilFull::ParityBuffer).then(|| ParityBuffer {
            written_bytes: engine.traffic.backup_written * BLOCK as u64,
            parity_bytes: engine.traffic.backup_parity * BLOCK as u64,
        }),
        parity_inside: (engine.until_full == UntilFull::Offload).then(|| ParityInside {
            inside_bytes: engine.traffic.converted_inside * BLOCK as u64,
            host_bytes: engine.traffic.converted_here * BLOCK as u64,
        }),
        capacity_bytes: Some(engine.usable.0),
        live_bytes: Some(engine.mapped.0),
        media: media(engine),
        writes: Some(writes(&engine.traffic)),
        clean: report.was_clean,
        repairs: Some(RepairCounters {
            reconstructed: engine.traffic.reconstructed,
            repaired: engine.traffic.repaired,
            unreadable: engine.traffic.unreadable,
        }),
        losses: losses(engine.losses),
        patience: Some(Patience {
            hung_after_millis: millis(engine.hung_after),
            hedged: engine.traffic.hedged,
            read_around: engine.traffic.read_around,
        }),
        fault: engine.fault.clone(),
        clogged_segments: Some(engine.clogged).filter(|&segments| segments > 0),
        shortage: engine.shortage.map(shortage),
        suspended: engine.suspended.as_ref().map(|of| suspended(of, engine.suspended_for, engine.requests_wait)),
        recovery: Some(recovery(report)),
        kept: engine.kept.as_ref().map(|kept| KeptStatus {
            place: kept.place.clone(),
            bytes: kept.size.0,
            short: kept.is_short,
            removed: kept.is_removed,
        }),
        autonomics: engine.autonomics.as_ref().map(|of| autonomics(of, &engine.members)),
        groups: shown.map(|(index, group)| group_status(group, lost(index) as u32)).collect(),
        devices: engine.members.iter().filter(|m| there(&m.group)).map(|m| device_status(m, &serving)).collect(),
        spares: engine.spares.iter().map(spare_status).collect(),
        volumes: volumes(engine, serving.connections),
        scrub: scrubs(engine.last_scrub_unix, scrubbed),
        ..bare
    };
    serving.whole(status)
}

fn shortage(of: Shortage) -> ShortageStatus {
    ShortageStatus {
        medium: MediumName(of.medium),
        for_millis: millis(of.waited),
        free_segments: of.free,
        emptied_segments: of.emptied,
        damaged_segments: of.damaged,
        remedy: of.remedy().into(),
    }
}

/// What lies on each medium, where there are several.
fn media(engine: &cygnus_engine::ArrayStatus) -> Vec<MediumStatus> {
    let told = engine.media.iter().filter(|_| engine.media.len() > 1);
    let one = |of: &cygnus_engine::MediumStatus| MediumStatus {
        medium: MediumName(of.medium),
        capacity_bytes: of.usable.0,
        live_bytes: of.mapped.0,
    };
    told.map(one).collect()
}

fn outcome(of: &OutcomeCounts) -> OutcomeStatus {
    let OutcomeCounts { to_cluster, to_module, nowhere_cold, no_sibling, over_budget } = *of;
    OutcomeStatus { to_other_links: to_cluster, to_siblings: to_module, nowhere_cold, no_sibling, over_budget }
}

fn autonomics(engine: &cygnus_engine::AutonomicsStatus, of: &[MemberStatus]) -> AutonomicsStatus {
    let shared = engine.clusters.iter().filter(|cluster| cluster.is_shared());
    let link = |cluster: &cygnus_engine::ClusterStatus| LinkStatus {
        name: cluster.name.clone(),
        contended: cluster.hot,
        contended_percent: cluster.contended_percent,
        members: cluster.members.iter().map(|member| member.name.clone()).collect(),
        moved_here: cluster.given,
    };
    let members = engine.clusters.iter().flat_map(|cluster| &cluster.members);
    let avoided = |member: &cygnus_engine::LinkedMember| {
        Some(AvoidedStatus { member: member.name.clone(), why: member.burdened.clone()? })
    };
    AutonomicsStatus {
        links: shared.map(link).collect(),
        avoided: members.filter_map(avoided).collect(),
        on_links: outcome(&engine.decisions.hot_cluster),
        on_late: outcome(&engine.decisions.late),
        on_full: outcome(&engine.decisions.full_queue),
        resting: engine.resting,
        no_room: engine.no_room,
        read_to_move: engine.read_to_move,
        too_many: engine.too_many,
        read_around: engine.read_around,
        steered_segments: engine.steered,
        left_segments: engine.left_early,
        budget_percent: engine.write_percent,
        budget_per_day: engine.writes_per_day,
        budget_left: engine.budget_left,
        most_written_percent: most_written_percent(of.iter().filter(|m| m.is_online()).map(|member| member.written)),
    }
}

/// What the member that was written most was written, in percent of the mean; nothing if none was written.
fn most_written_percent(written: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    let (members, all) = (written.clone().count() as u128, written.clone().map(u128::from).sum::<u128>());
    let most = u128::from(written.max()?);
    (most * members * 100).checked_div(all).map(|percent| percent as u64)
}

/// The volumes by name.
pub fn volumes(engine: &cygnus_engine::ArrayStatus, connections: &dyn Fn(&str) -> u32) -> Vec<VolumeStatus> {
    let one = |volume: &cygnus_engine::VolumeStatus| VolumeStatus {
        used_bytes: Some(volume.mapped.0),
        connections: connections(&volume.name),
        lost_blocks: volume.lost,
        media: volume.constraint.into(),
        pages: Pages::of(volume.paging),
        own_entries_bytes: volume.paging.is_by_pages().then_some(volume.own_entries * BLOCK as u64),
        fast_bytes: volume.on_fast.map(|size| size.0),
        in_doubt: volume.unknown.is_some(),
        unreadable_bytes: volume.unknown.map(|size| size.0),
        ..VolumeStatus::bare(&volume.name, volume.id, volume.size, volume.acknowledged)
    };
    by_name(engine.volumes.iter().map(one).collect())
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
        restored_blocks: report.restored_blocks,
        replayed_blocks: report.replayed_blocks as u64,
        torn_stripes: report.torn_stripes as u64,
        lost_blocks: report.lost_blocks as u64,
        remarks: report.remarks.clone(),
    }
}

/// The counters of one member.
fn counters(member: &MemberStatus) -> DeviceCounters {
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
        data_columns: group.raid.data.into(),
        parity_columns: group.raid.parity.into(),
        missing_devices,
        medium: Some(MediumName(group.medium)),
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
    // A member that was not there at the start is called by its UUID.
    let nowhere = || serving.remembered(member.member).unwrap_or_else(|| PLACE_UNKNOWN.into());
    let path = if place::is_absolute(&member.name) { member.name.clone() } else { nowhere() };
    let odd = if member.is_online() { (serving.odd_file)(&path, member.size) } else { None };
    let trouble = member.trouble.map(|trouble| trouble.words().into());
    serving.member(DeviceStatus {
        trouble: trouble.or_else(|| (serving.why_not_back)(member.member)),
        slow_to_answer_millis: member.slow_to_answer.map(millis),
        capabilities: member.capabilities.map(capabilities),
        zones: member.zones.map(zones),
        successor: member.successor.clone(),
        size_bytes: member.size.0,
        io: counters(member),
        pace: member.is_online().then(|| pace(&member.pace)),
        lifetime: lifetime(member.lifetime),
        suspect: member.suspect.map(|why| why.to_string()).or(odd),
        ..DeviceStatus::bare(member.member, member.group, path, device_state(member.state))
    })
}

fn spare_status(spare: &cygnus_engine::SpareStatus) -> SpareStatus {
    SpareStatus { uuid: spare.uuid.to_string(), path: spare.name.clone(), size_bytes: spare.size.0 }
}

fn writes(traffic: &Traffic) -> WriteCounters {
    let bytes = |blocks: u64| blocks * BLOCK as u64;
    let Traffic { client_written, relocated, .. } = *traffic;
    let overhead = traffic.rehomed
        + traffic.checkpoint_written
        + traffic.parity_written
        + traffic.header_written
        + traffic.padding_written
        + traffic.backup_written;
    WriteCounters {
        client_bytes: bytes(client_written),
        cleaned_bytes: bytes(relocated),
        device_bytes: bytes(client_written + relocated + overhead),
        fell_back_bytes: bytes(traffic.fell_back),
        promoted_bytes: bytes(traffic.promoted),
        demoted_bytes: bytes(traffic.demoted),
        reads_without_room: traffic.not_promoted,
        victims: traffic.victims,
        helped_victims: traffic.victims_helped,
    }
}
