//! What only the home reactor keeps: free space, the superblocks' contents, and what each of its services knows.

use std::cell::{Cell, RefCell, RefMut};

use cygnus_format::ArrayState;
use cygnus_runtime::{Event, Rounds};
use cygnus_types::{MemberIx, Uuid};

use crate::care::fill::Fills;
use crate::care::health::History;
use crate::care::places::Places;
use crate::care::report::Scrubs;
use crate::care::spoils::Spoils;
use crate::care::watch::Watch;
use crate::clean::candidates::Candidates;
use crate::clean::cleaning::Cleaning;
use crate::clean::throttle::ThrottleState;
use crate::durable::checkpoints::Checkpoints;
use crate::durable::records::Records;
use crate::fault::Fault;
use crate::job::Jobs;
use crate::resize::regroup::Regroup;
use crate::shared::Shared;
use crate::space::manager::Space;
use crate::space::pins::Pins;

/// See the module's text.
pub(crate) struct Home {
    pub uuid: Uuid,
    /// What the next superblocks say.
    pub state: RefCell<ArrayState>,
    pub space: RefCell<Space>,
    /// Notified when a segment was sealed, freed or asked for, and when blocks were discarded: reasons to look again.
    pub space_changed: Event,
    /// Notified when a member has left service or wants to come in.
    pub members_changed: Event,
    /// Notified when something hot has found no room on flash.
    pub fast_is_full: Event,
    pub pins: Pins,
    pub cleaning: Cleaning,
    pub flushing: Rounds<Result<(), Fault>>,
    /// The next round of flush is about what clients have written, also in stripes that are open.
    pub flush_settles: Cell<bool>,
    /// The next round of flush is to leave no stripe open that only copies make safe.
    pub flush_closes: Cell<bool>,
    pub checkpoints: Checkpoints,
    pub records: Records,
    /// See [`crate::space::looks`].
    pub grace: Rounds<()>,
    pub regroup: Regroup,
    pub places: Places,
    pub fills: Fills,
    pub watch: Watch,
    pub spoils: Spoils,
    pub scrubs: Scrubs,
    pub throttle: ThrottleState,
    /// Long work, for those who ask how far it has come.
    pub jobs: Jobs,
    /// How the members' errors grew.
    pub health: RefCell<History>,
}

impl Home {
    /// Whether the array is being opened still: what torn stripes held is brought to safety, or the checkpoint after that is taken. Nobody
    /// but cleaning gives room then, and the opening ends with an error if there is none.
    pub(crate) fn is_opening(&self) -> bool {
        self.space.borrow().recovering || self.checkpoints.ends_opening.get()
    }

    /// The number of a member that has left with its group is another one's now, with which nothing went wrong yet.
    pub(crate) fn forget_member(&self, member: MemberIx) {
        self.watch.departures.borrow_mut().remove(&member);
        self.records.is_not_behind(member);
    }

    /// The segments that may be victims, as they are now, those among them that are being emptied or restored.
    pub(crate) fn candidates(&self, shared: &Shared) -> RefMut<'_, Candidates> {
        let mut candidates = self.cleaning.candidates.borrow_mut();
        candidates.look(&shared.segments, shared.layout.groups(), &self.checkpoints, &self.space.borrow().turn);
        candidates
    }

    pub(crate) fn new(space: Space, cleaning: Cleaning, state: ArrayState, uuid: Uuid, generation: u64) -> Self {
        Self {
            uuid,
            state: RefCell::new(state),
            space: RefCell::new(space),
            space_changed: Event::new(),
            members_changed: Event::new(),
            fast_is_full: Event::new(),
            pins: Pins::default(),
            cleaning,
            flushing: Rounds::default(),
            flush_settles: Cell::new(false),
            flush_closes: Cell::new(false),
            checkpoints: Checkpoints::default(),
            records: Records::new(generation),
            grace: Rounds::default(),
            regroup: Regroup::default(),
            places: Places::default(),
            fills: Fills::default(),
            watch: Watch::default(),
            spoils: Spoils::default(),
            scrubs: Scrubs::default(),
            throttle: ThrottleState::default(),
            jobs: Jobs::default(),
            health: RefCell::default(),
        }
    }
}
