//! What is going on in a world: one clock, one queue of events, the operations in flight.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use cygnus_runtime::{Completion, Events, Halt, IoError, IoErrorKind, Message, Op, OpId, Outcome, Rng};
use cygnus_ssd::{DeviceError, Done};
use cygnus_types::{BLOCK, Nanos, ReactorId};

use crate::cpu::Core;
use crate::disk::{Action, Disk, DiskId};
use crate::faults::{FaultKind, Watcher};
use crate::gauge::Gauge;
use crate::model::Models;
use crate::net::Net;
use crate::sheet::Contents;

/// What a turn of a reactor's loop costs when it does not sleep: without it a task that only yields would stop time.
pub const TURN: Nanos = Nanos(100);

/// This number of turns in a row in which reactors only spin counts as a stall.
const MAX_SPIN: u32 = 1_000_000;

/// Messages between reactors take from this to twice this.
const MESSAGE_LATENCY: Nanos = Nanos(300);

/// An event and its place in the order of things: by time, then by who came first.
pub(crate) struct Event {
    at: Nanos,
    sequence: u64,
    pub(crate) what: What,
}

pub(crate) enum What {
    /// The device operation in this slot ends, if its ticket is still the slot's.
    Io {
        slot: u32,
        ticket: u64,
    },
    Message {
        port: usize,
        message: Message,
    },
    Net(crate::net::NetEvent),
    /// A hung device goes on, if this is still the same hang.
    Release {
        disk: DiskId,
        hang: u64,
    },
    /// A modelled core has come to the next operation that its reactor submitted.
    Leave {
        port: usize,
    },
    PowerCut,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.sequence) == (other.at, other.sequence)
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

/// A device operation between submission and completion.
struct InFlight {
    ticket: u64,
    port: usize,
    id: OpId,
    disk: DiskId,
    action: Action,
    submitted: Nanos,
    /// What it answers, should it succeed.
    answer: Outcome,
}

/// An operation in flight as models know it: its slot and its ticket in one number.
const SLOT_BITS: u32 = 24;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;

fn in_flight_id(slot: u32, ticket: u64) -> u64 {
    assert!(u64::from(slot) <= SLOT_MASK, "more operations in flight than there are slots");
    ticket << SLOT_BITS | u64::from(slot)
}

/// Where a reactor's events collect until it looks.
pub(crate) struct Port {
    pub(crate) events: Events,
    pub(crate) alive: bool,
    pub(crate) core: Core,
    /// When its reactor last took its events.
    pub(crate) looked: Nanos,
    /// Until when its reactor does not run,
    pub(crate) paused_until: Nanos,
    /// and for how long it did not since it looked.
    pub(crate) paused: Nanos,
    /// The devices that its reactor sees.
    pub(crate) disks: Vec<DiskId>,
    /// Until when messages to it are already on their way, per sender: they must not overtake one another.
    message_times: BTreeMap<usize, Nanos>,
}

pub(crate) struct State {
    pub(crate) now: Nanos,
    pub(crate) powered: bool,
    pub(crate) rng: Rng,
    pub(crate) ports: Vec<Port>,
    pub(crate) net: Net,
    sequence: u64,
    queue: BinaryHeap<Reverse<Event>>,
    in_flight: Vec<Option<InFlight>>,
    free_slots: Vec<u32>,
    pub(crate) disks: Vec<Disk>,
    /// What large blank devices hold.
    pub(crate) contents: Rc<RefCell<Contents>>,
    /// Told of every fault that an operation meets.
    pub(crate) watcher: Option<Watcher>,
    pub(crate) models: Models,
    pub(crate) gauges: Vec<Gauge>,
    /// Operations that models ended and the world has not looked at yet; empty between events.
    ended: Vec<Done>,
    /// Whether anything has reached a reactor's port since the clock was last set going.
    delivered: bool,
    /// Counts completions of device operations; orders them against flushes.
    tick: u64,
    /// Counts submissions and completions of device operations; power cuts are planned by it.
    pub(crate) steps: u64,
    pub(crate) cut_at_step: Option<u64>,
    /// Turns since anything happened in the world.
    spinning: u32,
    pub(crate) reactors: BTreeMap<ReactorId, usize>,
}

impl Port {
    /// The port of a reactor that begins now.
    pub(crate) fn new(core: Core, now: Nanos, disks: &[DiskId]) -> Self {
        Self {
            events: Events::default(),
            alive: true,
            core,
            looked: now,
            paused_until: Nanos::ZERO,
            paused: Nanos::ZERO,
            disks: disks.to_vec(),
            message_times: BTreeMap::new(),
        }
    }
}

