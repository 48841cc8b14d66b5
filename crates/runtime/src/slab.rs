//! Operations in flight: who waits for each, since when, and how long that may take.
//!
//! Deadlines cost no timer of their own. The slab knows a time before which nothing can be overdue; only then does it
//! look at all of its slots, and sets the next such time. As most operations end long before their deadline, that is
//! about once per deadline's length, however many operations there are.

use std::task::Waker;

use cygnus_types::Nanos;

use crate::{DeviceIo, DeviceIx, DeviceLoad, IoClass, IoError, IoErrorKind, Op, OpId, Outcome, patience};

/// An operation that has taken this part of what it may take is worth telling: 7.5 s of 75 s. A healthy device takes seconds at
/// most, even behind a queue of its own.
const SLOW_SHARE: u64 = 10;

pub(crate) enum OpState {
    Free {
        next: Option<u32>,
    },
    Waiting(Option<Waker>),
    Ended(Result<Outcome, IoError>),
    /// The future was dropped, or told that the device hangs; the driver still holds the operation and its buffers.
    Abandoned,
    /// The device hangs: so the future will hear, while the driver still holds the operation and its buffers.
    GivenUp,
}

struct Slot {
    state: OpState,
    io: Option<DeviceIo>,
    began: Nanos,
    /// When the future wants to know that it is late.
    due: Nanos,
    /// It has been told.
    late: bool,
    /// When the device counts as hung.
    limit: Nanos,
    /// Whoever waited was told that the device hangs.
    given_up: bool,
}

/// See the module's text.
pub(crate) struct OpSlab {
    slots: Vec<Slot>,
    free: Option<u32>,
    /// How long a device may take for a read or write, and for other things by what they are.
    pub patience: Nanos,
    /// Device operations that the driver holds and that are not given up.
    watched: u32,
    /// Nothing is overdue before.
    look_at: Nanos,
    /// What each device has before it.
    loads: Vec<DeviceLoad>,
}

/// A device operation that the driver handed back.
pub(crate) struct EndedIo {
    pub io: DeviceIo,
    pub took: Nanos,
    pub result: Result<(), IoError>,
}

impl Default for OpSlab {
    fn default() -> Self {
        Self { slots: Vec::new(), free: None, patience: Nanos::MAX, watched: 0, look_at: Nanos::MAX, loads: Vec::new() }
    }
}

impl OpSlab {
    pub(crate) fn insert(&mut self, op: &Op, now: Nanos) -> OpId {
        let io = DeviceIo::of(op).map(|io| self.begins(io));
        self.insert_io(io, now)
    }

    /// One without a deadline, which no load counts.
    pub(crate) fn insert_unwatched(&mut self, now: Nanos) -> OpId {
        self.insert_io(None, now)
    }

    fn insert_io(&mut self, io: Option<DeviceIo>, now: Nanos) -> OpId {
        let limit = io.map_or(Nanos::MAX, |io| now.saturating_add(patience::limit(self.patience, &io)));
        self.watched += u32::from(io.is_some());
        self.look_at = self.look_at.min(limit);
        let (state, due) = (OpState::Waiting(None), Nanos::MAX);
        let slot = Slot { state, io, began: now, due, late: false, limit, given_up: false };
        match self.free {
            Some(ix) => {
                let OpState::Free { next } = self.slots[ix as usize].state else {
                    unreachable!("free list is corrupt")
                };
                self.free = next;
                self.slots[ix as usize] = slot;
                OpId(ix)
            }
            None => {
                self.slots.push(slot);
                OpId(self.slots.len() as u32 - 1)
            }
        }
    }

    /// The device has one operation more.
    fn begins(&mut self, io: DeviceIo) -> DeviceIo {
        let at = usize::from(io.dev.0);
        if self.loads.len() <= at {
            self.loads.resize(at + 1, DeviceLoad::default());
        }
        let ahead = self.loads[at];
        self.loads[at].add(&io);
        DeviceIo { ahead, ..io }
    }

    /// What a device has before it.
    pub(crate) fn load(&self, dev: DeviceIx) -> DeviceLoad {
        self.loads.get(usize::from(dev.0)).copied().unwrap_or_default()
    }

    /// Device operations that the driver holds, but those given up.
    pub(crate) fn under_way(&self) -> u32 {
        self.watched
    }

    pub(crate) fn state(&mut self, id: OpId) -> &mut OpState {
        &mut self.slots[id.0 as usize].state
    }

    /// When the operation was submitted.
    pub(crate) fn began(&self, id: OpId) -> Nanos {
        self.slots[id.0 as usize].began
    }

    pub(crate) fn release(&mut self, id: OpId) {
        self.slots[id.0 as usize].state = OpState::Free { next: self.free };
        self.free = Some(id.0);
    }

