//! What an array says of itself.

use cygnus_format::{GroupState, Losses, MemberErrors, MemberState, Raid, SpareDesc};
use cygnus_policy::{Streams, Suspicion, UntilFull, Victim};
use cygnus_runtime::{Capabilities, ZoneCounts};
use cygnus_types::{
    Acknowledged, BLOCK, ByteSize, Constraint, GroupId, Lba, Medium, MemberIx, Nanos, Paging, Uuid, VolumeId,
};

use crate::autonomics::report::{self, AutonomicsStatus};
use crate::care::member::Departure;
use crate::care::member_state::{self, ArrayHealth, Serves};
use crate::care::places::Spare;
use crate::care::seats::Seats;
use crate::care::suspect::Suspicions;
use crate::care::suspension::Suspended;
use crate::care::trouble::Trouble;
use crate::counters::{MemberCounters, read};
use crate::reactor::Reactor;
use crate::read::pace::MemberPace;
use crate::space::role::GroupRole;
use crate::space::segments::SegState;
use crate::space::shortage::Shortage;
use crate::volume_state::VolumeState;
use crate::write::kept::KeptStatus;

/// State of an array at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArrayStatus {
    /// Name.
    pub name: String,
    /// Identity.
    pub uuid: Uuid,
    /// Preset it was created with.
    pub preset: String,
    /// Which segments are cleaned first.
    pub cleaning: Victim,
    /// The same of groups on these media, where it is another rule.
    pub cleaning_on: Vec<(Medium, Victim)>,
    /// Which of clients' writes share segments.
    pub streams: Streams,
    /// Data columns of each group, k.
    pub data: u8,
    /// Parity columns of each group, m.
    pub parity: u8,
    /// Striping unit.
    pub chunk: ByteSize,
    /// Segment column.
    pub segment: ByteSize,
    /// Each member's transient area; 0: stripes are closed to make safe what they hold.
    pub transient: ByteSize,
    /// What makes safe what stripes hold until they are full.
    pub until_full: UntilFull,
    /// What volumes may hold.
    pub usable: ByteSize,
    /// What volumes hold.
    pub mapped: ByteSize,
    /// The same of each medium that some group is on which takes part.
    pub media: Vec<MediumStatus>,
    /// Why the array takes no writes, if so.
    pub fault: Option<String>,
    /// Segments kept by blocks that cannot be read, if these are why there is no room for writes; else 0.
    pub clogged: u32,
    /// Clients' writes that wait for a segment, if they have waited long.
    pub shortage: Option<Shortage>,
    /// What each written block costs its writer in nanoseconds while writers are faster than cleaning, otherwise 0.
    pub pressure_ns: u64,
    /// Number of this opening.
    pub session: u64,
    /// End of the last whole scrub in seconds since 1970 UTC, 0 if there never was one.
    pub last_scrub_unix: u64,
    /// Blocks known to be beyond redundancy.
    pub losses: Losses,
    /// For whom it waits, if it is suspended.
    pub suspended: Option<Suspended>,
    /// For how long it has been so.
    pub suspended_for: Nanos,
    /// How long requests wait for members; [`Nanos::MAX`]: as long as it takes.
    pub requests_wait: Nanos,
    /// Groups.
    pub groups: Vec<GroupStatus>,
    /// Where what is on its way to the devices outlasts the process, if it does.
    pub kept: Option<KeptStatus>,
    /// How it is as a whole.
    pub health: ArrayHealth,
    /// Members, in order.
    pub members: Vec<MemberStatus>,
    /// Spares.
    pub spares: Vec<SpareStatus>,
    /// Volumes.
    pub volumes: Vec<VolumeStatus>,
    /// A device without an answer for so long goes out of service.
    pub hung_after: Nanos,
    /// How data moves out of the way of contention, if it does.
    pub autonomics: Option<AutonomicsStatus>,
    /// Traffic since opening.
    pub traffic: Traffic,
}

