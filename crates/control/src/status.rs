//! What an array looks like from outside: the structs behind `array status`, `volume list` and their `--json`.
//!
//! All counters only grow while an array is served, and start from zero at each `serve`. Sizes are bytes.

use crate::ack::Ack;
pub use crate::device_status::{
    DeviceCapabilities, DeviceCounters, DevicePace, DeviceRates, DeviceState, DeviceStatus, DeviceZones, Lag,
    LifetimeErrors, PLACE_UNKNOWN, SpareStatus,
};
use crate::kept::KeptStatus;
use crate::media::{Media, MediumName};
use crate::paging::Pages;
use crate::scrub::{LossStatus, ScrubStatus};
use crate::shortage::ShortageStatus;
use cygnus_types::{Acknowledged, ByteSize, Uuid, VolumeId};
use serde::{Deserialize, Serialize};

/// Everything about one array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayStatus {
    /// The array's name, as commands and `cygnus array list` have it.
    pub name: String,
    /// Its identity on the disks, as 32 hexadecimal digits with dashes.
    pub uuid: String,
    /// The preset it was created with (`swan`, `log-raid`).
    pub preset: String,
    /// Which segments are cleaned first (`greedy`, `circular`); absent if it needs no cleaning, or this version cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleaning: Option<String>,
    /// Which writes share segments (`together`: all, `heat`: hot ones are apart, `volume`: volumes are); absent if it has no segments, or this version cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<String>,
    /// Whether a `cygnus serve` holds it at this moment.
    pub served: bool,
    /// Who has members of it for itself, if that is no server that this state directory knows of; absent while it is served here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use_by: Option<String>,
    /// Whether all members are there, and whether it can be read and written.
    pub state: ArrayState,
    /// Data columns of a stripe (k); of the widest R-group, where they differ.
    pub data_columns: u32,
    /// Parity columns of a stripe (m); of the widest R-group, where they differ.
    pub parity_columns: u32,
    /// Bytes that one segment takes on one device.
    pub segment_bytes: u64,
    /// Bytes of each device's transient area, where copies make safe what unfinished stripes hold (two-phase protection);
    /// absent where stripes end for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transient_bytes: Option<u64>,
    /// What makes safe what stripes hold until they are full, as `array create --protection` has it; absent where arrays update in
    /// place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<String>,
    /// What transient areas took, where they have copies only; absent elsewhere, and while the array is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// What transient areas took, where the parity of rows may take the place of copies; absent elsewhere, and while the array is
    /// stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity_buffer: Option<ParityBuffer>,
    /// Who has computed the parity of stripes that had copies, where members that can are to do it; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity_inside: Option<ParityInside>,
    /// Bytes of data the volumes can hold in all, over-provisioning taken off; absent if this version cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Bytes of data the volumes hold now; unknown after a stop that was not clean, until the array is opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_bytes: Option<u64>,
    /// The same of each medium, where R-groups are on several; absent while the array is stopped.
    #[serde(default)]
    pub media: Vec<MediumStatus>,
    /// Bytes that clients have written and that were moved by cleaning since the array was opened; absent while it is
    /// stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<WriteCounters>,
    /// Whether the last session ended with a clean stop; for a served array, whether the one before did.
    pub clean: bool,
    /// Blocks mended or lost since the array was opened; absent while it is stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repairs: Option<RepairCounters>,
    /// Blocks known to be beyond redundancy, from before the last stop too.
    #[serde(default)]
    pub losses: LossStatus,
    /// What is done about slow members; absent while the array is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<Patience>,
    /// Why the array takes no writes any more, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Segments kept by blocks that cannot be read, if these are why there is no room for writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clogged_segments: Option<u32>,
    /// Clients' writes that have waited for a segment for a second or longer; absent if none do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortage: Option<ShortageStatus>,
    /// What is odd about the members of a stopped array: copies, sizes that shrank, places that hold something else.
    #[serde(default)]
    pub oddities: Vec<String>,
    /// For whom it waits, if it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<SuspendedStatus>,
    /// What opening it took; absent while the array is stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryStatus>,
    /// NBD addresses it is served at, as URIs without an export name; empty when stopped.
    pub listening: Vec<String>,
    /// The R-groups in the order of their numbers.
    pub groups: Vec<GroupStatus>,
    /// All members in the order of their numbers.
    pub devices: Vec<DeviceStatus>,
    /// Devices kept ready for members that will be lost.
    #[serde(default)]
    pub spares: Vec<SpareStatus>,
    /// All volumes, in the order of their names.
    pub volumes: Vec<VolumeStatus>,
    /// When a scrub last verified the array, and what that found.
    #[serde(default)]
    pub scrub: ScrubStatus,
    /// State of the write-intent log; only of an array that updates in place, while it is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlaceStatus>,
    /// Where what is on its way to the members outlasts a server that is killed; absent where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptStatus>,
    /// How data moves out of the way of contention; absent where it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomics: Option<AutonomicsStatus>,
    /// Who has how much memory; absent while the array is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryStatus>,
    /// The NBD connections; absent while the array is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientsStatus>,
    /// Long work that runs, and the last that has ended, oldest first.
    #[serde(default)]
    pub jobs: Vec<JobStatus>,
}