impl State {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now: Nanos::ZERO,
            powered: true,
            rng: Rng::new(seed),
            ports: Vec::new(),
            net: Net::default(),
            sequence: 0,
            queue: BinaryHeap::new(),
            in_flight: Vec::new(),
            free_slots: Vec::new(),
            disks: Vec::new(),
            contents: Rc::default(),
            watcher: None,
            models: Models::default(),
            gauges: Vec::new(),
            ended: Vec::new(),
            delivered: false,
            tick: 0,
            steps: 0,
            cut_at_step: None,
            spinning: 0,
            reactors: BTreeMap::new(),
        }
    }
}

/// What the model alone knows of an operation that it has carried out: where it went, or what there is.
fn learn(io: &mut InFlight, models: &Models, appended: Option<u64>) {
    let zone_of = |zone: u32| models.zone(io.disk.0 as usize, zone);
    match &io.action {
        Action::Append { buf, .. } => {
            let offset = appended.expect("an append went somewhere") * BLOCK as u64;
            io.answer = Outcome::At(offset);
            io.action = Action::Write { offset, buf: buf.clone(), oob: None, transient: false };
        }
        Action::Reset { zone } => {
            let (blocks, _) = zone_of(*zone).expect("it was reset");
            io.action = Action::Clear { blocks };
        }
        Action::Report { zone } => match zone_of(*zone) {
            Some((_, info)) => io.answer = Outcome::Zone(info),
            None => io.action = Action::Refused(IoError::new(IoErrorKind::Range)),
        },
        _ => {}
    }
}

impl State {
    pub(crate) fn schedule(&mut self, at: Nanos, what: What) {
        self.sequence += 1;
        self.queue.push(Reverse(Event { at: at.max(self.now), sequence: self.sequence, what }));
    }

    /// Lets the next event happen if it is due by `until`; whether there was one.
    fn step_until(&mut self, until: Nanos) -> bool {
        let own = self.queue.peek().map(|event| event.0.at);
        if let Some(at) = self.models.next_event()
            && own.is_none_or(|own| at < own)
        {
            if at > until {
                return false;
            }
            self.now = at;
            self.models.step(&mut self.ended);
            self.end_modelled();
            return true;
        }
        if own.is_none_or(|own| own > until) {
            return false;
        }
        let Reverse(event) = self.queue.pop().expect("just peeked");
        self.now = event.at;
        self.happen(event.what);
        true
    }

    /// Moves the clock to `until` and lets everything due by then happen.
    fn advance(&mut self, until: Nanos) {
        while self.powered && self.step_until(until) {}
        if self.powered {
            self.now = self.now.max(until);
        }
    }

    /// A turn in which some task was busy: time passes, if only a little.
    pub(crate) fn turn(&mut self) -> Result<(), Halt> {
        self.spinning += 1;
        if self.spinning > MAX_SPIN {
            return Err(Halt::Stalled);
        }
        let next = self.now + TURN;
        self.advance(next);
        Ok(())
    }

    /// Nobody is busy: time jumps to the next thing that reaches a reactor, or to `timer`, if there is either.
    pub(crate) fn jump(&mut self, timer: Option<Nanos>) -> Result<(), Halt> {
        self.spinning = 0;
        self.delivered = false;
        let until = timer.unwrap_or(Nanos(u64::MAX));
        while self.powered {
            let due = if self.delivered { self.now } else { until };
            if self.step_until(due) {
                continue;
            }
            match timer {
                _ if self.delivered => {}
                Some(timer) => self.now = self.now.max(timer),
                None => return Err(Halt::Stalled),
            }
            break;
        }
        Ok(())
    }

    /// Those who only yield are no stall yet.
    pub(crate) fn gets_on(&mut self) {
        self.spinning = 0;
    }

    /// A modelled core's turn is over: time passes for it, and the devices work meanwhile.
    pub(crate) fn end_turn(&mut self, port: usize) {
        self.spinning = 0;
        let took = self.ports[port].core.end_turn();
        self.advance(self.now + took);
    }

    /// Until when a reactor has no turn, if it has none now: its core is busy, or it is paused.
    pub(crate) fn away_until(&self, port: usize) -> Option<Nanos> {
        let port = &self.ports[port];
        Some(port.core.busy_until.max(port.paused_until)).filter(|&until| until > self.now)
    }

