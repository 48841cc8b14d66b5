//! Devices whose time is told by a model of a drive instead of a formula.
//!
//! A model knows nothing of contents or faults: those stay with [`crate::disk`], as for every device. It is given each
//! admitted operation and says when that ends.

use cygnus_runtime::{Capabilities, DeviceClass, ZoneInfo, Zones};
use cygnus_ssd::{Command, Convert, Counters, Device, Done, Hint, Model, ZoneState};
use cygnus_types::{BLOCK, Nanos};

use crate::agenda::Agenda;
use crate::disk::Action;

/// The models of a world's devices.
#[derive(Default)]
pub(crate) struct Models {
    models: Vec<Model>,
    /// By device, the place of its model.
    places: Vec<Option<u32>>,
    agenda: Agenda,
    done: Vec<Done>,
}

fn command(action: &Action) -> Option<Command> {
    let blocks = |len: u64| u32::try_from(len / BLOCK as u64).ok().filter(|&blocks| blocks > 0);
    Some(match action {
        Action::Read { offset, buf } => Command::Read { lba: offset / BLOCK as u64, blocks: blocks(buf.len() as u64)? },
        Action::Write { offset, buf, oob } => {
            let blocks = blocks(buf.len() as u64)?;
            let beside = oob.as_ref().map_or(0, |oob| (oob.len() / blocks as usize) as u16);
            let hint = Hint { oob: beside, ..Hint::default() };
            Command::Write { lba: offset / BLOCK as u64, blocks, fua: false, hint }
        }
        Action::Append { zone, buf } => Command::Append { zone: *zone, blocks: blocks(buf.len() as u64)? },
        Action::Reset { zone } => Command::ResetZone { zone: *zone },
        Action::Report { .. } => Command::ReportZones,
        Action::ReadOob { offset, blocks, .. } => Command::ReadOob { lba: offset / BLOCK as u64, blocks: *blocks },
        Action::Convert(conversion) => Command::Convert(Convert {
            source: conversion.source / BLOCK as u64,
            destination: conversion.destination / BLOCK as u64,
            chunk: blocks(conversion.chunk)?,
            chunks: conversion.chunks,
            parity_row: conversion.row,
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
            self.agenda.add();
            self.models.len() as u32 - 1
        });
        self.places.push(place);
    }

    /// Gives an operation to its device's model; `false` if there is none, or nothing for it to do.
    pub(crate) fn submit(&mut self, device: usize, now: Nanos, id: u64, action: &Action) -> bool {
        let Some(place) = self.places[device] else { return false };
        let Some(command) = command(action) else { return false };
        self.models[place as usize].submit(now, id, command);
        self.reschedule(place as usize);
        true
    }

    fn reschedule(&mut self, place: usize) {
        self.agenda.set(place, self.models[place].next_event());
    }

    /// When something happens next in any of them.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        self.agenda.next().map(|(at, _)| at)
    }

    /// Lets the next event happen and moves what completed by it into `ended`.
    pub(crate) fn step(&mut self, ended: &mut Vec<Done>) {
        let Some((at, place)) = self.agenda.next() else { return };
        self.models[place].advance(at, &mut self.done);
        ended.append(&mut self.done);
        self.reschedule(place);
    }

    /// The power goes: whatever was in flight comes to nothing.
    pub(crate) fn power_cut(&mut self) {
        for place in 0..self.models.len() {
            // What is lost is for the disk to say, which holds the contents.
            self.models[place].power_cut();
            self.reschedule(place);
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
        self.models.iter().map(Device::events).sum()
    }

    /// Bytes of translation state of all models.
    pub(crate) fn memory(&self) -> u64 {
        self.models.iter().map(Model::memory).sum()
    }
}

/// What a model can do. A device that keeps no contents can store nothing beside them.
pub(crate) fn capabilities(model: &Model, trim: bool, keeps_contents: bool) -> Capabilities {
    let features = model.features();
    let zones = model.zone(0).map(|first| Zones {
        bytes: first.blocks * BLOCK as u64,
        conventional: Some(
            (0..features.zones)
                .filter(|&n| model.zone(n).is_some_and(|zone| zone.state == ZoneState::Conventional))
                .count() as u32,
        ),
        open_limit: features.open_zones,
        commands: true,
    });
    Capabilities {
        class: match model {
            Model::Ssd(_) => DeviceClass::Flash,
            Model::Disk(_) => DeviceClass::Disk,
        },
        trim,
        zones,
        convert: features.convert,
        oob_bytes: if keeps_contents { features.oob_bytes as u16 } else { 0 },
    }
}
