//! The world: one clock, one queue of events, the devices, and the power supply.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use cygnus_runtime::{
    BufPool, Completion, DeviceInfo, DeviceIx, Events, Halt, IoError, IoErrorKind, Message, Op, OpId, Outcome, Rng,
    Runtime,
};
use cygnus_ssd::{Counters, Device, DeviceError, Done, Model};
use cygnus_types::{BLOCK, Nanos, ReactorId};

use crate::cpu::{Core, CpuModel};
use crate::disk::{Action, Disk, DiskConfig, DiskId, DiskStats};
use crate::driver::SimDriver;
use crate::faults::{FaultKind, Watcher};
use crate::gauge::{Gauge, Load};
use crate::model::{Models, capabilities};
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
    paused_until: Nanos,
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
    contents: Rc<RefCell<Contents>>,
    /// Told of every fault that an operation meets.
    pub(crate) watcher: Option<Watcher>,
    models: Models,
    gauges: Vec<Gauge>,
    /// Operations that models ended and the world has not looked at yet; empty between events.
    ended: Vec<Done>,
    /// Whether anything has reached a reactor's port since the clock was last set going.
    delivered: bool,
    /// Counts completions of device operations; orders them against flushes.
    tick: u64,
    /// Counts submissions and completions of device operations; power cuts are planned by it.
    steps: u64,
    cut_at_step: Option<u64>,
    /// Turns since anything happened in the world.
    spinning: u32,
    reactors: BTreeMap<ReactorId, usize>,
}

/// A handle to the world. Clones lead to the same one.
#[derive(Clone)]
pub struct World(pub(crate) Rc<RefCell<State>>);

