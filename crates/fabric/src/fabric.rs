//! The network in motion: each stage of a request lets the next one follow.

use std::collections::VecDeque;

use cygnus_types::Nanos;

use crate::bus::{Bus, Moving};
use crate::counters::{ClusterCounters, Place, Stalls};
use crate::events::{Events, Stage};
use crate::gate::{Cause, Gate};
use crate::passage::{Held, Packet, Passage, Slab, Transit};
use crate::topology::{Kind, ROOT, Topology};
use crate::way::Way;

/// What the root complex is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Comes back with the answer.
    pub id: u64,
    /// For which module, of all.
    pub module: u32,
    /// Bytes of data to it.
    pub down: u32,
    /// Bytes of data from it.
    pub up: u32,
}

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A module has a request with all its data; [`Fabric::ready`] is to be called when its answer is there.
    Arrived {
        /// The request's.
        id: u64,
        /// To be given back.
        passage: Passage,
    },
    /// The root complex has the answer with all its data.
    Answered {
        /// The request's.
        id: u64,
        /// When it had been submitted.
        submitted: Nanos,
        /// What it waited for meanwhile.
        stalls: Stalls,
    },
}

/// A modelled network. Clone it to keep a snapshot.
#[derive(Clone, Debug)]
pub struct Fabric {
    topology: Topology,
    now: Nanos,
    events: Events,
    /// Two for each link: down, up.
    ways: Vec<Way>,
    buses: Vec<Bus>,
    transits: Slab<Transit>,
    packets: Slab<Packet>,
    /// Requests that the root complex has taken in, and those that it has not.
    inside: u32,
    outside: VecDeque<u32>,
    gate: Gate,
    /// Requests that modules have whole and have not answered.
    at_modules: u32,
    counters: Vec<ClusterCounters>,
}

fn ways(topology: &Topology) -> Vec<Way> {
    (0..topology.links.len()).flat_map(|link| [true, false].map(|down| Way::new(topology, link, down))).collect()
}

fn down_way(topology: &Topology, node: u32) -> u32 {
    topology.nodes[node as usize].uplink * 2
}

/// Packets that so much data takes; one if there is none.
fn packets_of(data: u32, payload: u32) -> u32 {
    data.div_ceil(payload).max(1)
}

impl Fabric {
    /// An idle network.
    pub fn new(topology: Topology) -> Self {
        Self {
            now: Nanos::ZERO,
            events: Events::default(),
            ways: ways(&topology),
            buses: topology.clusters.iter().map(Bus::new).collect(),
            transits: Slab::default(),
            packets: Slab::default(),
            inside: 0,
            outside: VecDeque::new(),
            gate: Gate::default(),
            at_modules: 0,
            counters: vec![ClusterCounters::default(); topology.clusters.len()],
            topology,
        }
    }

    /// How it is made.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// What each cluster's requests have come to so far.
    pub fn counters(&self) -> Vec<ClusterCounters> {
        let with_bus = |(counters, bus): (&ClusterCounters, &Bus)| ClusterCounters { bus: bus.busy, ..*counters };
        self.counters.iter().zip(&self.buses).map(with_bus).collect()
    }

    /// Requests that have no answer yet.
    pub fn outstanding(&self) -> usize {
        self.transits.len()
    }

    /// Stages so far: the simulator's own work.
    pub fn events(&self) -> u64 {
        self.events.count()
    }

    /// Hands over a request, at a time that must not lie before the last [`Fabric::advance`]. Nothing happens within this call.
    ///
    /// # Panics
    /// If there is no such module.
    pub fn submit(&mut self, now: Nanos, request: Request) {
        assert!(now >= self.now, "a request from the past: {now:?} < {:?}", self.now);
        self.now = now;
        let cluster = self.topology.cluster_of(request.module);
        let transit = self.transits.add(Transit {
            id: request.id,
            cluster: cluster as u32,
            module: request.module - self.topology.modules_of(cluster).start,
            down: request.down,
            up: request.up,
            submitted: now,
            mark: self.gate.mark(),
            left: 0,
            unmoved: 0,
            begun: false,
            arrived: now,
            stalls: Stalls::default(),
        });
        self.outside.push_back(transit);
        self.take_in();
    }

    /// The module's answer to a request that has arrived is there, after so much work; any longer it waited for the module.
    pub fn ready(&mut self, now: Nanos, passage: Passage, worked: Nanos) {
        assert!(now >= self.now, "an answer from the past: {now:?} < {:?}", self.now);
        self.now = now;
        self.at_modules -= 1;
        let transit = self.transits.at(passage.0);
        let waited = (now - transit.arrived).since(worked);
        transit.stalls.add(Place::Module, waited, waited);
        let Transit { cluster, up, .. } = *transit;
        let count = packets_of(up, self.topology.payload);
        (transit.left, transit.unmoved) = (count, count);
        for n in 0..count {
            let at = self.put_together(passage.0, up, n);
            self.buses[cluster as usize].queue_up(at, self.packets.at(at), now);
        }
        self.work_bus(cluster);
    }

