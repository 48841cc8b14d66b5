//! How many connections there may be, and of whom; for all reactors of a process.
//!
//! As with memory, no peer may hold more places than are left free for others, so one peer gets half of all at most, and
//! one that comes later always finds one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use cygnus_runtime::Peer;

/// See the module's text.
#[derive(Debug)]
pub struct Door(Mutex<Inside>);

#[derive(Debug)]
struct Inside {
    places: usize,
    taken: usize,
    by_peer: BTreeMap<Peer, Household>,
}

/// A peer with all its connections.
#[derive(Clone, Debug, Default)]
struct Household {
    connections: usize,
    /// Bytes of the common memory that they hold.
    memory: Arc<AtomicUsize>,
}

/// Why a connection was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its peer has as many connections as one peer may have now.
    Peer {
        /// How many.
        has: usize,
    },
    /// All places are taken.
    Full {
        /// How many there are.
        places: usize,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Peer { has } => {
                write!(f, "it has {has} connections, and others need places too (--max-connections)")
            }
            Refusal::Full { places } => write!(f, "all {places} places are taken (--max-connections)"),
        }
    }
}

/// A connection's place; free again when this is dropped.
pub(crate) struct Pass {
    door: Arc<Door>,
    peer: Peer,
    /// What all connections of its peer hold of the common memory.
    pub(crate) memory: Arc<AtomicUsize>,
}

impl Door {
    /// A door to this many places.
    pub fn new(places: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Inside { places, taken: 0, by_peer: BTreeMap::new() })))
    }

    pub(crate) fn enter(self: &Arc<Self>, peer: Peer) -> Result<Pass, Refusal> {
        let inside = &mut *self.0.lock().expect("no holder panics");
        let free = inside.places - inside.taken;
        let has = inside.by_peer.get(&peer).map_or(0, |household| household.connections);
        if free == 0 {
            return Err(Refusal::Full { places: inside.places });
        }
        if has >= free {
            return Err(Refusal::Peer { has });
        }
        inside.taken += 1;
        let household = inside.by_peer.entry(peer).or_default();
        household.connections += 1;
        Ok(Pass { door: self.clone(), peer, memory: household.memory.clone() })
    }

    /// Connections open now, and how many there may be.
    pub fn usage(&self) -> (usize, usize) {
        let inside = self.0.lock().expect("no holder panics");
        (inside.taken, inside.places)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let inside = &mut *self.door.0.lock().expect("no holder panics");
        inside.taken -= 1;
        let household = inside.by_peer.get_mut(&self.peer).expect("whoever is inside has entered");
        household.connections -= 1;
        if household.connections == 0 {
            inside.by_peer.remove(&self.peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_leaves_half_and_the_next_half_of_that() {
        let door = Door::new(16);
        let enter = |peer| door.enter(Peer::User(peer));
        let first: Vec<Pass> = (0..8).map(|_| enter(1).unwrap()).collect();
        assert_eq!(enter(1).err(), Some(Refusal::Peer { has: 8 }));
        let second: Vec<Pass> = (0..4).map(|_| enter(2).unwrap()).collect();
        assert_eq!(enter(2).err(), Some(Refusal::Peer { has: 4 }));
        let others: Vec<Pass> = (3..7).map(|peer| enter(peer).unwrap()).collect();
        assert_eq!(enter(9).err(), Some(Refusal::Full { places: 16 }));
        assert_eq!(door.usage(), (16, 16));
        drop(first);
        assert!(enter(9).is_ok());
        drop((second, others));
        assert_eq!(door.usage(), (0, 16));
    }
}
