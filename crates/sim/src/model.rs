//! Devices whose time is told by a model of an SSD instead of a formula.
//!
//! A model knows nothing of contents or faults: those stay with [`crate::disk`], as for every device. It is given each
//! admitted operation and says when that ends.

use cygnus_ssd::{Command, Counters, Device, Done, Ssd};
use cygnus_types::{BLOCK, Nanos};

use crate::agenda::Agenda;
use crate::disk::Action;

/// A model, and its clock beside the world's.
struct Modelled {
    ssd: Ssd,
    /// What its clock is ahead of the world's: it settles in no time while the power is off.
    ahead: Nanos,
}

/// The models of a world's devices.
#[derive(Default)]
pub(crate) struct Models {
    models: Vec<Modelled>,
    /// By device, the place of its model.
    places: Vec<Option<u32>>,
    agenda: Agenda,
    done: Vec<Done>,
}

fn command(action: &Action) -> Option<Command> {
    let blocks = |len: u64| u32::try_from(len / BLOCK as u64).ok().filter(|&blocks| blocks > 0);
    Some(match action {
        Action::Read { offset, buf } => Command::Read { lba: offset / BLOCK as u64, blocks: blocks(buf.len() as u64)? },
        Action::Write { offset, buf } => Command::write(offset / BLOCK as u64, blocks(buf.len() as u64)?),
        Action::Trim { offset, len } => Command::Trim { lba: offset / BLOCK as u64, blocks: blocks(*len)? },
        Action::Flush { .. } => Command::Flush,
        Action::Refused(_) => return None,
    })
}

impl Models {
    /// Registers the next device of the world.
    pub(crate) fn add(&mut self, ssd: Option<Ssd>) {
        let place = ssd.map(|ssd| {
            self.models.push(Modelled { ssd, ahead: Nanos::ZERO });
            self.agenda.add();
            self.models.len() as u32 - 1
        });
        self.places.push(place);
    }

    /// Gives an operation to its device's model; `false` if there is none, or nothing for it to do.
    pub(crate) fn submit(&mut self, device: usize, now: Nanos, id: u64, action: &Action) -> bool {
        let Some(place) = self.places[device] else { return false };
        let Some(command) = command(action) else { return false };
        let model = &mut self.models[place as usize];
        model.ssd.submit(now + model.ahead, id, command);
        self.reschedule(place as usize);
        true
    }

    fn reschedule(&mut self, place: usize) {
        let model = &self.models[place];
        self.agenda.set(place, model.ssd.next_event().map(|at| Nanos(at.0 - model.ahead.0)));
    }

    /// When something happens next in any of them.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        self.agenda.next().map(|(at, _)| at)
    }

    /// Lets the next event happen and moves what completed by it into `ended`, as the ids that were submitted.
    pub(crate) fn step(&mut self, ended: &mut Vec<u64>) {
        let Some((at, place)) = self.agenda.next() else { return };
        let model = &mut self.models[place];
        model.ssd.advance(at + model.ahead, &mut self.done);
        ended.extend(self.done.drain(..).map(|done| done.id));
        self.reschedule(place);
    }

    /// The power is off: whatever was in flight comes to nothing, and the devices are quiet when it returns.
    pub(crate) fn settle(&mut self, now: Nanos) {
        for place in 0..self.models.len() {
            let model = &mut self.models[place];
            while let Some(next) = model.ssd.next_event() {
                model.ssd.advance(next, &mut self.done);
                model.ahead = Nanos(model.ahead.0.max(next.0.saturating_sub(now.0)));
            }
            self.reschedule(place);
        }
        self.done.clear();
    }

    /// What a device's model has counted, if it has one.
    pub(crate) fn counters(&self, device: usize) -> Option<Counters> {
        let place = self.places[device]?;
        Some(*self.models[place as usize].ssd.counters())
    }

    /// Events of all models so far.
    pub(crate) fn events(&self) -> u64 {
        self.models.iter().map(|model| model.ssd.events()).sum()
    }

    /// Bytes of translation state of all models.
    pub(crate) fn memory(&self) -> u64 {
        self.models.iter().map(|model| model.ssd.memory().0).sum()
    }
}