/// What an array's status comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// Nothing needs to be done.
    Well,
    /// It serves all its data, and an operator should look.
    Attention,
    /// Not all of its data can be read and written.
    Unavailable,
}

impl ArrayStatus {
    /// One of which no more is known than this: not served, without members.
    pub fn bare(name: &str, uuid: &Uuid, preset: &str, state: ArrayState) -> Self {
        Self {
            name: name.into(),
            uuid: uuid.to_string(),
            preset: preset.into(),
            cleaning: None,
            streams: None,
            served: false,
            in_use_by: None,
            state,
            data_columns: 0,
            parity_columns: 0,
            segment_bytes: 0,
            transient_bytes: None,
            protection: None,
            copies: None,
            parity_buffer: None,
            parity_inside: None,
            capacity_bytes: None,
            live_bytes: None,
            media: Vec::new(),
            writes: None,
            clean: false,
            repairs: None,
            losses: LossStatus::default(),
            patience: None,
            fault: None,
            clogged_segments: None,
            shortage: None,
            oddities: Vec::new(),
            suspended: None,
            recovery: None,
            listening: Vec::new(),
            groups: Vec::new(),
            devices: Vec::new(),
            spares: Vec::new(),
            volumes: Vec::new(),
            scrub: ScrubStatus::default(),
            in_place: None,
            kept: None,
            autonomics: None,
            memory: None,
            clients: None,
            jobs: Vec::new(),
        }
    }

    /// Spares that are not there. Of a stopped array [`ArrayStatus::oddities`] name them.
    pub fn missed_spares(&self) -> impl Iterator<Item = &SpareStatus> {
        self.spares.iter().filter(|spare| self.served && spare.path.is_none())
    }

    /// What it comes to, for exit statuses and monitoring.
    pub fn condition(&self) -> Condition {
        let by_state = match self.state {
            ArrayState::Healthy => Condition::Well,
            ArrayState::Degraded | ArrayState::Rebuilding => Condition::Attention,
            ArrayState::Suspended | ArrayState::ReadOnly | ArrayState::Failed => Condition::Unavailable,
        };
        let lost = self.scrub.report.as_ref().is_some_and(|report| report.lost > 0)
            || self.losses != LossStatus::default()
            || self.volumes.iter().any(VolumeStatus::lacks_something);
        let room = self.little_room();
        let is_full = self.clogged_segments.is_some() || room.iter().any(|room| room.is_full);
        let by_findings = if lost || self.fault.is_some() || is_full {
            Condition::Unavailable
        } else if !self.oddities.is_empty()
            || self.in_use_by.is_some()
            || self.shortage.is_some()
            || self.may_forget().is_some()
            || !room.is_empty()
            || self.missed_spares().next().is_some()
            || self.devices.iter().any(DeviceStatus::is_doubtful)
            || self.memory.as_ref().is_some_and(MemoryStatus::map_is_full)
        {
            Condition::Attention
        } else {
            Condition::Well
        };
        by_state.max(by_findings)
    }
}

