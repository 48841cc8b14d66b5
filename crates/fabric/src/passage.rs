//! Requests on their way, and their packets.

use cygnus_types::Nanos;

use crate::counters::Stalls;

/// A request in the network. It is good until the request's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage(pub(crate) u32);

/// What is kept of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    pub id: u64,
    pub cluster: u32,
    /// Counted within the cluster.
    pub module: u32,
    /// Bytes of data to the module, and from it.
    pub down: u32,
    pub up: u32,
    pub submitted: Nanos,
    /// What the gate of the root complex said when it began to wait there.
    pub mark: Nanos,
    /// Packets that are not at their destination yet: the module, then the root complex.
    pub left: u32,
    /// Packets that have not left the module yet.
    pub unmoved: u32,
    /// Whether it takes one of the module's commands.
    pub begun: bool,
    /// Since when the module has it whole.
    pub arrived: Nanos,
    pub stalls: Stalls,
}

/// Whose place in a buffer a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The root complex's own, or memory of the root complex, which always has room.
    Nothing,
    /// Of the port at the end of a way.
    Port(u32),
    /// Of the cluster's buffer on the way up.
    Up,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub transit: u32,
    /// Bytes of data.
    pub bytes: u32,
    pub channel: u8,
    /// Whether the command, or the inquiry, goes over the bus with it.
    pub first: bool,
    pub held: Held,
    /// Since when it waits for what comes next, the gate's mark then, and its turn among those that wait for a bus.
    pub since: Nanos,
    pub mark: Nanos,
    pub turn: u64,
    /// Whether its last wait was for storage rather than for links.
    pub for_storage: bool,
    pub stalls: Stalls,
}

/// Things that come and go, by number.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    all: Vec<T>,
    unused: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { all: Vec::new(), unused: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn add(&mut self, thing: T) -> u32 {
        match self.unused.pop() {
            Some(at) => {
                self.all[at as usize] = thing;
                at
            }
            None => {
                self.all.push(thing);
                self.all.len() as u32 - 1
            }
        }
    }

    pub(crate) fn at(&mut self, at: u32) -> &mut T {
        &mut self.all[at as usize]
    }

    pub(crate) fn remove(&mut self, at: u32) {
        self.unused.push(at);
    }

    /// Things that are there.
    pub(crate) fn len(&self) -> usize {
        self.all.len() - self.unused.len()
    }

    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.unused.clear();
    }
}
