//! A cluster's bus, and who waits for it: packets for the modules, and packets of theirs.

use std::collections::VecDeque;

use cygnus_types::Nanos;

use crate::gate::{Cause, Gate};
use crate::passage::{Packet, Slab, Transit};
use crate::topology::Cluster;
use crate::wires::time_of;

/// A module, as its endpoint sees it.
#[derive(Clone, Debug, Default)]
struct Module {
    /// Packets for it, by channel. Those of one request follow each other.
    waiting: [VecDeque<u32>; 2],
    /// Commands that it has.
    commands: u32,
    /// Shut while it takes no more.
    gate: Gate,
}

#[derive(Clone, Debug)]
pub(crate) struct Bus {
    rate: u64,
    command: Nanos,
    /// Commands that a module takes.
    most_commands: u32,
    /// Whether modules work side by side, and commands that any of them has.
    interleave: bool,
    commands: u32,
    modules: Vec<Module>,
    /// Packets that modules have ready, in order.
    ready: VecDeque<u32>,
    /// Places left in the endpoint's buffer on the way up.
    room: u32,
    pub moving: Option<Moving>,
    turns: u64,
    /// Time for which it was taken.
    pub busy: Nanos,
}

/// What the bus does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moving {
    ToModule(u32),
    FromModule(u32),
}

impl Bus {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        Self {
            rate: cluster.bus_rate,
            command: cluster.bus_command,
            most_commands: cluster.commands,
            interleave: cluster.interleave,
            commands: 0,
            modules: vec![Module::default(); cluster.modules as usize],
            ready: VecDeque::new(),
            room: cluster.up_buffer,
            moving: None,
            turns: 0,
            busy: Nanos::ZERO,
        }
    }

    fn time_of(&self, packet: &Packet) -> Nanos {
        let command = if packet.first { self.command } else { Nanos::ZERO };
        command + time_of(u64::from(packet.bytes), self.rate)
    }

    fn turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// A packet for a module is in the endpoint's buffer.
    pub(crate) fn queue_down(&mut self, module: u32, at: u32, packet: &mut Packet, now: Nanos) {
        packet.turn = self.turn();
        let module = &mut self.modules[module as usize];
        (packet.since, packet.mark) = (now, module.gate.mark());
        module.waiting[usize::from(packet.channel)].push_back(at);
    }

    /// A module has a packet ready.
    pub(crate) fn queue_up(&mut self, at: u32, packet: &mut Packet, now: Nanos) {
        (packet.turn, packet.since) = (self.turn(), now);
        self.ready.push_back(at);
    }

    /// Takes up the next transfer if it can: of those that may go, the one that waits longest. Gives the packet, for how long the
    /// bus is taken, and how much of the packet's wait was for storage.
    pub(crate) fn begin(
        &mut self,
        packets: &mut Slab<Packet>,
        transits: &mut Slab<Transit>,
        now: Nanos,
    ) -> Option<(u32, Nanos, Nanos)> {
        if self.moving.is_some() {
            return None;
        }
        let is_free = self.interleave || self.commands == 0;
        let mut first: Option<(u64, Option<(usize, usize)>)> = None;
        if let Some(&at) = self.ready.front().filter(|_| self.room > 0) {
            first = Some((packets.at(at).turn, None));
        }
        for (n, module) in self.modules.iter().enumerate() {
            for (channel, waiting) in module.waiting.iter().enumerate() {
                let Some(&at) = waiting.front() else { continue };
                let packet = packets.at(at);
                let is_taken = is_free && module.commands < self.most_commands;
                let may_go = is_taken || transits.at(packet.transit).begun;
                if may_go && first.is_none_or(|(turn, _)| packet.turn < turn) {
                    first = Some((packet.turn, Some((n, channel))));
                }
            }
        }
        let (at, storage) = match first?.1 {
            None => (self.take_ready(), Nanos::ZERO),
            Some((module, channel)) => self.take_waiting(module, channel, packets, transits, now),
        };
        let takes = self.time_of(packets.at(at));
        self.busy += takes;
        Some((at, takes, storage))
    }

    fn take_ready(&mut self) -> u32 {
        let at = self.ready.pop_front().expect("it was the first");
        self.room -= 1;
        self.moving = Some(Moving::FromModule(at));
        at
    }

    fn take_waiting(
        &mut self,
        module: usize,
        channel: usize,
        packets: &mut Slab<Packet>,
        transits: &mut Slab<Transit>,
        now: Nanos,
    ) -> (u32, Nanos) {
        let module = &mut self.modules[module];
        let at = module.waiting[channel].pop_front().expect("it was the first");
        let packet = packets.at(at);
        let transit = transits.at(packet.transit);
        if !transit.begun {
            transit.begun = true;
            self.commands += 1;
            module.commands += 1;
            if module.commands == self.most_commands {
                module.gate.shut(now);
            }
        }
        self.moving = Some(Moving::ToModule(at));
        (at, module.gate.storage_since(packet.mark, now - packet.since))
    }

    /// A module is done with a command.
    pub(crate) fn release(&mut self, module: u32, cause: Cause, now: Nanos) {
        self.commands -= 1;
        let module = &mut self.modules[module as usize];
        module.commands -= 1;
        module.gate.open(now, cause);
    }

    /// A packet has left the buffer on the way up.
    pub(crate) fn room_up(&mut self) {
        self.room += 1;
    }
}