/// What became of blocks that reads brought from where others were in the way, for one reason. Blocks of 4 KiB, since the array was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeStatus {
    /// Moved behind another link.
    pub to_other_links: u64,
    /// Moved to another member behind the same link.
    pub to_siblings: u64,
    /// Stayed, because no other link is used little enough and can take them.
    pub nowhere_cold: u64,
    /// Stayed, because no other member behind the same link has much less to do.
    pub no_sibling: u64,
    /// Stayed, because the budget was spent.
    pub over_budget: u64,
}

/// How data moves out of the way of contention. Blocks of 4 KiB, since the array was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AutonomicsStatus {
    /// Links that members share, as `serve --link` declared them.
    pub links: Vec<LinkStatus>,
    /// Members whose groups new writes avoid.
    pub avoided: Vec<AvoidedStatus>,
    /// What became of blocks on contended links.
    pub on_links: OutcomeStatus,
    /// What became of blocks on members that have more to do than can be done in the promised time.
    pub on_late: OutcomeStatus,
    /// What became of blocks on members that fill a full queue.
    pub on_full: OutcomeStatus,
    /// Blocks that stayed because they had moved a moment ago.
    pub resting: u64,
    /// Blocks that stayed because no stripe had room at once.
    pub no_room: u64,
    /// Blocks read for their move alone (naive migration), after the client's read that led to it; none where it is the client's read
    /// that brings what moves.
    pub read_to_move: u64,
    /// Blocks that stayed because as many were being read for their move as may be.
    pub too_many: u64,
    /// Blocks read by way of redundancy, around members that lag or share a contended link.
    pub read_around: u64,
    /// Segments for clients' writes that another group gave than otherwise.
    pub steered_segments: u64,
    /// Segments for clients' writes that ended early, because their group was to be avoided.
    pub left_segments: u64,
    /// Blocks that may be moved for each hundred that clients write.
    pub budget_percent: u32,
    /// Blocks that may be moved in a day however little clients write: the larger of both parts counts.
    pub budget_per_day: u64,
    /// Blocks that may be moved now, by what the first reactor has saved up.
    pub budget_left: u64,
    /// How evenly members wear: what the one in service that was written most was written, in percent of the mean, since the array was
    /// opened. 100: all alike. Absent if none was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_written_percent: Option<u64>,
}

impl AutonomicsStatus {
    /// Blocks that were written anew for the sake of better places.
    pub fn moved(&self) -> u64 {
        [self.on_links, self.on_late, self.on_full].iter().map(|of| of.to_other_links + of.to_siblings).sum()
    }
}

/// A link that members share on their way to the machine, and how contended it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// Its name, as `serve --link` declared it.
    pub name: String,
    /// Whether requests meet others on it often enough for data to move away.
    pub contended: bool,
    /// Requests of a hundred that met others on it when it was last looked at.
    pub contended_percent: u32,
    /// Paths of the members behind it.
    pub members: Vec<String>,
    /// Blocks that have moved here, out of the way of others.
    pub moved_here: u64,
}

/// A member whose group new writes avoid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvoidedStatus {
    /// Path of the member.
    pub member: String,
    /// Why, in words: which link is contended, or how the member lags.
    pub why: String,
}

/// What the server takes of the machine's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStatus {
    /// Bytes of the process that are in memory, with all of its kept memory, touched or not.
    pub resident_bytes: u64,
    /// Bytes that all parts together may take (`serve --memory`).
    pub limit_bytes: u64,
    /// What the memory is used for, with a limit for each use.
    pub parts: Vec<MemoryPartStatus>,
}

impl MemoryStatus {
    /// Whether the volumes' maps have all that they may take.
    pub fn map_is_full(&self) -> bool {
        self.parts.iter().any(|part| part.name == "map" && part.used_bytes >= part.limit_bytes)
    }
}

/// One use of the server's memory: how much it takes and may take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPartStatus {
    /// Its name: `program`, `buffers`, `network` or `map`.
    pub name: String,
    /// Bytes that it takes now.
    pub used_bytes: u64,
    /// Bytes that it may take at most.
    pub limit_bytes: u64,
}