    /// When something happens next; `None` if nothing will without a call.
    pub fn next_event(&self) -> Option<Nanos> {
        self.events.next_time()
    }

    /// Lets everything due up to and including `now` happen and adds what callers should know of it, in order, to `happened`.
    pub fn advance(&mut self, now: Nanos, happened: &mut Vec<Happened>) {
        while let Some((at, stage)) = self.events.pop_until(now) {
            self.now = at;
            self.stage_over(stage, happened);
        }
        self.now = self.now.max(now);
        let stuck = if self.at_modules == 0 { self.transits.len() } else { 0 };
        assert!(
            stuck == 0 || self.next_event().is_some(),
            "{stuck} requests in the network and nothing left to happen"
        );
    }

    /// Power fails: everything under way vanishes. Counters stay.
    pub fn power_cut(&mut self) {
        let busy: Vec<Nanos> = self.buses.iter().map(|bus| bus.busy).collect();
        self.events.clear();
        self.ways = ways(&self.topology);
        self.buses = self.topology.clusters.iter().map(Bus::new).collect();
        for (bus, so_far) in self.buses.iter_mut().zip(busy) {
            bus.busy = so_far;
        }
        self.transits.clear();
        self.packets.clear();
        self.outside.clear();
        (self.inside, self.at_modules, self.gate) = (0, 0, Gate::default());
    }
}

/// The stages.
impl Fabric {
    fn stage_over(&mut self, stage: Stage, happened: &mut Vec<Happened>) {
        match stage {
            Stage::Issued { passage } => self.issued(passage),
            Stage::Sent { way } => self.sent(way),
            Stage::Landed { way, packet } => self.landed(way, packet, happened),
            Stage::Credit { way, channel, storage } => {
                let cause = if storage { Cause::Storage } else { Cause::Link };
                self.ways[way as usize].credit(usize::from(channel), cause, self.now);
                self.send_next(way);
            }
            Stage::Bus { cluster } => self.bus_done(cluster, happened),
        }
    }

    /// The root complex takes in what it has room for.
    fn take_in(&mut self) {
        while self.inside < self.topology.root.queue {
            let Some(at) = self.outside.pop_front() else { return };
            self.inside += 1;
            let transit = self.transits.at(at);
            let waited = self.now - transit.submitted;
            transit.stalls.add(Place::Root, waited, self.gate.storage_since(transit.mark, waited));
            self.events.push(self.now + self.topology.root.latency, Stage::Issued { passage: at });
        }
        self.gate.shut(self.now);
    }

    /// A request's packets begin their way down.
    fn issued(&mut self, at: u32) {
        let Transit { cluster, down, .. } = *self.transits.at(at);
        let count = packets_of(down, self.topology.payload);
        self.transits.at(at).left = count;
        let way = down_way(&self.topology, self.topology.toward(ROOT, cluster));
        for n in 0..count {
            let packet = self.put_together(at, down, n);
            self.send(way, packet);
        }
    }

    /// Makes a packet of so much data: the one of that number.
    fn put_together(&mut self, transit: u32, data: u32, n: u32) -> u32 {
        let payload = self.topology.payload;
        self.packets.add(Packet {
            transit,
            bytes: (data - n * payload).min(payload),
            channel: u8::from(self.topology.channels > 1 && data > 0),
            first: n == 0,
            held: Held::Nothing,
            since: Nanos::ZERO,
            mark: Nanos::ZERO,
            turn: 0,
            for_storage: false,
            stalls: Stalls::default(),
        })
    }

    /// A packet waits for a way, behind those before it.
    fn send(&mut self, way: u32, at: u32) {
        let packet = self.packets.at(at);
        let channel = &mut self.ways[way as usize].channels[usize::from(packet.channel)];
        (packet.since, packet.mark) = (self.now, channel.gate.mark());
        channel.waiting.push_back(at);
        self.send_next(way);
    }

    /// A way takes up its next packet, if it is free and one may go.
    fn send_next(&mut self, number: u32) {
        let way = &mut self.ways[number as usize];
        let Some(channel) = way.next() else { return };
        let at = way.channels[channel].waiting.pop_front().expect("it was not empty");
        let packet = self.packets.at(at);
        let waited = self.now - packet.since;
        let storage = way.channels[channel].gate.storage_since(packet.mark, waited);
        let place = match self.topology.nodes[way.from as usize].kind {
            Kind::Root => Place::Root,
            Kind::Switch { .. } => Place::Switch,
            Kind::Endpoint { .. } => Place::Endpoint,
        };
        packet.stalls.add(place, waited, storage);
        packet.for_storage = Cause::of(storage, waited) == Cause::Storage;
        way.spend(channel, self.now);
        way.sending = Some(at);
        let takes = way.time_of(packet.bytes);
        way.busy += takes;
        self.events.push(self.now + takes, Stage::Sent { way: number });
    }

