//! What all reactors of one array share: maps, segment table, counters. Everything here is atomic or written before the
//! reactors start; there is no lock on the way of a read or a write.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, RwLock};

use cygnus_format::{GroupDesc, GroupState, Layout, MAX_GROUPS, MAX_MEMBERS, MapEntry, MemberErrors, Place};
use cygnus_policy::{HybridRule, Policies, UntilFull};
use cygnus_runtime::DeviceInfo;
use cygnus_types::{GroupId, Lba, Medium, MemberIx, Nanos, SegmentId, VolumeId};

use crate::autonomics::marks::Marks;
use crate::care::member::MemberShared;
use crate::care::suspension::Suspension;
use crate::counters::Totals;
use crate::durable::flush_numbers::FlushNumbers;
use crate::ending::Ending;
use crate::fault::Fault;
use crate::hybrid::temperatures::Temperatures;
use crate::log::{During, Log};
use crate::lsa::{Controllers, MapRule};
use crate::read::client_tally::ClientTallies;
use crate::space::crew::Crew;
use crate::space::grown::Grown;
use crate::space::held::{Held, Usable};
use crate::space::newest::NewestLayout;
use crate::space::protections::{Protections, Shapes};
use crate::space::segments::SegmentTable;
use crate::volume_state::VolumeState;
use crate::write::admission::Admission;
use crate::write::heat::HeatTable;
use crate::write::kept::Kept;
use crate::write::numbers::StripeNumbers;

/// An R-group as the reactors see it.
pub(crate) struct GroupShared {
    state: AtomicU8,
    medium: AtomicU8,
}

impl GroupShared {
    fn new((state, medium): (GroupState, Medium)) -> Self {
        Self { state: AtomicU8::new(state as u8), medium: AtomicU8::new(medium as u8) }
    }
}

/// See the module's text.
pub(crate) struct Shared {
    pub layout: Arc<NewestLayout>,
    pub protections: Protections,
    pub policies: Policies,
    /// The reactors that serve the array.
    pub crew: Crew,
    pub segments: Arc<SegmentTable>,
    pub members: Grown<MemberShared>,
    /// What the controllers of all volumes share.
    pub controllers: Controllers,
    /// Blocks that they hold, and may.
    pub held: Arc<Held>,
    pub array_tag: u64,
    /// Number of this opening of the array for writing.
    pub session: u64,
    pub totals: Totals,
    volumes: RwLock<BTreeMap<VolumeId, Arc<VolumeState>>>,
    /// The sequences of stripes.
    pub stripes: StripeNumbers,
    /// What a server that is killed leaves, if anything is kept.
    pub kept: OnceLock<Arc<Kept>>,
    durable: AtomicU64,
    /// Rounds of flush.
    pub flushes: FlushNumbers,
    /// Whether open stripes may be made safe by backups by now.
    two_phase: AtomicBool,
    /// What makes safe what stripes hold until they are full.
    pub until_full: UntilFull,
    /// Whether the descriptions of backups may be beside their copies.
    pub describes_beside: bool,
    /// How often ranges are written, if clients' writes go to streams by that.
    pub heat: Option<HeatTable>,
    /// How often ranges of hybrid volumes are read, where groups may be on different media.
    pub temperatures: Option<Temperatures>,
    /// What reactors find of contention, if data is to move out of its way.
    pub marks: Option<Marks>,
    /// Where writers wait when they are faster than cleaning.
    pub admission: Admission,
    /// Bytes put into stripes since the last checkpoint.
    pub since_checkpoint: AtomicU64,
    /// What clients' reads count, by reactor.
    pub clients: ClientTallies,
    groups: Grown<GroupShared>,
    /// Damaged segments that keep all that could give writers room; 0 while there is room.
    clogged: AtomicU32,
    /// Whether the array waits for members.
    pub suspension: Suspension,
    fault: RwLock<Option<Fault>>,
    faulted: AtomicBool,
    ending: Ending,
    /// Counts what changes about the members and does not show in [`MemberShared::changes`].
    other_changes: AtomicU64,
    log: Arc<dyn Log>,
}