/// NBD connections of a server: those that are open, and counts since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientsStatus {
    /// Connections open now, those that are negotiating included.
    pub connections: u32,
    /// Connections that may be open at once.
    pub places: u32,
    /// Connections that were let in.
    pub accepted: u64,
    /// Connections that were not let in, as there was no place for them.
    pub refused: u64,
    /// Connections closed because what came was not NBD.
    pub malformed: u64,
    /// Connections closed because their clients kept the server waiting, or to make room for others.
    pub cut: u64,
}

/// The write-intent log of an array that updates in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InPlaceStatus {
    /// Regions of the log, each `segment_bytes` long on each member.
    pub regions: u32,
    /// Regions that are being written to, or were a moment ago: a crash would have them resynced.
    pub dirty_regions: u32,
    /// Of these, regions whose copies or parity may not fit until their resync.
    pub stale_regions: u32,
}

/// An array that waits for members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspendedStatus {
    /// Milliseconds since it began to wait.
    pub for_millis: u64,
    /// For whom it waits, and what is the matter with each, in words.
    pub waits_for: String,
    /// Milliseconds of waiting after which requests fail; absent: they wait for as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_fail_after_millis: Option<u64>,
}

/// How well an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrayState {
    /// All members are there.
    Healthy,
    /// Members are missing, and everything can still be read and written.
    Degraded,
    /// Members are missing, and the place of at least one is being filled again.
    Rebuilding,
    /// It waits for members; what can be read meanwhile is.
    Suspended,
    /// It can be read, not written.
    ReadOnly,
    /// More members are missing than the parity covers: it cannot be opened.
    Failed,
}

impl ArrayState {
    /// The word shown to people, the same as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Rebuilding => "rebuilding",
            Self::Suspended => "suspended",
            Self::ReadOnly => "read-only",
            Self::Failed => "failed",
        }
    }
}

/// Where the parity of stripes that had copies was computed, since the array was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityInside {
    /// Bytes of parity that members computed inside, and that were not sent to them.
    pub inside_bytes: u64,
    /// Bytes of parity that the host computed, as the copies were too few or the member cannot.
    pub host_bytes: u64,
}

/// What transient areas took since the array was opened, where they have copies only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copies {
    /// Bytes written to transient areas, the blocks that describe copies among them.
    pub written_bytes: u64,
    /// Of these, bytes of copies whose description lies beside them, on devices that store bytes beside blocks.
    pub described_beside_bytes: u64,
}

/// What transient areas took since the array was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityBuffer {
    /// Bytes written to transient areas, the blocks that say what follows among them.
    pub written_bytes: u64,
    /// Of these, bytes of rows' parity, in place of copies of their blocks.
    pub parity_bytes: u64,
}

/// What went to the log, by reason, in bytes of 4 KiB blocks (parity and headers not counted).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteCounters {
    /// Bytes that clients wrote.
    pub client_bytes: u64,
    /// Bytes of live data that cleaning moved out of victims.
    pub cleaned_bytes: u64,
    /// Everything written to the devices: data, parity, headers, padding, checkpoints.
    pub device_bytes: u64,
    /// Bytes that clients wrote to volumes that prefer a medium, and that went to another one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fell_back_bytes: u64,
    /// Bytes of hybrid volumes that moved to the faster of their media, as they were often read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub promoted_bytes: u64,
    /// Bytes of hybrid volumes that moved to the slower of their media, as they were read no more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub demoted_bytes: u64,
    /// Reads of hybrid volumes after which hot blocks stayed where they were, as the faster medium had no room for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reads_without_room: u64,
    /// Segments that cleaning emptied.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub victims: u64,
    /// Of these, segments that were emptied by other cores than the first one, which chooses them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub helped_victims: u64,
}

impl WriteCounters {
    /// (client + moved) / client: what log cleaning costs. `None` before the first write.
    pub fn amplification(&self) -> Option<f64> {
        (self.client_bytes > 0).then(|| (self.client_bytes + self.cleaned_bytes) as f64 / self.client_bytes as f64)
    }
}

