//! What only the home reactor keeps: free space, the superblocks' contents, and who flushes.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cygnus_format::{ArrayState, Entry};
use cygnus_runtime::{DeviceIx, Event, Rounds};
use cygnus_types::{GroupId, MemberIx, Nanos, Uuid};

use crate::care::guardian::Care;
use crate::care::health::History;
use crate::care::membership::Spare;
use crate::care::rebuild::Fill;
use crate::care::scrub::ScrubReport;
use crate::clean::haste::Guests;
use crate::clean::throttle::ThrottleState;
use crate::job::Jobs;
use crate::recover::assemble::Returning;
use crate::space::manager::Space;
use crate::space::segments::SegIx;

/// See the module's text.
pub(crate) struct Home {
    pub space: RefCell<Space>,
    /// Notified when a segment was sealed, freed or asked for, and when blocks were discarded: reasons to look again.
    pub space_changed: Event,
    pub state: RefCell<ArrayState>,
    pub uuid: Uuid,
    /// Generation of the newest superblocks.
    pub generation: Cell<u64>,
    /// Notified when a member has left service or wants to come in.
    pub members_changed: Event,
    /// Spares that have become members, and of which no superblock says so yet.
    pub newcomers: RefCell<Vec<MemberIx>>,
    /// Membership that the newest superblocks reflect.
    pub recorded_membership: Cell<u64>,
    /// Devices kept ready for members that will be lost.
    pub spares: RefCell<Vec<Spare>>,
    /// Stale members that are to be brought up to date.
    pub arrivals: RefCell<Vec<Returning>>,
    /// Members for whose place a device is being made ready.
    pub claimed: RefCell<BTreeSet<MemberIx>>,
    /// Devices that are being made ready for some use.
    pub taken: RefCell<BTreeSet<DeviceIx>>,
    /// Members being filled.
    pub fills: RefCell<Vec<Rc<Fill>>>,
    /// Segments that must not be given back now, because columns of them are being restored, and by how many.
    pub pinned: RefCell<BTreeMap<SegIx, u32>>,
    /// Segments that the cleaner is emptying; few.
    pub victims: RefCell<Vec<SegIx>>,
    /// What guests did lately in the groups being cleaned.
    pub guests: RefCell<[Guests; 2]>,
    /// Notified when a segment is not pinned any more.
    pub unpinned: Event,
    pub rebuilder_running: Cell<bool>,
    pub committing: Rounds<Result<(), String>>,
    pub flushing: Rounds<Result<(), String>>,
    /// See [`crate::map::looks`].
    pub grace: Rounds<()>,
    /// A discard in a stripe below this sequence is covered by a checkpoint.
    pub discard_horizon: Cell<u64>,
    /// The superblocks say that stripes from this sequence on must be found, as far as no checkpoint covers them.
    pub counted_from: Cell<u64>,
    pub checkpointing: Rounds<Result<(), String>>,
    /// Tasks that wait for a checkpoint.
    pub checkpoint_waiters: Cell<u32>,
    /// Somebody needs what the checkpoint that is under way brings.
    pub checkpoint_needed: Cell<bool>,
    /// Whether groups are being added, or one is beginning to leave or leaving for good.
    pub regrouping: Cell<bool>,
    /// Groups whose data is being moved off.
    pub retirers: Cell<u32>,
    /// Volumes being deleted: their blocks count as live although nobody can move them.
    pub deleting: Cell<u32>,
    pub throttle: ThrottleState,
    /// Long work, for those who ask how far it has come.
    pub jobs: Jobs,
    /// How the members' errors grew.
    pub health: RefCell<History>,
    /// The job of the scrub that is under way.
    pub scrubbing: Cell<Option<u64>>,
    /// What the last one found.
    pub scrub_report: RefCell<Option<ScrubReport>>,
    /// Notified when one has ended.
    pub scrub_ended: Event,
    /// Members that are looked after.
    pub care: RefCell<BTreeMap<MemberIx, Care>>,
    /// How often members have left service because of trouble.
    pub departures: RefCell<BTreeMap<MemberIx, u32>>,
    /// Stripes of which blocks are lost with the caches of members, and what their headers say since.
    pub spoiled: RefCell<BTreeMap<u64, Vec<Entry>>>,
    /// How often a stripe was added to these.
    pub spoils: Cell<u64>,
    /// How often by the time of the newest checkpoint.
    pub spoils_on_record: Cell<u64>,
    /// Groups that wait for members, and since when.
    pub suspended: RefCell<BTreeMap<GroupId, Nanos>>,
    /// Members in service that did not get the newest superblocks, and the generation of the last that they got.
    pub behind: RefCell<BTreeMap<MemberIx, u64>>,
    /// The array has ended: nobody is looked after any more.
    pub ended: Cell<bool>,
    /// Why the array was given up while it waited for members.
    pub given_up: RefCell<Option<String>>,
    /// Tells the cleaner to end.
    pub stop: Cell<bool>,
    /// Notified when the cleaner has ended.
    pub cleaner_ended: Event,
    pub cleaner_running: Cell<bool>,
    /// Segments that were emptied are being given back.
    pub releasing: Cell<bool>,
}

impl Home {
    /// The number of a member that has left with its group is another one's now, with which nothing went wrong yet.
    pub(crate) fn forget_member(&self, member: MemberIx) {
        self.departures.borrow_mut().remove(&member);
        self.behind.borrow_mut().remove(&member);
    }

    pub(crate) fn new(space: Space, state: ArrayState, uuid: Uuid, generation: u64) -> Self {
        Self {
            space: RefCell::new(space),
            space_changed: Event::new(),
            state: RefCell::new(state),
            uuid,
            generation: Cell::new(generation),
            members_changed: Event::new(),
            newcomers: RefCell::default(),
            recorded_membership: Cell::new(0),
            spares: RefCell::default(),
            arrivals: RefCell::default(),
            claimed: RefCell::default(),
            taken: RefCell::default(),
            fills: RefCell::default(),
            pinned: RefCell::default(),
            victims: RefCell::default(),
            guests: RefCell::default(),
            unpinned: Event::new(),
            rebuilder_running: Cell::new(false),
            committing: Rounds::default(),
            flushing: Rounds::default(),
            grace: Rounds::default(),
            discard_horizon: Cell::new(0),
            counted_from: Cell::new(0),
            checkpointing: Rounds::default(),
            checkpoint_waiters: Cell::new(0),
            checkpoint_needed: Cell::new(false),
            regrouping: Cell::new(false),
            retirers: Cell::new(0),
            deleting: Cell::new(0),
            throttle: ThrottleState::default(),
            jobs: Jobs::default(),
            health: RefCell::default(),
            scrubbing: Cell::new(None),
            scrub_report: RefCell::default(),
            scrub_ended: Event::new(),
            care: RefCell::default(),
            departures: RefCell::default(),
            spoiled: RefCell::default(),
            spoils: Cell::new(0),
            spoils_on_record: Cell::new(0),
            suspended: RefCell::default(),
            behind: RefCell::default(),
            ended: Cell::new(false),
            given_up: RefCell::default(),
            stop: Cell::new(false),
            cleaner_ended: Event::new(),
            cleaner_running: Cell::new(false),
            releasing: Cell::new(false),
        }
    }
}