/// What [`Shared::new`] takes.
pub(crate) struct SharedParts {
    pub layout: Layout,
    pub protections: Protections,
    /// One for each group of the layout.
    pub groups: Vec<(GroupState, Medium)>,
    pub policies: Policies,
    pub members: Vec<MemberShared>,
    pub array_tag: u64,
    pub until_full: UntilFull,
    pub describes_beside: bool,
    pub session: u64,
    pub usable: Usable,
    pub map: MapRule,
    pub first_write_seq: u64,
    pub first_stripe_seq: u64,
    pub crew: Crew,
    pub marks: Option<Marks>,
    pub hybrid: HybridRule,
    pub log: Arc<dyn Log>,
}

impl Shared {
    pub(crate) fn new(parts: SharedParts) -> Self {
        let layout = Arc::new(NewestLayout::new(parts.layout));
        let segments = Arc::new(SegmentTable::new(layout.clone()));
        let held = Arc::new(Held::new(parts.usable));
        for (group, &(_, medium)) in parts.groups.iter().enumerate().filter(|(_, (_, medium))| *medium != Medium::Flash)
        {
            segments.set_medium(GroupId(group as u16), medium);
            if parts.policies.mixes_media {
                held.count_media();
            }
        }
        Self {
            controllers: Controllers::new(parts.map, parts.first_write_seq, segments.clone(), held.clone()),
            held,
            segments,
            layout,
            protections: parts.protections,
            policies: parts.policies,
            crew: parts.crew,
            members: Grown::new(MAX_MEMBERS, parts.members),
            array_tag: parts.array_tag,
            session: parts.session,
            totals: Totals::default(),
            volumes: RwLock::default(),
            stripes: StripeNumbers::new(parts.first_stripe_seq, parts.crew.reactors),
            kept: OnceLock::new(),
            flushes: FlushNumbers::default(),
            two_phase: AtomicBool::new(false),
            until_full: parts.until_full,
            describes_beside: parts.describes_beside,
            durable: AtomicU64::new(parts.first_stripe_seq),
            heat: HeatTable::new(parts.policies.streams, parts.usable.total()),
            temperatures: parts.policies.mixes_media.then(|| Temperatures::new(parts.hybrid, parts.usable.total())),
            marks: parts.marks,
            admission: Admission::default(),
            since_checkpoint: AtomicU64::new(0),
            clients: ClientTallies::new(parts.crew.reactors),
            groups: Grown::new(MAX_GROUPS, parts.groups.into_iter().map(GroupShared::new)),
            clogged: AtomicU32::new(0),
            suspension: Suspension::new(),
            fault: RwLock::new(None),
            faulted: AtomicBool::new(false),
            ending: Ending::default(),
            other_changes: AtomicU64::new(0),
            log: parts.log,
        }
    }

    pub(crate) fn log(&self, text: impl AsRef<str>) {
        self.log.line(text.as_ref());
    }

