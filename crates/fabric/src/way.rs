//! One direction of a link: what waits for it, and the receiver's room.

use std::collections::VecDeque;

use cygnus_types::Nanos;

use crate::gate::{Cause, Gate};
use crate::topology::{Kind, Node, Topology};
use crate::wires::Wires;

/// A virtual channel of a way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    pub waiting: VecDeque<u32>,
    /// Packets that the receiver has room for; `None` if it has room for any number.
    credits: Option<u32>,
    pub gate: Gate,
}

#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// The nodes at its ends.
    pub from: u32,
    pub to: u32,
    /// What a credit takes to come back.
    pub latency: Nanos,
    /// From a packet's last byte to where it can go on: wires, the far end's work, and at an endpoint its own before it.
    pub arrival: Nanos,
    wires: Wires,
    pub channels: Vec<Channel>,
    /// The packet being sent.
    pub sending: Option<u32>,
    /// The channel that comes next if it has something.
    turn: usize,
    /// Time for which it was taken.
    pub busy: Nanos,
}

impl Way {
    /// Of the link, down if `down`.
    pub(crate) fn new(topology: &Topology, link: usize, down: bool) -> Self {
        let link = &topology.links[link];
        let (from, to) = if down { (link.upper, link.lower) } else { (link.lower, link.upper) };
        let credits = room(&topology.nodes[to as usize], topology);
        let before = match topology.nodes[from as usize].kind {
            Kind::Endpoint { .. } => topology.latency_of(from),
            Kind::Root | Kind::Switch { .. } => Nanos::ZERO,
        };
        let channel = Channel { credits, ..Channel::default() };
        Self {
            from,
            to,
            latency: link.wires.latency,
            arrival: link.wires.latency + topology.latency_of(to) + before,
            wires: link.wires,
            channels: vec![channel; usize::from(topology.channels)],
            sending: None,
            turn: 0,
            busy: Nanos::ZERO,
        }
    }

    pub(crate) fn time_of(&self, bytes: u32) -> Nanos {
        self.wires.time_of(bytes)
    }

    /// The channel whose packet goes next, if one may go: in turn.
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.sending.is_some() {
            return None;
        }
        let count = self.channels.len();
        let next = (0..count).map(|n| (self.turn + n) % count).find(|&n| {
            let channel = &self.channels[n];
            !channel.waiting.is_empty() && channel.credits != Some(0)
        })?;
        self.turn = (next + 1) % count;
        Some(next)
    }

    /// Takes a place at the receiver.
    pub(crate) fn spend(&mut self, channel: usize, now: Nanos) {
        let channel = &mut self.channels[channel];
        let Some(credits) = &mut channel.credits else { return };
        *credits -= 1;
        if *credits == 0 {
            channel.gate.shut(now);
        }
    }

    /// A place at the receiver has become free.
    pub(crate) fn credit(&mut self, channel: usize, cause: Cause, now: Nanos) {
        let channel = &mut self.channels[channel];
        channel.credits = channel.credits.map(|credits| credits + 1);
        channel.gate.open(now, cause);
    }
}

/// Packets that a node takes from one link in one channel; `None` if any number.
fn room(node: &Node, topology: &Topology) -> Option<u32> {
    match node.kind {
        Kind::Root => None,
        Kind::Switch { buffer, .. } => Some(buffer),
        Kind::Endpoint { cluster } => Some(topology.clusters[cluster as usize].down_buffer),
    }
}