    /// Until when a reactor is paused, if it is.
    pub(crate) fn paused_until(&self, port: usize) -> Option<Nanos> {
        Some(self.ports[port].paused_until).filter(|&until| until > self.now)
    }

    /// The only reactor that runs is paused: time passes.
    pub(crate) fn sit_out_pause(&mut self, port: usize) {
        if let Some(until) = self.paused_until(port) {
            self.spinning = 0;
            self.advance(until);
        }
    }

    fn happen(&mut self, what: What) {
        self.spinning = 0;
        match what {
            What::Io { slot, ticket } => self.end_io(slot, ticket),
            What::Message { port, message } => {
                if self.ports[port].alive {
                    self.ports[port].events.messages.push(message);
                    self.delivered = true;
                }
            }
            What::Net(event) => self.net_event(event),
            What::Release { disk, hang } => self.release(disk, hang),
            What::Leave { port } => {
                let (id, op) = self.ports[port].core.leave();
                if self.ports[port].alive {
                    self.submit(port, id, op);
                }
            }
            What::PowerCut => self.cut_power(),
        }
    }

    /// One more submission or completion; true if the power went with it.
    fn step(&mut self) -> bool {
        self.steps += 1;
        let cut = self.cut_at_step.is_some_and(|at| self.steps >= at);
        if cut {
            self.cut_power();
        }
        cut
    }

    pub(crate) fn submit_io(&mut self, port: usize, id: OpId, disk: DiskId, op: Op) {
        let device = &mut self.disks[disk.0 as usize];
        let action = device.admit(op, self.tick);
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.in_flight.push(None);
            self.in_flight.len() as u32 - 1
        });
        device.begin(slot, &action);
        self.gauges[disk.0 as usize].begin(self.now);
        self.sequence += 1;
        let ticket = self.sequence;
        if !self.models.submit(disk.0 as usize, self.now, in_flight_id(slot, ticket), &action) {
            let duration = device.duration(&action, &mut self.rng);
            self.schedule(self.now + duration, What::Io { slot, ticket });
        }
        self.in_flight[slot as usize] =
            Some(InFlight { ticket, port, id, disk, action, submitted: self.now, answer: Outcome::Done });
        self.step();
    }

    /// Ends what the models have ended, unless the power goes meanwhile.
    fn end_modelled(&mut self) {
        let mut ended = std::mem::take(&mut self.ended);
        for Done { id, result, appended, .. } in ended.drain(..) {
            let (slot, ticket) = ((id & SLOT_MASK) as u32, id >> SLOT_BITS);
            let io = self.in_flight.get_mut(slot as usize).and_then(Option::as_mut).filter(|io| io.ticket == ticket);
            let Some(io) = io else { continue };
            match result {
                Ok(()) => learn(io, &self.models, appended),
                Err(DeviceError::Unsupported { .. }) => {
                    io.action = Action::Refused(IoError::new(IoErrorKind::Unsupported));
                }
                // A zone that is not to be written here, for example.
                Err(_) => io.action = Action::Refused(IoError::new(IoErrorKind::Range)),
            }
            let slowness = self.disks[io.disk.0 as usize].slowness_of(&io.action);
            if slowness > 1 {
                let late = self.now.since(io.submitted) * (slowness - 1);
                self.schedule(self.now + late, What::Io { slot, ticket });
            } else {
                self.end_io(slot, ticket);
            }
        }
        self.ended = ended;
    }

    fn end_io(&mut self, slot: u32, ticket: u64) {
        let Some(io) = self.in_flight[slot as usize].as_ref().filter(|io| io.ticket == ticket) else { return };
        let disk = &mut self.disks[io.disk.0 as usize];
        if disk.stall(slot, ticket) {
            self.tell(FaultKind::Hang);
            return;
        }
        if self.step() {
            return;
        }
        let io = self.in_flight[slot as usize].take().expect("just looked");
        self.free_slots.push(slot);
        self.tick += 1;
        self.gauges[io.disk.0 as usize].end(self.now);
        let disk = &mut self.disks[io.disk.0 as usize];
        disk.end(slot);
        let racing: Vec<&Action> = match &io.action {
            Action::Read { offset, buf } => {
                let blocks = offset / BLOCK as u64..(offset + buf.len() as u64) / BLOCK as u64;
                let slots = disk.pending_in(blocks);
                slots.filter_map(|slot| self.in_flight[slot as usize].as_ref()).map(|io| &io.action).collect()
            }
            _ => Vec::new(),
        };
        let result = disk.perform(&io.action, self.tick, &mut self.rng, &racing);
        let zone = if let Action::Report { zone } = io.action { disk.zone_info(zone) } else { None };
        let answer = zone.map_or(io.answer, Outcome::Zone);
        for fault in std::mem::take(&mut disk.met) {
            self.tell(fault);
        }
        let read = if let Action::Read { buf, .. } = &io.action { buf.len() } else { 0 };
        self.ports[io.port].core.completed(read);
        self.complete(io.port, io.id, result.map(|()| answer));
    }

    pub(crate) fn complete(&mut self, port: usize, id: OpId, result: Result<Outcome, IoError>) {
        if self.ports[port].alive {
            self.ports[port].events.done.push(Completion { id, result });
            self.delivered = true;
        }
    }

    pub(crate) fn post(&mut self, from: usize, to: ReactorId, message: Message) {
        let Some(&port) = self.reactors.get(&to) else { return };
        let latency = MESSAGE_LATENCY + Nanos(self.rng.below(MESSAGE_LATENCY.0));
        let earliest = self.ports[port].message_times.entry(from).or_default();
        *earliest = (self.now + latency).max(*earliest);
        let at = *earliest;
        self.schedule(at, What::Message { port, message });
    }

    pub(crate) fn cut_power(&mut self) {
        if !self.powered {
            return;
        }
        self.tell(FaultKind::PowerCut);
        self.powered = false;
        self.cut_at_step = None;
        self.queue.clear();
        self.free_slots.clear();
        let mut by_disk: Vec<Vec<Action>> = self.disks.iter().map(|_| Vec::new()).collect();
        for io in self.in_flight.drain(..).flatten() {
            by_disk[io.disk.0 as usize].push(io.action);
        }
        for (disk, actions) in self.disks.iter_mut().zip(&by_disk) {
            disk.lose_power(actions, &mut self.rng);
        }
        self.ended.clear();
        self.models.power_cut();
        self.gauges.iter_mut().for_each(|gauge| gauge.clear(self.now));
        for port in &mut self.ports {
            port.alive = false;
            port.events = Events::default();
        }
        self.net = Net::default();
    }

    /// A reactor is dropped while the power is on, as when its process is killed: what it had in flight may or may not
    /// have happened, block by block.
    pub(crate) fn close_port(&mut self, port: usize) {
        self.ports[port].alive = false;
        self.ports[port].events = Events::default();
        for slot in 0..self.in_flight.len() {
            if self.in_flight[slot].as_ref().is_none_or(|io| io.port != port) {
                continue;
            }
            let io = self.in_flight[slot].take().expect("just looked");
            self.free_slots.push(slot as u32);
            self.tick += 1;
            self.gauges[io.disk.0 as usize].end(self.now);
            let disk = &mut self.disks[io.disk.0 as usize];
            disk.end(slot as u32);
            disk.apply(&io.action, self.tick, &mut self.rng, 128);
        }
        self.net.forget_port(port);
    }
}