    /// See [`Log::warning`].
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        self.log.warning(text.as_ref());
    }

    /// See [`Log::progress`].
    pub(crate) fn log_progress(&self, text: impl AsRef<str>) {
        self.log.progress(text.as_ref());
    }

    /// See [`Log::repeated`].
    pub(crate) fn log_repeated(&self, kind: &'static str, subject: &str, text: impl AsRef<str>) {
        self.log.repeated(kind, subject, text.as_ref());
    }

    /// Whether a map entry points to the `nth` row from a place on.
    pub(crate) fn lies_at(&self, entry: MapEntry, place: &Place, nth: usize) -> bool {
        entry.is_mapped() && entry.pba().0 == self.layout.pba(*place).0 + nth as u64
    }

    /// See [`Log::rehomed`].
    pub(crate) fn rehomed(&self, volume: VolumeId, lba: Lba, at: Nanos) {
        self.log.rehomed(volume, lba, at);
    }

    /// Tells that a step begins or ends.
    pub(crate) fn step(&self, name: &'static str, begins: bool) {
        self.log.step(name, begins);
    }

    /// Tells that a step begins, and that it has ended when the answer is dropped.
    pub(crate) fn during(&self, name: &'static str) -> During<'_> {
        During::new(&*self.log, name)
    }

    /// Something about the members has changed that the superblocks must say.
    pub(crate) fn membership_changed(&self) {
        self.other_changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts what has changed about the members. Superblocks written after it was read say all that it counts.
    ///
    /// A flush leaves out a member that it sees out of service, and may be answered only when that is on record: it reads
    /// this afterwards, and finds the departure counted, as a departure and its count are one change of one word.
    pub(crate) fn membership(&self) -> u64 {
        let departures: u64 = self.members.iter().map(MemberShared::changes).sum();
        departures + self.other_changes.load(Ordering::Acquire)
    }

    pub(crate) fn volume(&self, id: VolumeId) -> Option<Arc<VolumeState>> {
        self.volumes.read().expect("no holder panics").get(&id).cloned()
    }

    pub(crate) fn volume_named(&self, name: &str) -> Option<Arc<VolumeState>> {
        self.volumes.read().expect("no holder panics").values().find(|v| v.name == name).cloned()
    }

    pub(crate) fn volumes(&self) -> Vec<Arc<VolumeState>> {
        self.volumes.read().expect("no holder panics").values().cloned().collect()
    }

    pub(crate) fn add_volume(&self, volume: Arc<VolumeState>) {
        self.volumes.write().expect("no holder panics").insert(volume.id, volume);
    }

    pub(crate) fn remove_volume(&self, id: VolumeId) {
        self.volumes.write().expect("no holder panics").remove(&id);
    }

    /// Takes in a group that was added, with the devices of its members: under a number that no group has any more, or
    /// the next one.
    pub(crate) fn add_group(&self, group: GroupId, desc: &GroupDesc, devices: &[DeviceInfo]) {
        let layout = self.layout.with(group, desc.raid, &desc.extents).expect("the state was valid with this group");
        let (segments, durable) = (layout.segments(group), self.durable());
        // From the inside out: whoever finds the group in the layout finds all that belongs to it.
        if desc.medium != Medium::Flash && self.policies.mixes_media {
            self.held.count_media();
        }
        self.segments.take_in(layout.frames_of(group), (desc.medium, layout.shape(group).protection()));
        for (column, device) in (0..).zip(devices) {
            let ix = layout.member(group, column).index();
            match ix < self.members.len() {
                true => {
                    self.members[ix].begin_anew(device, segments, durable, self.clients.bytes_from(MemberIx(ix as u16)))
                }
                false => {
                    self.members.push(MemberShared::new(ix, Some(device), segments, durable, MemberErrors::default()))
                }
            }
        }
        if group.index() == self.groups.len() {
            self.groups.push(GroupShared::new((GroupState::InService, desc.medium)));
        }
        self.groups[group.index()].medium.store(desc.medium as u8, Ordering::Release);
        self.layout.becomes(layout);
        self.set_group_state(group, GroupState::InService);
    }

    /// Gives up the addresses of a group that has left, to which nothing refers any more.
    pub(crate) fn drop_group(&self, group: GroupId) {
        self.layout.becomes(self.layout.without(group));
    }

    /// Whether a group takes part, and how.
    pub(crate) fn group_state(&self, group: GroupId) -> GroupState {
        let byte = self.groups[group.index()].state.load(Ordering::Acquire);
        GroupState::from_byte(byte).expect("only states are stored")
    }

    /// The shapes that segments of a group may have.
    #[inline]
    pub(crate) fn shapes(&self, group: GroupId) -> &Shapes {
        self.protections.on(self.medium(group))
    }

    /// What a group stores on.
    pub(crate) fn medium(&self, group: GroupId) -> Medium {
        let byte = self.groups[group.index()].medium.load(Ordering::Acquire);
        Medium::from_byte(byte).expect("only media are stored")
    }

    pub(crate) fn set_group_state(&self, group: GroupId, state: GroupState) {
        self.groups[group.index()].state.store(state as u8, Ordering::Release);
    }

    /// The groups of this state.
    pub(crate) fn groups_in(&self, state: GroupState) -> impl Iterator<Item = GroupId> {
        let all = (0..self.layout.groups()).map(|group| GroupId(group as u16));
        all.filter(move |&group| self.group_state(group) == state)
    }

    /// Damaged segments that keep all that could give writers room; 0 while there is room.
    #[inline]
    pub(crate) fn clogged(&self) -> u32 {
        self.clogged.load(Ordering::Relaxed)
    }

    pub(crate) fn set_clogged(&self, segments: u32) {
        self.clogged.store(segments, Ordering::Relaxed);
    }

    /// Every stripe below this sequence is durable on all members in service.
    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Whether open stripes may be made safe by copies: members have room for these, and recovery, which goes by what is there of
    /// an earlier session, is over.
    pub(crate) fn is_two_phase(&self) -> bool {
        self.two_phase.load(Ordering::Acquire)
    }

    /// Recovery is over.
    pub(crate) fn begin_two_phase(&self) {
        self.two_phase.store(self.layout.geometry().transient_blocks > 0, Ordering::Release);
    }

    /// The part of each member's transient area that a reactor writes.
    pub(crate) fn transient_part(&self, reactor: usize) -> Range<u32> {
        let part = self.layout.geometry().transient_blocks / self.stripes.reactors() as u32;
        part * reactor as u32..part * (reactor as u32 + 1)
    }

    pub(crate) fn set_durable(&self, below: u64) {
        self.durable.fetch_max(below, Ordering::AcqRel);
    }

    /// The member that holds a column of a group.
    #[inline]
    pub(crate) fn member(&self, group: GroupId, column: u8) -> (MemberIx, &MemberShared) {
        let ix = self.layout.member(group, column);
        (ix, &self.members[ix.index()])
    }

    /// Members of a group that do not hold everything they should. Of a retired group nothing is missed.
    pub(crate) fn lacking_in(&self, group: GroupId) -> usize {
        if self.group_state(group) == GroupState::Retired {
            return 0;
        }
        (0..self.layout.width(group)).filter(|&c| !self.member(group, c).1.is_online()).count()
    }

    /// A segment begins a new life: whoever is being filled has its column from the first stripe on.
    pub(crate) fn begin_segment(&self, group: GroupId, segment: SegmentId) {
        for column in 0..self.layout.width(group) {
            let (_, member) = self.member(group, column);
            member.set_whole(segment, member.is_filled());
        }
    }

    /// Stops all writing for good, with the first reason given.
    pub(crate) fn set_fault(&self, why: String) {
        self.fault.write().expect("no holder panics").get_or_insert(Fault(why));
        self.faulted.store(true, Ordering::Release);
    }

    /// Why the array takes no writes, if it does not.
    pub(crate) fn fault(&self) -> Option<Fault> {
        if !self.faulted.load(Ordering::Acquire) {
            return None;
        }
        self.fault.read().expect("no holder panics").clone()
    }

    /// An error if the array takes no writes.
    pub(crate) fn check_fault(&self) -> Result<(), Fault> {
        self.fault().map_or(Ok(()), Err)
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.faulted.load(Ordering::Relaxed) || self.is_closed()
    }

    /// See [`Ending::has_begun`].
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.has_begun()
    }

    /// See [`Ending::set_begun`].
    pub(crate) fn set_ending(&self, ending: bool) {
        self.ending.set_begun(ending);
    }

    /// See [`Ending::set_closed`].
    pub(crate) fn set_closed(&self) {
        self.ending.set_closed();
    }

    /// See [`Ending::is_closed`].
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.ending.is_closed()
    }

    /// Gives back parts of the maps that were replaced, while nobody else serves the array yet.
    pub(crate) fn settle_maps(&self) {
        self.begin_settling_maps();
        self.end_settling_maps();
    }

    /// What was replaced in the maps until now can go when all reactors have answered a message from now on.
    pub(crate) fn begin_settling_maps(&self) {
        let volumes = self.volumes();
        self.controllers.begin_settling(volumes.iter().map(|volume| &volume.controller));
    }

    /// They have.
    pub(crate) fn end_settling_maps(&self) {
        let volumes = self.volumes();
        self.controllers.end_settling(volumes.iter().map(|volume| &volume.controller));
    }
}
