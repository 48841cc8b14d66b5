//! Devices whose time is told by a model of a drive instead of a formula.
//!
//! A model knows nothing of contents or faults: those stay with [`crate::disk`], as for every device. It is given each
//! admitted operation and says when that ends.

use cygnus_fabric::{ClusterCounters, Topology};
use cygnus_runtime::{Capabilities, DeviceClass, ZoneInfo, Zones};
use cygnus_ssd::{Command, Convert, Counters, Device, Done, Hint, Model, ZoneState};
use cygnus_types::{BLOCK, Nanos};

use crate::agenda::Agenda;
use crate::disk::Action;
use crate::network::{Network, Step};

/// The models of a world's devices.
#[derive(Default)]
pub(crate) struct Models {
    models: Vec<Model>,
    /// By device, the place of its model.
    places: Vec<Option<u32>>,
    agenda: Agenda,
    done: Vec<Done>,
    /// The network before some of them, if there is one.
    network: Option<Network>,
    /// By place: the module of the network that the model is.
    modules: Vec<Option<u32>>,
    steps: Vec<Step>,
}

fn command(action: &Action) -> Option<Command> {
    let blocks = |len: u64| u32::try_from(len / BLOCK as u64).ok().filter(|&blocks| blocks > 0);
    Some(match action {
        Action::Read { offset, buf } => Command::Read { lba: offset / BLOCK as u64, blocks: blocks(buf.len() as u64)? },
        Action::Write { offset, buf, oob, transient } => {
            let blocks = blocks(buf.len() as u64)?;
            let beside = oob.as_ref().map_or(0, |oob| (oob.len() / blocks as usize) as u16);
            let hint = Hint { oob: beside, transient: *transient, ..Hint::default() };
            Command::Write { lba: offset / BLOCK as u64, blocks, fua: false, hint }
        }
        Action::Append { zone, buf } => Command::Append { zone: *zone, blocks: blocks(buf.len() as u64)? },
        Action::Reset { zone } => Command::ResetZone { zone: *zone },
        Action::Finish { zone } => Command::FinishZone { zone: *zone },
        Action::Report { .. } => Command::ReportZones,
        Action::ReadOob { offset, blocks, .. } => Command::ReadOob { lba: offset / BLOCK as u64, blocks: *blocks },
        Action::Convert(conversion) => Command::Convert(Convert {
            source: conversion.source / BLOCK as u64,
            destination: conversion.destination / BLOCK as u64,
            chunk: blocks(conversion.chunk)?,
            chunks: conversion.chunks,
            parity_row: conversion.row,
            keeps: conversion.keeps,
        }),
        Action::Trim { offset, len } => Command::Trim { lba: offset / BLOCK as u64, blocks: blocks(*len)? },
        Action::Flush { .. } => Command::Flush,
        Action::Clear { .. } | Action::Reopen | Action::Refused(_) => return None,
    })
}

impl Models {
    /// Registers the next device of the world.
    pub(crate) fn add(&mut self, model: Option<Model>) {
        let place = model.map(|model| {
            self.models.push(model);
            self.modules.push(None);
            self.agenda.add();
            self.models.len() as u32 - 1
        });
        self.places.push(place);
    }

    /// Gives an operation to its device's model; `false` if there is none, or nothing for it to do.
    pub(crate) fn submit(&mut self, device: usize, now: Nanos, id: u64, action: &Action) -> bool {
        let Some(place) = self.places[device] else { return false };
        let Some(command) = command(action) else { return false };
        if let (Some(network), Some(module)) = (&mut self.network, self.modules[place as usize]) {
            let oob = self.models[place as usize].features().oob_bytes;
            network.submit(now, id, (module, place), command, oob);
            return true;
        }
        self.models[place as usize].submit(now, id, command);
        self.reschedule(place as usize);
        true
    }

    /// Puts devices behind a network: they are its modules, in that order.
    pub(crate) fn attach(&mut self, topology: Topology, devices: impl Iterator<Item = usize>) {
        assert!(self.network.is_none(), "a world has one network at most");
        let mut working = Vec::new();
        for (module, device) in (0..).zip(devices) {
            let place = self.places[device].expect("only a modelled device is behind a network") as usize;
            let before = self.modules[place].replace(module);
            assert!(before.is_none(), "a device is one module");
            working.push(self.models[place].working_times());
        }
        assert!(working.len() <= topology.modules() as usize, "a network has as many modules as devices behind it");
        self.network = Some(Network::new(topology, working));
    }

