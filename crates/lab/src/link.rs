//! The clients' network: one full-duplex link, each direction first come, first served.

use std::cell::Cell;

use cygnus_runtime::Runtime;
use cygnus_types::Nanos;

/// Bytes of a request or an answer besides its payload.
const ENVELOPE: u64 = 32;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToArray,
    ToClient,
}

#[derive(Default)]
struct Direction {
    /// Until when it is taken by messages that were sent already. A single server in order of arrival, so no event is
    /// needed to know it.
    taken_until: Cell<Nanos>,
    /// Time for which it was taken in all.
    busy: Cell<Nanos>,
    bytes: Cell<u64>,
}

/// A link; `None` of one takes no time.
pub(crate) struct Link {
    rate: u64,
    latency: Nanos,
    directions: [Direction; 2],
}

impl Link {
    pub fn new(rate: u64, latency: Nanos) -> Self {
        Self { rate, latency, directions: Default::default() }
    }

    /// Sends a message with `payload` bytes; returns when it has arrived.
    pub async fn send(&self, rt: &Runtime, way: Way, payload: u64) {
        let bytes = payload + ENVELOPE;
        let direction = &self.directions[way as usize];
        let takes = Nanos(((u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(self.rate))) as u64);
        let sent = direction.taken_until.get().max(rt.precise_now()) + takes;
        direction.taken_until.set(sent);
        direction.busy.set(direction.busy.get() + takes);
        direction.bytes.set(direction.bytes.get() + bytes);
        rt.sleep_until(sent + self.latency).await;
    }

    /// Bytes sent so far and the time that took.
    pub fn totals(&self, way: Way) -> (u64, Nanos) {
        let direction = &self.directions[way as usize];
        (direction.bytes.get(), direction.busy.get())
    }
}