    /// A packet has left: its place is free, and the next one goes.
    fn sent(&mut self, number: u32) {
        let way = &mut self.ways[number as usize];
        let at = way.sending.take().expect("something was sent");
        self.events.push(self.now + way.arrival, Stage::Landed { way: number, packet: at });
        self.leave_buffer(at);
        self.packets.at(at).held = Held::Port(number);
        self.send_next(number);
    }

    /// Gives up the place in a buffer that a packet has.
    fn leave_buffer(&mut self, at: u32) {
        let packet = self.packets.at(at);
        match packet.held {
            Held::Nothing => {}
            Held::Port(way) => {
                let told = self.now + self.ways[way as usize].latency;
                let (channel, storage) = (packet.channel, packet.for_storage);
                self.events.push(told, Stage::Credit { way, channel, storage });
            }
            Held::Up => {
                let cluster = self.transits.at(packet.transit).cluster;
                self.buses[cluster as usize].room_up();
                self.work_bus(cluster);
            }
        }
    }

    /// A packet is at the end of a way.
    fn landed(&mut self, way: u32, at: u32, happened: &mut Vec<Happened>) {
        let to = self.ways[way as usize].to;
        let Transit { cluster, module, .. } = *self.transits.at(self.packets.at(at).transit);
        match self.topology.nodes[to as usize].kind {
            Kind::Root => self.answer_came(at, happened),
            Kind::Switch { .. } => {
                let comes_down = way.is_multiple_of(2);
                let next = match comes_down {
                    true => down_way(&self.topology, self.topology.toward(to, cluster)),
                    false => self.topology.nodes[to as usize].uplink * 2 + 1,
                };
                self.send(next, at);
            }
            Kind::Endpoint { .. } => {
                self.buses[cluster as usize].queue_down(module, at, self.packets.at(at), self.now);
                self.work_bus(cluster);
            }
        }
    }

    fn work_bus(&mut self, cluster: u32) {
        let bus = &mut self.buses[cluster as usize];
        let Some((at, takes, storage)) = bus.begin(&mut self.packets, &mut self.transits, self.now) else { return };
        let packet = self.packets.at(at);
        let waited = self.now - packet.since;
        packet.stalls.add(Place::Endpoint, waited, storage);
        packet.for_storage = Cause::of(storage, waited) == Cause::Storage;
        self.events.push(self.now + takes, Stage::Bus { cluster });
    }

    fn bus_done(&mut self, cluster: u32, happened: &mut Vec<Happened>) {
        match self.buses[cluster as usize].moving.take().expect("the bus moved something") {
            Moving::ToModule(at) => self.at_module(at, happened),
            Moving::FromModule(at) => self.leave_module(at),
        }
        self.work_bus(cluster);
    }

    /// A module has one more packet of a request.
    fn at_module(&mut self, at: u32, happened: &mut Vec<Happened>) {
        self.leave_buffer(at);
        let Packet { transit: number, stalls, .. } = *self.packets.at(at);
        self.packets.remove(at);
        let transit = self.transits.at(number);
        transit.left -= 1;
        if transit.left == 0 {
            transit.stalls += stalls;
            transit.arrived = self.now;
            self.at_modules += 1;
            happened.push(Happened::Arrived { id: transit.id, passage: Passage(number) });
        }
    }

    /// A packet of an answer is in the endpoint's buffer.
    fn leave_module(&mut self, at: u32) {
        let packet = self.packets.at(at);
        packet.held = Held::Up;
        let (number, bus_wait) = (packet.transit, packet.stalls.endpoint);
        let transit = self.transits.at(number);
        transit.unmoved -= 1;
        let Transit { cluster, module, unmoved, stalls, .. } = *transit;
        if unmoved == 0 {
            // Whoever waited for this module waited for what held it up longer: its flash or its way out.
            let cause = if stalls.module >= bus_wait { Cause::Storage } else { Cause::Link };
            self.buses[cluster as usize].release(module, cause, self.now);
        }
        let endpoint = self.topology.endpoints[cluster as usize];
        self.send(self.topology.nodes[endpoint as usize].uplink * 2 + 1, at);
    }

    /// The root complex has one more packet of an answer.
    fn answer_came(&mut self, at: u32, happened: &mut Vec<Happened>) {
        let Packet { transit: number, stalls, .. } = *self.packets.at(at);
        self.packets.remove(at);
        let transit = self.transits.at(number);
        transit.left -= 1;
        if transit.left > 0 {
            return;
        }
        transit.stalls += stalls;
        let Transit { id, cluster, submitted, stalls, down, up, .. } = *transit;
        self.transits.remove(number);
        let counters = &mut self.counters[cluster as usize];
        counters.requests += 1;
        counters.latency += self.now - submitted;
        counters.stalls += stalls;
        counters.down += u64::from(down);
        counters.up += u64::from(up);
        happened.push(Happened::Answered { id, submitted, stalls });
        self.inside -= 1;
        self.gate.open(self.now, Cause::of(stalls.storage, stalls.total()));
        self.take_in();
    }
}

#[cfg(test)]
mod tests;