/// State of an R-group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GroupStatus {
    /// Which.
    pub id: GroupId,
    /// Whether it takes part.
    pub state: GroupState,
    /// What its members store on.
    pub medium: Medium,
    /// How many columns it has.
    pub raid: Raid,
    /// What it does.
    pub role: GroupRole,
    /// Segments by state.
    pub free: u32,
    /// Segments being filled.
    pub open: u32,
    /// Segments full.
    pub sealed: u32,
    /// Segments emptied, waiting for a flush.
    pub pending: u32,
    /// Segments with checkpoints.
    pub meta: u32,
    /// Segments with unreadable blocks.
    pub damaged: u32,
    /// Segments that are empty and not given out, because the group is leaving or has left.
    pub withheld: u32,
    /// Blocks of current data.
    pub live_blocks: u64,
    /// Blocks of data that its segments can hold.
    pub capacity_blocks: u64,
}

/// State of a member.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemberStatus {
    /// Which.
    pub member: MemberIx,
    /// Its group.
    pub group: GroupId,
    /// Path, or "member N" if it is missing.
    pub name: String,
    /// Path of the spare that is being filled to take over from it.
    pub successor: Option<String>,
    /// Identity.
    pub uuid: Uuid,
    /// Size.
    pub size: ByteSize,
    /// Whether it takes part, and how.
    pub state: MemberState,
    /// What its device did not do; of one that is missing, the reason why, if it was there when the array was opened.
    pub trouble: Option<Trouble>,
    /// What its device is and what it can do, while it is in service.
    pub capabilities: Option<Capabilities>,
    /// How far its zones are written, of a device that is written in order, while it is in service.
    pub zones: Option<ZoneCounts>,
    /// Bytes written by the array.
    pub written: u64,
    /// Bytes read for clients.
    pub read: u64,
    /// Bytes read for cleaning.
    pub cleaning_read: u64,
    /// Bytes read for scrubs.
    pub scrub_read: u64,
    /// Bytes discarded.
    pub trimmed: u64,
    /// How it keeps pace.
    pub pace: MemberPace,
    /// For how long it has owed the home reactor an answer, if that is a sizeable part of what it is given.
    pub slow_to_answer: Option<Nanos>,
    /// What went wrong with it since the array was opened.
    pub errors: ErrorCounts,
    /// What went wrong with it since it joined the array, as its superblock remembers it: never less than `errors` says,
    /// as far as a byte holds.
    pub lifetime: MemberErrors,
    /// Whether it should be replaced before it fails, and why.
    pub suspect: Option<Suspicion>,
}

/// What went wrong with a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorCounts {
    /// Reads that it answered with an error.
    pub read: u64,
    /// How often it began to answer writes and flushes with errors.
    pub write: u64,
    /// Blocks of data and copies of headers that were not what had been written.
    pub wrong: u64,
    /// Parity blocks that were not what their row gives.
    pub parity: u64,
    /// Blocks of it that were rebuilt and written anew elsewhere.
    pub repaired: u64,
    /// Blocks of it that could not be rebuilt; each time that one was asked for counts.
    pub unrepairable: u64,
}

impl MemberStatus {
    /// Whether it holds everything it should.
    pub fn is_online(&self) -> bool {
        self.state == MemberState::Online
    }
}

/// A spare.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpareStatus {
    /// Path; `None` if it was not there when the array was opened.
    pub name: Option<String>,
    /// Identity.
    pub uuid: Uuid,
    /// Size.
    pub size: ByteSize,
}

impl SpareStatus {
    fn new(desc: &SpareDesc, present: &[Spare]) -> Self {
        let found = present.iter().find(|spare| spare.uuid == desc.uuid);
        let name = found.map(|spare| spare.device.name.clone());
        Self { name, uuid: desc.uuid, size: ByteSize(desc.size_bytes) }
    }
}

/// State of a volume.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VolumeStatus {
    /// Which.
    pub id: VolumeId,
    /// Name.
    pub name: String,
    /// Size.
    pub size: ByteSize,
    /// Data held.
    pub mapped: ByteSize,
    /// Where a write is when it is answered.
    pub acknowledged: Acknowledged,
    /// On which media its blocks may be.
    pub constraint: Constraint,
    /// For how many of its blocks the map has one entry.
    pub paging: Paging,
    /// Of a volume that is mapped by pages: blocks that have entries of their own.
    pub own_entries: u64,
    /// Of a hybrid volume: what of its data is on the faster of its media; blocks whose data is lost count as on flash.
    pub on_fast: Option<ByteSize>,
    /// Blocks that were acknowledged and are lost with the caches of devices, since the array was opened.
    pub lost: u64,
    /// Of a volume in doubt: what nobody knows the contents of, since parts of it were given up by force. It is unreadable
    /// until it is written anew or discarded.
    pub unknown: Option<ByteSize>,
}