impl State {
    /// An operation reaches the world.
    pub(crate) fn submit(&mut self, port: usize, id: OpId, op: Op) {
        match &op {
            Op::Read { dev, .. }
            | Op::Write { dev, .. }
            | Op::Flush { dev }
            | Op::Trim { dev, .. }
            | Op::Extra { dev, .. }
            | Op::Reopen { dev } => {
                let disk = self.ports[port].disks[dev.0 as usize];
                self.submit_io(port, id, disk, op);
            }
            Op::Accept { .. } | Op::Recv { .. } | Op::Send { .. } | Op::Close { .. } => self.submit_net(port, id, op),
        }
    }

    /// Moves a port's events to a reactor.
    pub(crate) fn take_events(&mut self, port: usize, events: &mut Events) {
        let now = self.now;
        let port = &mut self.ports[port];
        events.done.append(&mut port.events.done);
        events.messages.append(&mut port.events.messages);
        // Nothing but a pause keeps a reactor here from seeing what happens.
        events.waited = now.since(port.looked).since(std::mem::take(&mut port.paused));
        port.looked = now;
    }
}

impl State {
    /// Tells the watcher of a fault.
    pub(crate) fn tell(&self, fault: FaultKind) {
        if let Some(watcher) = &self.watcher {
            watcher(fault);
        }
    }

    /// Ends the device's hang number `hang`, if it is still that one.
    pub(crate) fn release(&mut self, disk: DiskId, hang: u64) {
        for (slot, ticket) in self.disks[disk.0 as usize].resume(hang) {
            self.schedule(self.now, What::Io { slot, ticket });
        }
    }
}