impl World {
    /// A world without devices, in which everything random follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(State {
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
        })))
    }

    /// The time now.
    pub fn now(&self) -> Nanos {
        self.0.borrow().now
    }

    /// Plugs in a device.
    pub fn add_disk(&self, config: DiskConfig) -> DiskId {
        self.plug_in(Disk::new(config), None)
    }

    /// Plugs in a device whose operations take as long as a model says; the timing of `config` counts only for what the
    /// device refuses. Everything else, faults included, is as for any device.
    pub fn add_modelled(&self, config: DiskConfig, model: Model) -> DiskId {
        self.plug_in(Disk::new(config), Some(model))
    }

    /// Plugs in a device, modelled or not, that holds nothing but zeros and what is written from parts of buffers that are not
    /// known to be zeros (see [`BufPool::blank`]). It has no volatile cache and no faults of its contents: for the lab.
    pub fn add_blank(&self, config: DiskConfig, model: impl Into<Option<Model>>) -> DiskId {
        let contents = self.0.borrow().contents.clone();
        self.plug_in(Disk::blank(config, contents), model.into())
    }

    fn plug_in(&self, mut disk: Disk, model: Option<Model>) -> DiskId {
        if let Some(model) = &model {
            assert!(model.blocks() * BLOCK as u64 >= disk.config.size, "a model is as large as its device");
            disk.capabilities = capabilities(model, disk.config.can_trim, disk.keeps_contents());
        }
        let mut state = self.0.borrow_mut();
        state.disks.push(disk);
        state.models.add(model);
        state.gauges.push(Gauge::default());
        DiskId(state.disks.len() as u32 - 1)
    }

    /// A reactor's door to this world, through which it sees the given devices, numbered as listed. Power must be on.
    pub fn driver(&self, reactor: ReactorId, disks: &[DiskId]) -> SimDriver {
        self.driver_on(reactor, disks, None)
    }

    /// As [`World::driver`], on a core of the given speed.
    pub fn driver_on(&self, reactor: ReactorId, disks: &[DiskId], cpu: Option<CpuModel>) -> SimDriver {
        let mut state = self.0.borrow_mut();
        assert!(state.powered, "restore the power before starting a reactor");
        let port = Port {
            events: Events::default(),
            alive: true,
            core: Core::new(cpu),
            looked: state.now,
            paused_until: Nanos::ZERO,
            paused: Nanos::ZERO,
            disks: disks.to_vec(),
            message_times: BTreeMap::new(),
        };
        state.ports.push(port);
        // Whoever starts opens them.
        disks.iter().for_each(|disk| state.disks[disk.0 as usize].estranged = false);
        let port = state.ports.len() - 1;
        state.reactors.insert(reactor, port);
        SimDriver::new(self.clone(), port)
    }

    /// A reactor over [`World::driver`], with a heap-only buffer pool and a seed drawn from the world's.
    pub fn reactor(&self, reactor: ReactorId, disks: &[DiskId]) -> Runtime {
        let driver = self.driver(reactor, disks);
        let seed = self.0.borrow_mut().rng.next_u64();
        Runtime::new(reactor, Box::new(driver), BufPool::new(0), seed)
    }

    /// A reactor for users who only write zeros: on a core of the given speed, with buffers that know where they are
    /// blank.
    pub fn blank_reactor(&self, reactor: ReactorId, disks: &[DiskId], cpu: Option<CpuModel>) -> Runtime {
        let driver = self.driver_on(reactor, disks, cpu);
        let seed = self.0.borrow_mut().rng.next_u64();
        Runtime::new(reactor, Box::new(driver), BufPool::blank(), seed)
    }

    /// Charges a reactor's core for work that no operation stands for; for nothing if the core is not modelled.
    pub fn charge(&self, reactor: ReactorId, work: Nanos) {
        let mut state = self.0.borrow_mut();
        let port = state.reactors[&reactor];
        state.ports[port].core.charge(work);
    }

    /// Time for which a reactor's core has worked; zero if it is not modelled.
    pub fn cpu_busy(&self, reactor: ReactorId) -> Nanos {
        let state = self.0.borrow();
        state.ports[state.reactors[&reactor]].core.busy()
    }

    /// From now on a reactor does not run for `span`: as when its process is stopped, its machine is paused, or a system call
    /// does not return. What it submits in the rest of its present turn leaves after that. Devices and the other reactors go on.
    pub fn pause(&self, reactor: ReactorId, span: Nanos) {
        let mut state = self.0.borrow_mut();
        let now = state.now;
        let port = state.reactors[&reactor];
        let port = &mut state.ports[port];
        port.paused_until = port.paused_until.max(now) + span;
        port.paused += span;
    }

    /// What a reactor given these devices knows of them.
    pub fn infos(&self, disks: &[DiskId]) -> Vec<DeviceInfo> {
        let state = self.0.borrow();
        let info = |(ix, disk): (usize, &DiskId)| {
            let config = &state.disks[disk.0 as usize].config;
            DeviceInfo {
                ix: DeviceIx(ix as u16),
                name: config.name.clone(),
                size: config.size,
                logical_block: BLOCK as u32,
            }
        };
        disks.iter().enumerate().map(info).collect()
    }

    /// How many submissions and completions of device operations there have been.
    pub fn steps(&self) -> u64 {
        self.0.borrow().steps
    }

    /// What a device has done.
    pub fn stats(&self, disk: DiskId) -> DiskStats {
        self.with_disk(disk, |disk| disk.stats)
    }

    /// How loaded a device is and was.
    pub fn load(&self, disk: DiskId) -> Load {
        let mut state = self.0.borrow_mut();
        let now = state.now;
        state.gauges[disk.0 as usize].read(now)
    }

    /// What the model of a device has counted, if it has one.
    pub fn model_counters(&self, disk: DiskId) -> Option<Counters> {
        self.0.borrow().models.counters(disk.0 as usize)
    }

    /// Smallest and greatest erase count of the flash blocks of a device that has a model.
    pub fn model_wear(&self, disk: DiskId) -> Option<(u32, u32)> {
        self.0.borrow().models.wear(disk.0 as usize)
    }

    /// Events that the models have worked through.
    pub fn model_events(&self) -> u64 {
        self.0.borrow().models.events()
    }

    /// Host memory of the devices in bytes: the models' translation state, and contents of blank devices.
    pub fn memory(&self) -> (u64, u64) {
        let state = self.0.borrow();
        let sheets: u64 = state.disks.iter().map(Disk::sheet_memory).sum();
        (state.models.memory(), state.contents.borrow().memory() + sheets)
    }

    /// How many blocks of a device a power cut could take now.
    pub fn unflushed(&self, disk: DiskId) -> usize {
        self.with_disk(disk, |disk| disk.media.unflushed())
    }

    /// What a device would deliver now, ignoring faults; `offset` and length in whole blocks.
    pub fn peek(&self, disk: DiskId, offset: u64, bytes: &mut [u8]) {
        let first = offset / BLOCK as u64;
        self.with_disk(disk, |disk| {
            for (n, chunk) in bytes.chunks_exact_mut(BLOCK).enumerate() {
                disk.media.get(first + n as u64).copy_to(chunk);
            }
        });
    }

    pub(crate) fn with_disk<T>(&self, disk: DiskId, act: impl FnOnce(&mut Disk) -> T) -> T {
        act(&mut self.0.borrow_mut().disks[disk.0 as usize])
    }

    /// Cuts the power now.
    pub fn cut_power(&self) {
        self.0.borrow_mut().cut_power();
    }

    /// Plans a power cut for a time.
    pub fn cut_power_at(&self, at: Nanos) {
        self.0.borrow_mut().schedule(at, What::PowerCut);
    }

    /// Plans a power cut at the `steps`-th submission or completion of a device operation from now on (`None`: never).
    pub fn cut_power_after(&self, steps: Option<u64>) {
        let mut state = self.0.borrow_mut();
        state.cut_at_step = steps.map(|n| state.steps + n.max(1));
    }

    /// Whether the power is on.
    pub fn is_powered(&self) -> bool {
        self.0.borrow().powered
    }

    /// Power comes back. Reactors of the time before stay dead; make new ones.
    pub fn restore_power(&self) {
        self.0.borrow_mut().powered = true;
    }
}

/// What the model alone knows of an operation that it has carried out: where it went, or what there is.
fn learn(io: &mut InFlight, models: &Models, appended: Option<u64>) {
    let zone_of = |zone: u32| models.zone(io.disk.0 as usize, zone);
    match &io.action {
        Action::Append { buf, .. } => {
            let offset = appended.expect("an append went somewhere") * BLOCK as u64;
            io.answer = Outcome::At(offset);
            io.action = Action::Write { offset, buf: buf.clone(), oob: None };
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
        for fault in std::mem::take(&mut disk.met) {
            self.tell(fault);
        }
        let read = if let Action::Read { buf, .. } = &io.action { buf.len() } else { 0 };
        self.ports[io.port].core.completed(read);
        self.complete(io.port, io.id, result.map(|()| io.answer));
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