/// What lies on a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediumStatus {
    /// The medium.
    pub medium: Medium,
    /// What volumes may hold there.
    pub usable: ByteSize,
    /// What they hold there; blocks whose data is lost count as on flash.
    pub mapped: ByteSize,
}

/// Counts since the array was opened. Blocks of 4 KiB where not said otherwise.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Traffic {
    /// Written by clients.
    pub client_written: u64,
    /// Read by clients.
    pub user_read: u64,
    /// Moved by cleaning.
    pub relocated: u64,
    /// Moved out of the way of contention, and from one medium to another beside cleaning.
    pub rehomed: u64,
    /// Of hybrid volumes: moved to the faster medium since it was often read.
    pub promoted: u64,
    /// Of hybrid volumes: moved to the slower medium since it is read no more.
    pub demoted: u64,
    /// Reads of hybrid volumes' hot ranges that found no room on the faster medium.
    pub not_promoted: u64,
    /// Of what clients wrote to volumes that prefer a medium, what went to another one.
    pub fell_back: u64,
    /// Pages of checkpoints.
    pub checkpoint_written: u64,
    /// Parity.
    pub parity_written: u64,
    /// Stripe headers.
    pub header_written: u64,
    /// Zeros in stripes closed early.
    pub padding_written: u64,
    /// Copies that make open stripes safe, with what says so.
    pub backup_written: u64,
    /// Of these, parity of rows in place of copies.
    pub backup_parity: u64,
    /// Of these, copies that have what describes them beside them, on devices that store bytes beside blocks.
    pub described_beside: u64,
    /// Parity that members computed inside from copies, which nobody sent them.
    pub converted_inside: u64,
    /// Parity of stripes that had copies, computed here and sent.
    pub converted_here: u64,
    /// Stripes whose conversion has waited.
    pub postponed: u64,
    /// Of these, stripes that wait still.
    pub waiting: u64,
    /// Written anew after wrong data was found.
    pub repaired: u64,
    /// Rebuilt from other columns, because the block or its member was not there.
    pub reconstructed: u64,
    /// Beyond redundancy.
    pub unreadable: u64,
    /// Blocks of late reads that were asked of the other columns too.
    pub hedged: u64,
    /// Blocks asked of the other columns at once, because their member is slow.
    pub read_around: u64,
    /// Messages by which readers asked another reactor for blocks that were not on the devices yet.
    pub asked: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Segments cleaned.
    pub victims: u64,
    /// Of these, in a second group that was cleaned beside the first.
    pub victims_beside: u64,
    /// Those that other reactors than the home one emptied.
    pub victims_helped: u64,
    /// Valid blocks that they held.
    pub victim_live: u64,
    /// Blocks that they could hold.
    pub victim_capacity: u64,
    /// Checkpoints taken.
    pub checkpoints: u64,
    /// Changes of the front-end.
    pub rotations: u64,
    /// Groups emptied and discarded as a whole.
    pub evacuations: u64,
    /// Groups of which that was given up for want of room.
    pub evacuations_given_up: u64,
}

impl Traffic {
    /// Blocks written to the devices for each block written by clients.
    pub fn write_amplification(&self) -> f64 {
        let all = self.client_written
            + self.relocated
            + self.rehomed
            + self.checkpoint_written
            + self.parity_written
            + self.header_written
            + self.padding_written
            + self.backup_written;
        all as f64 / (self.client_written.max(1)) as f64
    }

    /// Data blocks written (clients' and moved) for each block written by clients: what cleaning alone costs.
    pub fn cleaning_amplification(&self) -> f64 {
        (self.client_written + self.relocated) as f64 / (self.client_written.max(1)) as f64
    }
}

/// Collects the state of everything.
pub(crate) struct Overview<'a> {
    reactor: &'a Reactor,
}