    /// Takes the driver's answer. Gives whom to wake, and what to tell of the device.
    pub(crate) fn complete(
        &mut self,
        id: OpId,
        result: Result<Outcome, IoError>,
        now: Nanos,
    ) -> (Option<Waker>, Option<EndedIo>) {
        let slot = &mut self.slots[id.0 as usize];
        let watched = slot.io.is_some() && !slot.given_up;
        let ended = slot.io.take().map(|io| EndedIo { io, took: now.since(slot.began), result: result.map(drop) });
        if watched {
            self.unwatch();
        }
        if let Some(ended) = &ended {
            self.loads[usize::from(ended.io.dev.0)].remove(&ended.io);
        }
        let slot = &mut self.slots[id.0 as usize];
        let waker = match std::mem::replace(&mut slot.state, OpState::Ended(result)) {
            OpState::Waiting(waker) => waker,
            OpState::GivenUp => None,
            OpState::Abandoned => {
                self.release(id);
                None
            }
            OpState::Free { .. } | OpState::Ended(_) => panic!("the driver completed operation {id:?} twice"),
        };
        (waker, ended)
    }

    fn unwatch(&mut self) {
        self.watched -= 1;
        if self.watched == 0 {
            self.look_at = Nanos::MAX;
        }
    }

    /// Wakes the operation's future at `due`, should it still wait then.
    pub(crate) fn set_due(&mut self, id: OpId, due: Nanos) {
        let slot = &mut self.slots[id.0 as usize];
        if slot.io.is_some() && matches!(slot.state, OpState::Waiting(_)) {
            (slot.due, slot.late) = (due, false);
            self.look_at = self.look_at.min(due);
        }
    }

    /// Whether the operation is late, by [`OpSlab::set_due`].
    pub(crate) fn is_late(&self, id: OpId, now: Nanos) -> bool {
        let slot = &self.slots[id.0 as usize];
        slot.late || slot.due <= now
    }

    /// Operations of a device that the driver holds.
    pub(crate) fn in_flight(&self, dev: DeviceIx) -> usize {
        self.load(dev).requests as usize
    }

    /// Of those that the driver holds the operations that may still change what the device holds.
    pub(crate) fn changes_in_flight(&self, dev: DeviceIx) -> usize {
        let changes = |io: &DeviceIo| io.dev == dev && io.class != IoClass::Read;
        self.slots.iter().filter(|slot| slot.io.as_ref().is_some_and(changes)).count()
    }

    /// How long the device's slowest operation has gone without an answer, if that is a tenth of what it may take or more.
    pub(crate) fn slow_to_answer(&self, dev: DeviceIx, now: Nanos) -> Option<Nanos> {
        let waits = |slot: &&Slot| !slot.given_up && slot.io.is_some_and(|io| io.dev == dev);
        let ages = self.slots.iter().filter(waits).map(|slot| (now.since(slot.began), slot.limit.since(slot.began)));
        ages.filter(|(age, patience)| age.0 > 0 && age.0 >= patience.0 / SLOW_SHARE).map(|(age, _)| age).max()
    }

    /// The reactor did not see what devices did during `span`: operations in flight count as submitted that much later. The
    /// time until a device hangs is taken from a turn all the same, lest a reactor whose turns are all too long never finds a
    /// device that hangs.
    pub(crate) fn forgive(&mut self, span: Nanos) {
        let later = |at: &mut Nanos, span| *at = at.saturating_add(span);
        let but_a_turn = span.since(patience::LONGEST_TURN);
        later(&mut self.look_at, but_a_turn);
        for slot in self.slots.iter_mut().filter(|slot| slot.io.is_some()) {
            later(&mut slot.began, span);
            later(&mut slot.due, span);
            later(&mut slot.limit, but_a_turn);
        }
    }

    /// When [`OpSlab::overdue`] wants to be called.
    pub(crate) fn look_at(&self) -> Option<Nanos> {
        (self.look_at != Nanos::MAX).then_some(self.look_at)
    }

    /// Wakes the futures that are late, and names an operation whose device hangs, if there is one, and since when.
    pub(crate) fn overdue(&mut self, now: Nanos) -> Option<(DeviceIo, Nanos)> {
        let mut hung = None;
        self.look_at = Nanos::MAX;
        for slot in &mut self.slots {
            let Some(io) = slot.io else { continue };
            if slot.due <= now {
                (slot.due, slot.late) = (Nanos::MAX, true);
                if let OpState::Waiting(Some(waker)) = &slot.state {
                    waker.wake_by_ref();
                }
            }
            if slot.limit <= now {
                hung = Some((io, slot.began));
            }
            self.look_at = self.look_at.min(slot.due).min(slot.limit);
        }
        hung
    }

    /// Tells everybody who waits for the device that it hangs. The driver keeps the operations.
    pub(crate) fn give_up(&mut self, dev: DeviceIx) {
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            if slot.io.is_none_or(|io| io.dev != dev) || std::mem::replace(&mut slot.given_up, true) {
                continue;
            }
            (slot.due, slot.limit) = (Nanos::MAX, Nanos::MAX);
            if let OpState::Waiting(waker) = &mut slot.state {
                let waker = waker.take();
                slot.state = OpState::GivenUp;
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            self.unwatch();
        }
    }

    /// What a future hears of an operation that was given up.
    pub(crate) fn hung() -> IoError {
        IoError::new(IoErrorKind::Hung)
    }
}
