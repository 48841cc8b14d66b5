//! A modelled network on the way to some of the modelled devices.
//!
//! A command travels down to its module, the module's model works on it, and the answer travels back. What the network
//! measures is its own; contents and faults are, as always, the device's.

use cygnus_fabric::{ClusterCounters, Fabric, Happened, Passage, Request, Topology};
use cygnus_ssd::{Command, Done};
use cygnus_types::{BLOCK, Nanos};

/// A command on its way.
#[derive(Clone, Copy)]
struct Trip {
    /// The world's number of the operation.
    id: u64,
    /// The model's place.
    place: u32,
    command: Command,
    /// While the module has it: since when, and what to say to the network then.
    at_module: Option<(Nanos, Passage)>,
    /// The module's answer, on its way back.
    done: Option<Done>,
}

/// What lies between the world and its modules.
pub(crate) struct Network {
    fabric: Fabric,
    /// By module: the times of lonely reads and writes, if they are known.
    working: Vec<Option<(Nanos, Nanos)>>,
    trips: Vec<Trip>,
    unused: Vec<u32>,
    happened: Vec<Happened>,
}

/// What a step of the network leads to.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// The model at that place gets a command, by that number.
    Submit(u32, u64, Command),
    /// An operation is over.
    End(Done),
}

/// Bytes that a command carries to the device, and from it. `oob`: what the device keeps beside each block.
fn sizes(command: &Command, oob: u32) -> (u32, u32) {
    let bytes = |blocks: u32, each: u32| blocks * each;
    match *command {
        Command::Read { blocks, .. } => (0, bytes(blocks, BLOCK as u32)),
        Command::ReadOob { blocks, .. } => (0, bytes(blocks, oob)),
        Command::Write { blocks, hint, .. } => (bytes(blocks, BLOCK as u32 + u32::from(hint.oob)), 0),
        Command::Append { blocks, .. } => (bytes(blocks, BLOCK as u32), 0),
        _ => (0, 0),
    }
}

impl Network {
    /// An idle one. `working` has the times of each module's model.
    pub(crate) fn new(topology: Topology, working: Vec<Option<(Nanos, Nanos)>>) -> Self {
        Self { fabric: Fabric::new(topology), working, trips: Vec::new(), unused: Vec::new(), happened: Vec::new() }
    }

    /// Sends a command on its way to a module, whose model is at that place.
    pub(crate) fn submit(&mut self, now: Nanos, id: u64, (module, place): (u32, u32), command: Command, oob: u32) {
        let trip = Trip { id, place, command, at_module: None, done: None };
        let at = match self.unused.pop() {
            Some(at) => {
                self.trips[at as usize] = trip;
                at
            }
            None => {
                self.trips.push(trip);
                self.trips.len() as u32 - 1
            }
        };
        let (down, up) = sizes(&command, oob);
        self.fabric.submit(now, Request { id: u64::from(at), module, down, up });
    }

    /// A module's model is done with a command that it was given; a refusal goes the same way.
    pub(crate) fn done(&mut self, module: u32, done: Done) {
        let trip = &mut self.trips[done.id as usize];
        let (since, passage) = trip.at_module.take().expect("the module had it");
        let took = done.at - since;
        let worked = match (trip.command, self.working[module as usize]) {
            (Command::Read { .. } | Command::ReadOob { .. }, Some((read, _))) => read,
            (Command::Write { fua: false, .. } | Command::Append { .. }, Some((_, write))) => write,
            // A flush, an erase: it takes what it takes.
            _ => took,
        };
        trip.done = Some(done);
        self.fabric.ready(done.at, passage, worked);
    }

    pub(crate) fn next_event(&self) -> Option<Nanos> {
        self.fabric.next_event()
    }

    /// Lets everything happen that is due at that time, and tells what it leads to.
    pub(crate) fn advance(&mut self, now: Nanos, steps: &mut Vec<Step>) {
        self.fabric.advance(now, &mut self.happened);
        for what in self.happened.drain(..) {
            match what {
                Happened::Arrived { id, passage } => {
                    let trip = &mut self.trips[id as usize];
                    trip.at_module = Some((now, passage));
                    steps.push(Step::Submit(trip.place, id, trip.command));
                }
                Happened::Answered { id, submitted, .. } => {
                    let trip = &mut self.trips[id as usize];
                    let done = trip.done.take().expect("it was answered");
                    steps.push(Step::End(Done { id: trip.id, at: now, submitted, ..done }));
                    self.unused.push(id as u32);
                }
            }
        }
    }

    pub(crate) fn power_cut(&mut self) {
        self.fabric.power_cut();
        self.trips.clear();
        self.unused.clear();
    }

    pub(crate) fn counters(&self) -> Vec<ClusterCounters> {
        self.fabric.counters()
    }

    pub(crate) fn events(&self) -> u64 {
        self.fabric.events()
    }
}