impl<'a> Overview<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    pub(crate) fn traffic(&self) -> Traffic {
        let t = &self.reactor.shared.totals;
        Traffic {
            client_written: read(&t.client_written),
            user_read: self.reactor.shared.clients.blocks(),
            relocated: read(&t.relocated),
            rehomed: read(&t.rehomed),
            promoted: read(&t.promoted),
            demoted: read(&t.demoted),
            not_promoted: read(&t.not_promoted),
            fell_back: read(&t.fell_back),
            checkpoint_written: read(&t.checkpoint_written),
            parity_written: read(&t.parity_written),
            header_written: read(&t.header_written),
            padding_written: read(&t.padding_written),
            backup_written: read(&t.backup_written),
            backup_parity: read(&t.backup_parity),
            described_beside: read(&t.described_beside),
            converted_inside: read(&t.converted_inside),
            converted_here: read(&t.converted_here),
            postponed: read(&t.postponed),
            waiting: read(&t.postponed).saturating_sub(read(&t.postponed_ended)),
            repaired: read(&t.repaired),
            reconstructed: read(&t.reconstructed),
            unreadable: read(&t.unreadable),
            hedged: read(&t.hedged),
            read_around: read(&t.read_around),
            asked: read(&t.asked),
            flushes: read(&t.flushes),
            victims: read(&t.victims),
            victims_beside: read(&t.victims_beside),
            victims_helped: read(&t.victims_helped),
            victim_live: read(&t.victim_live),
            victim_capacity: read(&t.victim_capacity),
            checkpoints: read(&t.checkpoints),
            rotations: read(&t.rotations),
            evacuations: read(&t.evacuations),
            evacuations_given_up: read(&t.evacuations_given_up),
        }
    }

    pub(crate) fn status(&self) -> ArrayStatus {
        Suspicions::of(self.reactor).note_health();
        let shared = &self.reactor.shared;
        let home = self.reactor.home();
        let losses = home.scrubs.note_losses(&mut home.state.borrow_mut().losses, &shared.totals);
        let state = home.state.borrow();
        let geometry = shared.layout.geometry();
        let blocks = |n: u64| ByteSize(n * BLOCK as u64);
        let members: Vec<_> = state.members().enumerate().map(|(ix, desc)| self.member_status(ix, desc)).collect();
        let there = members.iter().filter(|m| !state.has_left(m.member));
        let suspended = shared.suspension.get();
        let serves = match (shared.fault(), &suspended) {
            (Some(_), _) => Serves::Reads,
            (None, Some(_)) => Serves::WhenMembersAreBack,
            (None, None) => Serves::All,
        };
        ArrayStatus {
            health: member_state::health(there.map(|m| m.state), serves),
            suspended_for: suspended.as_ref().map_or(Nanos::ZERO, |of| self.reactor.rt.now().since(of.since)),
            suspended,
            requests_wait: shared.suspension.requests_wait(),
            kept: shared.kept.get().map(|kept| kept.status()),
            spares: state
                .spares
                .iter()
                .map(|desc| SpareStatus::new(desc, &self.reactor.home().places.spares.borrow()))
                .collect(),
            name: state.name.clone(),
            uuid: self.reactor.home().uuid,
            preset: state.preset.clone(),
            cleaning: shared.policies.victim,
            cleaning_on: shared.policies.rules().on,
            streams: shared.policies.streams,
            data: geometry.data,
            parity: geometry.parity,
            chunk: blocks(geometry.chunk_blocks.into()),
            segment: ByteSize(geometry.segment_bytes()),
            transient: blocks(geometry.transient_blocks.into()),
            until_full: shared.until_full,
            usable: blocks(shared.held.usable()),
            mapped: blocks(shared.held.blocks()),
            media: shared.held.media().map(|medium| self.medium_status(medium)).collect(),
            fault: shared.fault().map(|fault| fault.to_string()),
            clogged: shared.clogged(),
            shortage: Shortage::of(shared, &self.reactor.home().space.borrow(), self.reactor.rt.now()),
            pressure_ns: shared.admission.delay().max(shared.admission.interval()).0,
            session: shared.session,
            last_scrub_unix: state.last_scrub_unix,
            losses,
            groups: (0..shared.layout.groups()).map(|g| self.group_status(g)).collect(),
            members,
            volumes: shared
                .volumes()
                .iter()
                .map(|v| VolumeStatus {
                    id: v.id,
                    name: v.name.clone(),
                    size: v.size(),
                    mapped: blocks(v.controller.held()),
                    acknowledged: v.acknowledged(),
                    constraint: v.constraint,
                    paging: v.paging,
                    own_entries: v.controller.own_entries(),
                    on_fast: v.constraint.tiers().map(|tiers| blocks(v.controller.held_on(tiers.fast()))),
                    lost: v.lost(),
                    unknown: v
                        .controller
                        .is_in_doubt()
                        .then(|| blocks(v.blocks().saturating_sub(v.controller.known()))),
                })
                .collect(),
            hung_after: self.reactor.rt.patience(),
            autonomics: report::status(self.reactor),
            traffic: self.traffic(),
        }
    }

    /// What the group that holds a block is doing; `None` if the block is not mapped.
    pub(crate) fn role_at(&self, volume: &VolumeState, lba: Lba) -> Option<GroupRole> {
        let is_inside = lba.0 < volume.blocks();
        let entry = if is_inside { volume.controller.locate(lba) } else { return None };
        entry.is_mapped().then(|| self.reactor.home().space.borrow().role(self.reactor.place(entry).group.index()))
    }

    fn medium_status(&self, medium: Medium) -> MediumStatus {
        let held = &self.reactor.shared.held;
        let (usable, mapped) = (ByteSize::of_blocks(held.usable_on(medium)), ByteSize::of_blocks(held.on(medium)));
        MediumStatus { medium, usable, mapped }
    }

    fn group_status(&self, group: usize) -> GroupStatus {
        let (shared, space) = (&self.reactor.shared, self.reactor.home().space.borrow());
        let id = GroupId(group as u16);
        let count = |state| shared.segments.of_group(id).filter(|&s| shared.segments.state(s) == state).count() as u32;
        let settled = shared.segments.of_group(id).filter(|&s| shared.segments.state(s) != SegState::Open);
        GroupStatus {
            id,
            state: shared.group_state(id),
            medium: shared.medium(id),
            raid: shared.layout.shape(id).raid(),
            role: space.role(group),
            free: count(SegState::Free),
            open: count(SegState::Open),
            sealed: count(SegState::Sealed),
            pending: count(SegState::Pending),
            meta: count(SegState::Meta),
            damaged: count(SegState::Damaged),
            withheld: count(SegState::Withheld),
            live_blocks: settled.map(|s| u64::from(shared.segments.live(s))).sum(),
            capacity_blocks: u64::from(shared.layout.segments(id)) * u64::from(shared.shapes(id).capacity()),
        }
    }

    fn member_status(&self, ix: usize, desc: &cygnus_format::MemberDesc) -> MemberStatus {
        let member = MemberIx(ix as u16);
        let state = &self.reactor.shared.members[ix];
        MemberStatus {
            member,
            group: self.reactor.shared.layout.column_of(member).0,
            name: state.name(),
            successor: Seats::of(self.reactor).successor_name(member),
            uuid: desc.uuid,
            size: ByteSize(desc.size_bytes),
            // The superblocks may not know yet that it has left.
            state: match state.departed() {
                Some((departed, _)) if desc.state != MemberState::Failed => departed,
                _ => desc.state,
            },
            trouble: match (state.trouble(), state.departed(), state.departure()) {
                (None, Some(_), Departure::Trouble(trouble)) => Some(trouble),
                (trouble, ..) => trouble,
            },
            capabilities: self.reactor.device_in_service(member).map(|dev| self.reactor.rt.capabilities(dev)),
            zones: self.reactor.device_in_service(member).and_then(|dev| self.reactor.rt.zone_counts(dev)),
            written: read(&state.counters.written),
            read: self.reactor.shared.clients.bytes_from(member).saturating_sub(read(&state.counters.read_before)),
            cleaning_read: read(&state.counters.cleaning_read),
            scrub_read: read(&state.counters.scrub_read),
            trimmed: read(&state.counters.trimmed),
            pace: self.reactor.member_pace(member),
            slow_to_answer: self.reactor.device_in_service(member).and_then(|dev| self.reactor.rt.slow_to_answer(dev)),
            errors: error_counts(&state.counters),
            lifetime: state.errors(self.reactor.turned_slow(member)),
            suspect: Suspicions::of(self.reactor).suspicion(member),
        }
    }
}

fn error_counts(counters: &MemberCounters) -> ErrorCounts {
    ErrorCounts {
        read: read(&counters.read_errors),
        write: read(&counters.write_errors),
        wrong: read(&counters.corrupt),
        parity: read(&counters.bad_parity),
        repaired: read(&counters.repaired),
        unrepairable: read(&counters.unrepairable),
    }
}