    /// What the clusters of the network have counted; nothing without one.
    pub(crate) fn clusters(&self) -> Vec<ClusterCounters> {
        self.network.as_ref().map(Network::counters).unwrap_or_default()
    }

    fn reschedule(&mut self, place: usize) {
        self.agenda.set(place, self.models[place].next_event());
    }

    /// When something happens next in any of them.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        let own = self.agenda.next().map(|(at, _)| at);
        let Some(network) = &self.network else { return own };
        [own, network.next_event()].into_iter().flatten().min()
    }

    /// Lets the next event happen and moves what completed by it into `ended`.
    pub(crate) fn step(&mut self, ended: &mut Vec<Done>) {
        let own = self.agenda.next();
        if let Some(network) = &mut self.network
            && let Some(at) = network.next_event()
            && own.is_none_or(|(own, _)| at <= own)
        {
            network.advance(at, &mut self.steps);
            return self.follow(at, ended);
        }
        let Some((at, place)) = own else { return };
        self.models[place].advance(at, &mut self.done);
        match (&mut self.network, self.modules[place]) {
            (Some(network), Some(module)) => self.done.drain(..).for_each(|done| network.done(module, done)),
            _ => ended.append(&mut self.done),
        }
        self.reschedule(place);
    }

    /// Does what the network has come to: models get commands, operations end.
    fn follow(&mut self, now: Nanos, ended: &mut Vec<Done>) {
        for n in 0..self.steps.len() {
            match self.steps[n] {
                Step::Submit(place, id, command) => {
                    self.models[place as usize].submit(now, id, command);
                    self.reschedule(place as usize);
                }
                Step::End(done) => ended.push(done),
            }
        }
        self.steps.clear();
    }

    /// The power goes: whatever was in flight comes to nothing.
    pub(crate) fn power_cut(&mut self) {
        for place in 0..self.models.len() {
            // What is lost is for the disk to say, which holds the contents.
            self.models[place].power_cut();
            self.reschedule(place);
        }
        if let Some(network) = &mut self.network {
            network.power_cut();
        }
    }

    /// How a zone of a device stands, if there is such a zone: its blocks, and what to tell.
    pub(crate) fn zone(&self, device: usize, zone: u32) -> Option<(std::ops::Range<u64>, ZoneInfo)> {
        let zone = self.models[self.places[device]? as usize].zone(zone)?;
        let bytes = |blocks: u64| blocks * BLOCK as u64;
        let info = ZoneInfo {
            start: bytes(zone.start),
            capacity: bytes(zone.capacity),
            pointer: (zone.state != ZoneState::Conventional).then(|| bytes(zone.pointer)),
        };
        Some((zone.start..zone.start + zone.blocks, info))
    }

    /// What a device's model has counted, if it has one.
    pub(crate) fn counters(&self, device: usize) -> Option<Counters> {
        let place = self.places[device]?;
        Some(*self.models[place as usize].counters())
    }

    /// Smallest and greatest erase count of a device's flash blocks, if it has a model.
    pub(crate) fn wear(&self, device: usize) -> Option<(u32, u32)> {
        let place = self.places[device]?;
        Some(self.models[place as usize].wear())
    }

    /// Events of all models so far.
    pub(crate) fn events(&self) -> u64 {
        self.models.iter().map(Device::events).sum::<u64>() + self.network.as_ref().map_or(0, Network::events)
    }

    /// Bytes of translation state of all models.
    pub(crate) fn memory(&self) -> u64 {
        self.models.iter().map(Model::memory).sum()
    }
}

/// The zones of a model that is to be written in order.
pub(crate) fn zones_of(model: &Model) -> Option<Zones> {
    let (first, features) = (model.zone(0)?, model.features());
    let is_conventional = |n: &u32| model.zone(*n).is_some_and(|zone| zone.state == ZoneState::Conventional);
    Some(Zones {
        bytes: first.blocks * BLOCK as u64,
        capacity: first.capacity * BLOCK as u64,
        conventional: Some((0..features.zones).filter(is_conventional).count() as u32),
        active_limit: features.open_zones,
        commands: true,
    })
}

/// What a model can do. A device that keeps no contents can store nothing beside them.
pub(crate) fn capabilities(model: &Model, trim: bool, keeps_contents: bool) -> Capabilities {
    let features = model.features();
    Capabilities {
        class: match model {
            Model::Ssd(_) => DeviceClass::Flash,
            Model::Disk(_) => DeviceClass::Disk,
        },
        trim,
        zones: zones_of(model),
        resets: None,
        convert: features.convert,
        oob_bytes: if keeps_contents { features.oob_bytes as u16 } else { 0 },
        read_only: false,
    }
}