/// What was done about blocks that could not be read as they were written. 4 KiB blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairCounters {
    /// Blocks read by way of parity, because a device was missing, failed, or delivered something else.
    pub reconstructed: u64,
    /// Of these, blocks that were written anew elsewhere.
    pub repaired: u64,
    /// Times that a block was asked for, by a client or a rebuild, and was beyond redundancy.
    pub unreadable: u64,
}

/// When a member is not waited for, and how often that was so since the array was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patience {
    /// Milliseconds without any answer after which a member goes out of service.
    pub hung_after_millis: u64,
    /// 4 KiB blocks of late reads that were asked of the other columns too.
    pub hedged: u64,
    /// 4 KiB blocks asked of the other columns at once, because their member is slow.
    pub read_around: u64,
}

/// What opening the array took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryStatus {
    /// Whether the array had been stopped cleanly, so that nothing had to be scanned.
    pub clean_stop: bool,
    /// What the opening did, step by step, in the order of time.
    pub steps: Vec<RecoveryStep>,
    /// Blocks that a server that was killed had in memory, and that are on the members now.
    #[serde(default)]
    pub restored_blocks: u64,
    /// Blocks whose newest place was found behind the checkpoint.
    pub replayed_blocks: u64,
    /// Stripes that were not wholly written when the session ended.
    pub torn_stripes: u64,
    /// Blocks of those that were not there; no flush had covered them.
    pub lost_blocks: u64,
    /// In words, why members are not in use.
    pub remarks: Vec<String>,
}

/// One named step of opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryStep {
    /// What was done, in a few words.
    pub name: String,
    /// Microseconds that the step took.
    pub micros: u64,
}

/// What an R-group does at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupRole {
    /// Takes the writes of the clients.
    FrontEnd,
    /// Serves reads only.
    BackEnd,
    /// Back-end whose segments are being cleaned.
    Cleaning,
    /// Gets nothing new; its data moves to the others.
    Retiring,
}

impl GroupRole {
    /// The word shown to people, the same as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::FrontEnd => "front-end",
            Self::BackEnd => "back-end",
            Self::Cleaning => "cleaning",
            Self::Retiring => "retiring",
        }
    }
}

/// An R-group: its shape, and what it does and holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStatus {
    /// Its number, from 0.
    pub index: u32,
    /// Segments that it has, whatever their state.
    pub segments: u32,
    /// Bytes of data its segments could hold.
    pub capacity_bytes: u64,
    /// Data columns of its stripes (k).
    pub data_columns: u32,
    /// Parity columns of its stripes (m): as many members may be lost.
    pub parity_columns: u32,
    /// Members of it whose state is `missing` or `failed`.
    pub missing_devices: u32,
    /// What it stores on; absent where that does not matter, in arrays that update in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium: Option<MediumName>,
    /// What it does and holds; absent while the array is stopped.
    #[serde(flatten)]
    pub activity: Option<GroupActivity>,
}

/// What lies on a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediumStatus {
    /// Which medium the numbers are of.
    pub medium: MediumName,
    /// Bytes of data that volumes can hold there.
    pub capacity_bytes: u64,
    /// Bytes that they hold there.
    pub live_bytes: u64,
}

/// What `array add` has added to an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// The new R-groups, in the order of their numbers.
    pub groups: Vec<AddedGroup>,
    /// Bytes that a segment takes on each member.
    pub segment_bytes: u64,
    /// Bytes of data that the volumes can hold in all, with the new R-groups.
    pub capacity_bytes: u64,
    /// Bytes of data that the volumes could hold in all without them.
    pub capacity_before_bytes: u64,
}

/// The shape of an R-group that was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedGroup {
    /// Its number among the R-groups, from 0.
    pub index: u32,
    /// Number of its first member; the others follow.
    pub first_member: u32,
    /// Data columns of its stripes (k).
    pub data_columns: u32,
    /// Parity columns of its stripes: as many members may be lost.
    pub parity_columns: u32,
    /// Segments that it has.
    pub segments: u32,
    /// Bytes of its members that stay unused, because each has as many segments as the smallest allows.
    pub unused_bytes: u64,
}

