//! The world as its users hold it: devices and reactors are plugged in, the power goes and comes.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_fabric::{ClusterCounters, Topology};
use cygnus_runtime::{BufPool, DeviceInfo, DeviceIx, ListenerId, Runtime, SocketId};
use cygnus_ssd::{Counters, Device, Model};
use cygnus_types::{BLOCK, Nanos, ReactorId};
use cygnus_zoned::ZonedDevice;

use crate::cpu::{Core, CpuModel};
use crate::disk::{Disk, DiskConfig, DiskId, DiskStats};
use crate::driver::SimDriver;
use crate::gauge::{Gauge, Load};
use crate::model::{capabilities, zones_of};
use crate::state::{Port, State, What};

/// A handle to the world. Clones lead to the same one.
#[derive(Clone)]
pub struct World(pub(crate) Rc<RefCell<State>>);

impl World {
    /// A world without devices, in which everything random follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(State::new(seed))))
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
    /// known to be zeros (see [`BufPool::blank`]). It has no volatile cache and no faults of its contents: for the lab. Where the
    /// model is to be written in order, reactors have it with a [`ZonedDevice`] between them and it.
    pub fn add_blank(&self, config: DiskConfig, model: impl Into<Option<Model>>) -> DiskId {
        let (contents, model) = (self.0.borrow().contents.clone(), model.into());
        let zones = model.as_ref().and_then(zones_of);
        self.plug_in(Disk::blank(DiskConfig { zones, ..config }, contents), model)
    }

    fn plug_in(&self, mut disk: Disk, model: Option<Model>) -> DiskId {
        if let Some(model) = &model {
            assert!(model.blocks() * BLOCK as u64 >= disk.config.size, "a model is as large as its device");
            disk.capabilities = capabilities(model, disk.config.can_trim, disk.keeps_contents());
            // The model has them.
            disk.zones = None;
        }
        let mut state = self.0.borrow_mut();
        state.disks.push(disk);
        state.models.add(model);
        state.gauges.push(Gauge::default());
        DiskId(state.disks.len() as u32 - 1)
    }

    /// Puts modelled devices behind a modelled network, before anything is asked of them: they are its modules, in that order;
    /// what is left of its modules are empty slots. Their models should be of bare flash ([`cygnus_ssd::SsdConfig::bare`]), as the
    /// network has the buses.
    ///
    /// # Panics
    /// If there is a network already, a device has no model, or there are more devices than modules.
    pub fn attach(&self, topology: Topology, disks: &[DiskId]) {
        self.0.borrow_mut().models.attach(topology, disks.iter().map(|disk| disk.0 as usize));
    }

    /// What the clusters of the network have counted so far; nothing if there is no network.
    pub fn clusters(&self) -> Vec<ClusterCounters> {
        self.0.borrow().models.clusters()
    }

    /// A reactor's door to this world, through which it sees the given devices, numbered as listed. Power must be on.
    pub fn driver(&self, reactor: ReactorId, disks: &[DiskId]) -> SimDriver {
        self.driver_on(reactor, disks, None)
    }

    /// As [`World::driver`], on a core of the given speed.
    pub fn driver_on(&self, reactor: ReactorId, disks: &[DiskId], cpu: Option<CpuModel>) -> SimDriver {
        let mut state = self.0.borrow_mut();
        assert!(state.powered, "restore the power before starting a reactor");
        let port = Port::new(Core::new(cpu), state.now, disks);
        state.ports.push(port);
        // Whoever starts opens them.
        disks.iter().for_each(|disk| state.disks[disk.0 as usize].estranged = false);
        let port = state.ports.len() - 1;
        state.reactors.insert(reactor, port);
        SimDriver::new(self.0.clone(), port)
    }

    /// A reactor over [`World::driver`], with a heap-only buffer pool and a seed drawn from the world's.
    pub fn reactor(&self, reactor: ReactorId, disks: &[DiskId]) -> Runtime {
        let driver = self.driver(reactor, disks);
        let seed = self.0.borrow_mut().rng.next_u64();
        let rt = Runtime::new(reactor, Box::new(driver), BufPool::new(0), seed);
        self.keep_zones_in_order(&rt, disks);
        rt
    }

    /// Puts somebody between a reactor and those of its devices that are to be written in order.
    fn keep_zones_in_order(&self, rt: &Runtime, disks: &[DiskId]) {
        for (ix, disk) in disks.iter().enumerate() {
            if let Some(zoned) = self.0.borrow_mut().disks[disk.0 as usize].zoned() {
                ZonedDevice::interpose(rt, DeviceIx(ix as u16), zoned);
            }
        }
    }

    /// A reactor for users who only write zeros: on a core of the given speed, with buffers that know where they are
    /// blank.
    pub fn blank_reactor(&self, reactor: ReactorId, disks: &[DiskId], cpu: Option<CpuModel>) -> Runtime {
        let driver = self.driver_on(reactor, disks, cpu);
        let seed = self.0.borrow_mut().rng.next_u64();
        let rt = Runtime::new(reactor, Box::new(driver), BufPool::blank(), seed);
        self.keep_zones_in_order(&rt, disks);
        rt
    }

    /// Charges a reactor's core for work that no operation stands for; for nothing if the core is not modelled.
    pub fn charge(&self, reactor: ReactorId, work: Nanos) {
        let mut state = self.0.borrow_mut();
        let port = state.reactors[&reactor];
        state.ports[port].core.charge(work);
    }

    /// Says that something came of the turns so far, though no device had a part in it: those who only yield are no stall yet.
    pub fn gets_on(&self) {
        self.0.borrow_mut().gets_on();
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
            let disk = &state.disks[disk.0 as usize];
            DeviceInfo {
                ix: DeviceIx(ix as u16),
                name: disk.config.name.clone(),
                size: disk.size(),
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

    /// A listener that any reactor may accept from. Listeners and sockets are gone after a power cut.
    pub fn listen(&self) -> ListenerId {
        self.0.borrow_mut().listen()
    }

    /// Connects to a listener; the returned end is for whoever plays the client, on any reactor.
    pub fn connect(&self, listener: ListenerId) -> SocketId {
        self.0.borrow_mut().connect(listener)
    }

    /// Two connected sockets.
    pub fn socket_pair(&self) -> (SocketId, SocketId) {
        self.0.borrow_mut().socket_pair()
    }
}
