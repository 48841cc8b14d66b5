//! How much of a connection is under way: no stranger makes the drive keep more than this in memory.

use std::sync::{Condvar, Mutex};

/// Requests of one connection that are under way at a time.
pub(crate) const DEPTH: u32 = 256;

/// Bytes of data that these may have with them, in requests and answers, of the host that has claimed the drive; one more
/// request of any size may exceed it.
pub(crate) const CLAIMED_BYTES: usize = 16 << 20;

/// The same of who only looks.
pub(crate) const LOOKER_BYTES: usize = 2 << 20;

#[derive(Default)]
struct Inside {
    requests: u32,
    bytes: usize,
}

/// Requests enter when they have been read from the socket and leave when they are answered.
pub(crate) struct Gate {
    bytes: usize,
    inside: Mutex<Inside>,
    left: Condvar,
}

impl Gate {
    /// With room for requests and answers of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { bytes, inside: Mutex::default(), left: Condvar::new() }
    }

    /// Waits until there is room, and takes it.
    pub(crate) fn enter(&self, bytes: usize) {
        let inside = self.inside.lock().expect("no holder panics");
        let full = |inside: &mut Inside| inside.requests >= DEPTH || inside.bytes >= self.bytes;
        let mut inside = self.left.wait_while(inside, full).expect("no holder panics");
        inside.requests += 1;
        inside.bytes += bytes;
    }

    /// Gives the room back.
    pub(crate) fn leave(&self, bytes: usize) {
        let mut inside = self.inside.lock().expect("no holder panics");
        inside.requests -= 1;
        inside.bytes -= bytes;
        self.left.notify_all();
    }

    /// Waits until nothing is under way.
    pub(crate) fn wait_until_empty(&self) {
        let inside = self.inside.lock().expect("no holder panics");
        drop(self.left.wait_while(inside, |inside| inside.requests > 0).expect("no holder panics"));
    }
}