/// What a served R-group does and holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupActivity {
    /// Its part among the groups now.
    pub role: GroupRole,
    /// Segments that hold nothing and can be filled.
    pub free_segments: u32,
    /// Segments that are being filled.
    pub open_segments: u32,
    /// Full segments: with data, with a checkpoint, or emptied and waiting for a flush to be free.
    pub sealed_segments: u32,
    /// Of these, segments that cleaning leaves alone because they hold blocks that cannot be read.
    pub damaged_segments: u32,
    /// Bytes of data that volumes hold in it; what was overwritten or discarded does not count.
    pub live_bytes: u64,
}

/// A volume: its size, how it is kept, and what of it is used or lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeStatus {
    /// Its name, which is also its NBD export name.
    pub name: String,
    /// Its number within the array.
    pub id: u32,
    /// What clients see as its size.
    pub size_bytes: u64,
    /// Live data in it; less than its size as long as parts were never written or were trimmed. Unknown while the array
    /// is stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
    /// NBD connections to it that are open now.
    pub connections: u32,
    /// Where a write is when it is answered.
    #[serde(default)]
    pub ack: Ack,
    /// On which media its blocks may be. Left out if on any.
    #[serde(default, skip_serializing_if = "Media::is_any")]
    pub media: Media,
    /// How many bytes have one entry in the map. Left out if every block of 4 KiB has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    /// Of a volume that is mapped by pages: bytes of it that have entries by 4 KiB all the same. Left out while the
    /// array is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_entries_bytes: Option<u64>,
    /// Of a hybrid volume: bytes of it that are on the faster of its media. Left out while the array is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_bytes: Option<u64>,
    /// Blocks that were written to it and lost with the caches of devices that lost power before a flush had covered them,
    /// since the array was opened. Left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_blocks: u64,
    /// Parts of it were given up by force, and what is not known to be whole is unreadable until it is written anew or
    /// discarded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
    /// Of a volume in doubt: bytes of it that are unreadable. Left out while the array is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable_bytes: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl VolumeStatus {
    /// One of which no more is known than this.
    pub fn bare(name: &str, id: VolumeId, size: ByteSize, acknowledged: Acknowledged) -> Self {
        Self {
            name: name.into(),
            id: id.0,
            size_bytes: size.0,
            used_bytes: None,
            connections: 0,
            ack: Ack(acknowledged),
            media: Media::Any,
            pages: None,
            own_entries_bytes: None,
            fast_bytes: None,
            lost_blocks: 0,
            in_doubt: false,
            unreadable_bytes: None,
        }
    }

    /// Whether some of it may be unreadable because it was given up.
    pub fn lacks_something(&self) -> bool {
        self.in_doubt && self.unreadable_bytes != Some(0)
    }
}

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// It goes on.
    Running,
    /// Ended with everything done.
    Done,
    /// Ended early because it could not go on.
    Failed,
    /// Ended early because an operator asked for it.
    Cancelled,
}

impl JobState {
    /// The word shown to people, the same as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Long work on an array: a rebuild, a scrub and the like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Its number, for asking and cancelling.
    pub id: u64,
    /// What it does: rebuild, catch-up, scrub, drain, retire.
    pub kind: String,
    /// What it is done to: a device, an R-group or the array.
    pub subject: String,
    /// Whether it runs, or how it has ended.
    pub state: JobState,
    /// Why it failed, in words; absent unless it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Bytes of live data that it has dealt with.
    pub done_bytes: u64,
    /// Bytes of live data in all, as far as known now.
    pub total_bytes: u64,
    /// Seconds that it has been running, or ran.
    pub elapsed_seconds: f64,
    /// Bytes of live data per second: lately while it runs, on average once it has ended.
    pub rate: f64,
    /// Seconds left at this rate; absent when it has ended or the rate is not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_seconds: Option<f64>,
}

impl JobStatus {
    /// How much of it is done, 0 to 100. All of nothing is all.
    pub fn percent(&self) -> f64 {
        match self.total_bytes {
            0 if self.state == JobState::Running => 0.0,
            0 => 100.0,
            total => self.done_bytes as f64 * 100.0 / total as f64,
        }
    }
}
