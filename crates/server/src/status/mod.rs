//! What an array looks like in the words of the control protocol: one that is served, of either kind, or one that is stopped.
//! How it is shown, as text or as JSON, is `cygnus-control`'s.

pub(crate) mod in_place;
pub(crate) mod log_structured;
pub mod stopped;

use cygnus_control::scrub::{LossStatus, LostBlock, ScrubReport, ScrubStatus};
use cygnus_control::status::{
    AddedGroup, ArrayState, ArrayStatus, ClientsStatus, DeviceCapabilities, DeviceRates, DeviceState, DeviceStatus,
    DeviceZones, Growth, JobState, JobStatus, LifetimeErrors, MemoryStatus, SuspendedStatus, VolumeStatus,
};
use cygnus_engine::ArrayHealth;
use cygnus_format::MemberState;
use cygnus_host::devices::now_unix;
use cygnus_host::state::ArrayRecord;
use cygnus_runtime::{Capabilities, ZoneCounts};
use cygnus_types::{ByteSize, MemberIx, Nanos};

/// What only the server knows of the array that it serves.
pub struct Serving<'a> {
    /// Where members were last seen.
    pub record: &'a ArrayRecord,
    /// NBD addresses that clients can come to, as URIs without an export's name.
    pub listening: Vec<String>,
    /// Bytes per second by member.
    pub rates: &'a [DeviceRates],
    /// Long work.
    pub jobs: Vec<JobStatus>,
    /// After what time a member that answers nothing is given up.
    pub hung_after: Nanos,
    /// Memory that each part of the server takes and may take.
    pub memory: MemoryStatus,
    /// NBD connections: how many, and what became of earlier ones.
    pub clients: ClientsStatus,
    /// How many clients a volume has.
    pub connections: &'a dyn Fn(&str) -> u32,
    /// What is wrong with the file at a member's path, given the member's size.
    pub odd_file: &'a dyn Fn(&str, ByteSize) -> Option<String>,
    /// Why a member that is looked for has not come back.
    pub why_not_back: &'a dyn Fn(MemberIx) -> Option<String>,
}

impl Serving<'_> {
    /// What is told of any array that is served.
    fn whole(self, bare: ArrayStatus) -> ArrayStatus {
        ArrayStatus {
            served: true,
            listening: self.listening,
            memory: Some(self.memory),
            clients: Some(self.clients),
            jobs: self.jobs,
            ..bare
        }
    }

    /// Where a member was last seen.
    fn remembered(&self, member: MemberIx) -> Option<String> {
        remembered(self.record, member)
    }

    /// What is told of any member of such an array.
    fn member(&self, bare: DeviceStatus) -> DeviceStatus {
        let rates = self.rates.get(bare.index as usize).copied().unwrap_or_default();
        DeviceStatus { rates, ..bare }
    }
}

/// Where a member was last seen.
fn remembered(record: &ArrayRecord, member: MemberIx) -> Option<String> {
    let known = record.members.iter().find(|known| known.index == u32::from(member.0));
    known.map(|known| known.path.display().to_string())
}

fn state(health: ArrayHealth) -> ArrayState {
    match health {
        ArrayHealth::Online => ArrayState::Healthy,
        ArrayHealth::Degraded => ArrayState::Degraded,
        ArrayHealth::Rebuilding => ArrayState::Rebuilding,
        ArrayHealth::Suspended => ArrayState::Suspended,
        ArrayHealth::ReadOnly => ArrayState::ReadOnly,
    }
}

fn device_state(state: MemberState) -> DeviceState {
    match state {
        MemberState::Online => DeviceState::Online,
        MemberState::Failed => DeviceState::Failed,
        MemberState::Missing => DeviceState::Missing,
        MemberState::Rebuilding => DeviceState::Rebuilding,
    }
}

fn millis(span: Nanos) -> u64 {
    span.0 / 1_000_000
}

fn by_name(mut volumes: Vec<VolumeStatus>) -> Vec<VolumeStatus> {
    volumes.sort_by(|a, b| a.name.cmp(&b.name));
    volumes
}

/// A job.
pub(crate) fn job(job: &cygnus_engine::JobStatus) -> JobStatus {
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

/// An array that waits `waited` for members, and whose requests wait for `requests_wait`.
fn suspended(of: &cygnus_engine::Suspended, waited: Nanos, requests_wait: Nanos) -> SuspendedStatus {
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
        first_member: group.first_member.0.into(),
        data_columns: group.raid.data.into(),
        parity_columns: group.raid.parity.into(),
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

/// What a member's superblock remembers of its errors.
fn lifetime(errors: cygnus_format::MemberErrors) -> LifetimeErrors {
    LifetimeErrors { read: errors.read, wrong: errors.wrong, slow: errors.slow }
}

/// What is known to be beyond redundancy.
fn losses(known: cygnus_format::Losses) -> LossStatus {
    LossStatus { found_blocks: known.found, failed_reads: known.asked }
}

/// The scrubs: when the last whole one ended, in seconds since 1970 (0: never), and what the last one found.
fn scrubs(last_unix: u64, report: Option<cygnus_engine::ScrubReport>) -> ScrubStatus {
    let last_unix = (last_unix > 0).then_some(last_unix);
    let age_seconds = last_unix.and_then(|last| now_unix().checked_sub(last));
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

fn zones(of: ZoneCounts) -> DeviceZones {
    let ZoneCounts { empty, partly_written, full, not_asked } = of;
    DeviceZones { empty, partly_written, full, not_asked }
}

fn capabilities(of: Capabilities) -> DeviceCapabilities {
    DeviceCapabilities {
        class: of.class.name().into(),
        trims: of.trim,
        converts: of.convert,
        oob_bytes: of.oob_bytes,
        zone_bytes: of.resets.map_or(0, |resets| resets.unit),
    }
}
