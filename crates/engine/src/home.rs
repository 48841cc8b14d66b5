//! What only the home reactor keeps: free space, the superblocks' contents, and who flushes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use cygnus_format::ArrayState;
use cygnus_runtime::{DeviceIx, Event};
use cygnus_types::{MemberIx, Uuid};

use crate::assemble::Returning;
use crate::haste::Guests;
use crate::health::History;
use crate::job::Jobs;
use crate::membership::Spare;
use crate::rebuild::Fill;
use crate::scrub::ScrubReport;
use crate::segments::SegIx;
use crate::space::Space;
use crate::throttle::ThrottleState;

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
    /// Segments that must not be given back now, because columns of them are being restored.
    pub pinned: RefCell<BTreeSet<SegIx>>,
    /// Segments that the cleaner is emptying; few.
    pub victims: RefCell<Vec<SegIx>>,
    /// What guests did lately in the groups being cleaned.
    pub guests: RefCell<[Guests; 2]>,
    /// Notified when a segment is not pinned any more.
    pub unpinned: Event,
    pub rebuilder_running: Cell<bool>,
    pub committing: Gate,
    pub flushing: Gate,
    /// A discard in a stripe below this sequence is covered by a checkpoint.
    pub discard_horizon: Cell<u64>,
    pub checkpointing: Cell<bool>,
    /// Somebody waits for the checkpoint that is under way or about to begin, or needs what it brings.
    pub checkpoint_awaited: Cell<bool>,
    /// Notified when a checkpoint has ended.
    pub checkpoint_done: Event,
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
    /// Tells the cleaner to end.
    pub stop: Cell<bool>,
    /// Notified when the cleaner has ended.
    pub cleaner_ended: Event,
    pub cleaner_running: Cell<bool>,
    /// Segments that were emptied are being given back.
    pub releasing: Cell<bool>,
}

impl Home {
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
            committing: Gate::default(),
            flushing: Gate::default(),
            discard_horizon: Cell::new(0),
            checkpointing: Cell::new(false),
            checkpoint_awaited: Cell::new(false),
            checkpoint_done: Event::new(),
            regrouping: Cell::new(false),
            retirers: Cell::new(0),
            deleting: Cell::new(0),
            throttle: ThrottleState::default(),
            jobs: Jobs::default(),
            health: RefCell::default(),
            scrubbing: Cell::new(None),
            scrub_report: RefCell::default(),
            scrub_ended: Event::new(),
            stop: Cell::new(false),
            cleaner_ended: Event::new(),
            cleaner_running: Cell::new(false),
            releasing: Cell::new(false),
        }
    }
}

/// Group commit: many ask, one works, and whoever asked before the work began shares its result.
#[derive(Default)]
pub(crate) struct Gate {
    running: Cell<bool>,
    started: Cell<u64>,
    finished: Cell<u64>,
    /// Outcome of the last round.
    failed: RefCell<Option<String>>,
    changed: Event,
}

impl Gate {
    /// Whether a round is under way.
    pub(crate) fn is_running(&self) -> bool {
        self.running.get()
    }

    /// Waits until a round of `work` that began after this call has ended, and gives its result. One of the callers
    /// does the work.
    pub(crate) async fn run<F: Future<Output = Result<(), String>>>(&self, work: impl Fn() -> F) -> Result<(), String> {
        // A round under way may have begun too early to cover us.
        let mine = self.started.get() + 1;
        loop {
            let changed = self.changed.wait();
            if self.finished.get() >= mine {
                return self.failed.borrow().clone().map_or(Ok(()), Err);
            }
            if self.running.get() {
                changed.await;
                continue;
            }
            // Dropped with this future, should its caller go away amid the round: then another one begins anew.
            let _turn = Round::begin(self);
            self.started.set(self.started.get() + 1);
            let round = self.started.get();
            let result = work().await;
            *self.failed.borrow_mut() = result.err();
            self.finished.set(round);
        }
    }
}

/// A round under way.
struct Round<'a>(&'a Gate);

impl<'a> Round<'a> {
    fn begin(gate: &'a Gate) -> Self {
        gate.running.set(true);
        Self(gate)
    }
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        self.0.running.set(false);
        self.0.changed.notify();
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn a_caller_that_goes_away_amid_its_round_leaves_the_gate_open() {
        let gate = Gate::default();
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = Box::pin(gate.run(std::future::pending));
        assert!(first.as_mut().poll(&mut cx).is_pending());
        let mut second = Box::pin(gate.run(|| async { Err("worked".into()) }));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        drop(first);
        assert_eq!(second.as_mut().poll(&mut cx), Poll::Ready(Err("worked".into())));
    }
}
