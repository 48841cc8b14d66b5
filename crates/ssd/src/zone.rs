//! Host-managed zones: each is a row of erase blocks on neighbouring dies, written strictly in order.
//!
//! There is no garbage collection: space comes back only when the host resets a zone, whose blocks are then erased in the
//! background. A bare flash module is the same with zones of one erase block.

use crate::config::ZoneLayout;
use crate::device::{Command, DeviceError, Zone, ZoneState};
use crate::ftl::Place;
use crate::ssd::Ssd;

/// A zone's state. Offsets are in pages from its start.
#[derive(Clone, Debug, Default)]
struct Record {
    /// Where the host writes next.
    pointer: u32,
    /// Pages that are in the cache or further.
    arrived: u32,
    is_finished: bool,
    /// Told apart in the cache by this, while it has pages there or will get some.
    stream: Option<u32>,
    /// Units sent to the dies.
    units: u32,
    /// Resets so far: pages still on the link at a reset belong to the past.
    generation: u32,
    /// Erase blocks in use, in the order of the dies.
    blocks: Vec<u32>,
}

impl Record {
    /// Nothing more will arrive: what does not fill a unit is padded.
    fn is_complete(&self) -> bool {
        self.is_finished && self.arrived == self.pointer
    }
}

/// All zones of a drive.
#[derive(Clone, Debug)]
pub(crate) struct Zones {
    layout: ZoneLayout,
    /// Pages per zone.
    size: u32,
    list: Vec<Record>,
    /// Zones with a stream.
    active: Vec<u32>,
}

impl Zones {
    pub(crate) fn new(layout: ZoneLayout, size: u32, logical: u32) -> Zones {
        Zones { layout, size, list: vec![Record::default(); (logical / size) as usize], active: Vec::new() }
    }

    pub(crate) fn count(&self) -> u32 {
        self.list.len() as u32
    }

    pub(crate) fn limit(&self) -> u32 {
        self.layout.open
    }

    fn state(&self, zone: u32) -> ZoneState {
        let record = &self.list[zone as usize];
        if record.is_finished || record.pointer == self.size {
            ZoneState::Full
        } else if record.pointer == 0 {
            ZoneState::Empty
        } else {
            ZoneState::Open
        }
    }

    /// As the host sees it.
    pub(crate) fn report(&self, zone: u32) -> Option<Zone> {
        let record = self.list.get(zone as usize)?;
        let (start, blocks) = (u64::from(zone) * u64::from(self.size), u64::from(self.size));
        let pointer = start + u64::from(record.pointer);
        Some(Zone { start, blocks, capacity: blocks, pointer, state: self.state(zone) })
    }

    fn exists(&self, zone: u32) -> Result<(), DeviceError> {
        let zones = self.count();
        if zone < zones { Ok(()) } else { Err(DeviceError::NoSuchZone { zone, zones }) }
    }

    /// Checks a write and moves the write pointer; gives where it goes. `lba`: where the host wants it, if it says so.
    fn accept(&mut self, zone: u32, lba: Option<u64>, blocks: u32) -> Result<u32, DeviceError> {
        self.exists(zone)?;
        let pointer = zone * self.size + self.list[zone as usize].pointer;
        let state = self.state(zone);
        let left = if state == ZoneState::Full { 0 } else { (zone + 1) * self.size - pointer };
        if blocks > left || left == 0 {
            return Err(DeviceError::ZoneFull { zone, blocks, left: u64::from(left) });
        }
        if let Some(lba) = lba.filter(|&lba| lba != u64::from(pointer)) {
            return Err(DeviceError::NotAtWritePointer { zone, lba, pointer: u64::from(pointer) });
        }
        let limit = self.layout.open;
        let is_open = |&zone: &u32| self.state(zone) == ZoneState::Open;
        if state == ZoneState::Empty && self.active.iter().filter(|zone| is_open(zone)).count() as u32 >= limit {
            return Err(DeviceError::TooManyOpen { zone, limit });
        }
        self.list[zone as usize].pointer += blocks;
        Ok(pointer)
    }

    /// The die that the zone's next unit goes to.
    fn next_die(&self, zone: u32, dies: u32) -> u32 {
        let span = self.layout.dies;
        (zone * span + self.list[zone as usize].units % span) % dies
    }

    /// A page of a zone is about to enter the cache: the stream it belongs to, unless the zone was reset meanwhile.
    pub(crate) fn arrival(&self, lpn: u32, generation: u32) -> Option<u32> {
        let record = &self.list[(lpn / self.size) as usize];
        record.stream.filter(|_| record.generation == generation)
    }

    /// It has entered the cache.
    pub(crate) fn arrived(&mut self, lpn: u32) {
        self.list[(lpn / self.size) as usize].arrived += 1;
    }

    /// Pages that did not arrive never will: the write pointers stand where the data ends.
    pub(crate) fn cut(&mut self) {
        for record in &mut self.list {
            record.pointer = record.arrived;
        }
    }
}

impl Ssd {
    fn zones_mut(&mut self) -> &mut Zones {
        self.zones.as_mut().expect("only a zoned drive takes this way")
    }

    /// A write or append passed the firmware: the zone takes it or not.
    pub(crate) fn accept_in_zone(&mut self, at: u32) -> Result<(), DeviceError> {
        let transit = self.transits[at as usize];
        let size = self.zones_mut().size;
        let (zone, lba) = match transit.command {
            Command::Append { zone, .. } => (zone, None),
            Command::Write { lba, .. } => ((lba / u64::from(size)) as u32, Some(lba)),
            _ => unreachable!("only writes"),
        };
        let first = self.zones_mut().accept(zone, lba, transit.pages)?;
        if self.zones_mut().list[zone as usize].stream.is_none() {
            let stream = self.cache.open_stream();
            let zones = self.zones_mut();
            zones.list[zone as usize].stream = Some(stream);
            zones.active.push(zone);
        }
        let generation = self.zones_mut().list[zone as usize].generation;
        let accepted = &mut self.transits[at as usize];
        (accepted.lba, accepted.generation) = (first, generation);
        accepted.appended = lba.is_none().then_some(u64::from(first));
        Ok(())
    }

    /// Resets, finishes or reports.
    pub(crate) fn manage_zones(&mut self, command: Command) -> Result<(), DeviceError> {
        match command {
            Command::ResetZone { zone } => {
                self.zones_mut().exists(zone)?;
                self.counters.zone_resets += 1;
                self.reset_zone(zone);
            }
            Command::FinishZone { zone } => {
                self.zones_mut().exists(zone)?;
                self.zones_mut().list[zone as usize].is_finished = true;
                self.end_zone(zone);
                self.feed_zones();
            }
            _ => {}
        }
        Ok(())
    }

    fn reset_zone(&mut self, zone: u32) {
        let size = self.zones_mut().size;
        for lpn in zone * size..(zone + 1) * size {
            if let Place::Cache(slot) = self.ftl.place(lpn) {
                self.cache.kill(slot);
            }
            self.ftl.trim(lpn);
        }
        let zones = self.zones_mut();
        zones.active.retain(|&active| active != zone);
        let record = &mut zones.list[zone as usize];
        let generation = record.generation.wrapping_add(1);
        let old = std::mem::replace(record, Record { generation, ..Record::default() });
        if let Some(stream) = old.stream {
            self.cache.close_stream(stream);
        }
        for block in old.blocks {
            self.ftl.condemn(block);
            self.erase_soon(block);
        }
        self.admit();
    }

    /// Lets idle dies take what open zones have for them.
    pub(crate) fn feed_zones(&mut self) {
        let mut n = 0;
        // Zones leave the list when their last unit is on its way.
        while let Some(&zone) = self.zones_mut().active.get(n) {
            let dies = self.ftl.shape.dies;
            let die = self.zones_mut().next_die(zone, dies);
            let before = self.zones_mut().list[zone as usize].units;
            self.wake(die);
            let still = self.zones_mut().active.get(n) == Some(&zone);
            let moved = self.zones_mut().list[zone as usize].units != before;
            n += usize::from(still && !moved);
        }
    }

    /// Programs the next unit of a zone that comes to this die next, if there is one.
    pub(crate) fn program_zone(&mut self, die: u32) -> bool {
        let (unit, dies) = (self.ftl.shape.unit, self.ftl.shape.dies);
        let Some(zones) = &self.zones else { return false };
        let is_due = |&&zone: &&u32| {
            let record = &zones.list[zone as usize];
            let waiting = record.stream.map_or(0, |stream| self.cache.waiting_in(stream));
            zones.next_die(zone, dies) == die && (waiting >= unit || (waiting > 0 && record.is_complete()))
        };
        let Some(&zone) = zones.active.iter().find(is_due) else { return false };
        let Some(block) = self.zone_block(zone, die) else { return false };
        let stream = self.zones_mut().list[zone as usize].stream.expect("it has pages waiting");
        self.zones_mut().list[zone as usize].units += 1;
        let pages = self.take_unit(die, block, stream);
        self.ftl.pad(block, unit - pages);
        self.counters.padding += u64::from(unit - pages);
        self.ftl.close_if_full(block);
        self.begin_program(die, block, unit);
        self.end_zone(zone);
        true
    }

    /// The zone's block on a die. `None` while the die has none free, because the erase of one is still to come.
    fn zone_block(&mut self, zone: u32, die: u32) -> Option<u32> {
        let zones = self.zones.as_ref().expect("a zoned drive");
        let record = &zones.list[zone as usize];
        let nth = (record.units % zones.layout.dies) as usize;
        if let Some(&block) = record.blocks.get(nth) {
            return Some(block);
        }
        if self.ftl.free(die) == 0 {
            return None;
        }
        let block = self.ftl.open(die, false);
        self.zones_mut().list[zone as usize].blocks.push(block);
        Some(block)
    }

    /// A zone that is full and has nothing more on its way gives its stream back.
    fn end_zone(&mut self, zone: u32) {
        let unit = self.ftl.shape.unit;
        let zones = self.zones.as_mut().expect("a zoned drive");
        let record = &mut zones.list[zone as usize];
        let Some(stream) = record.stream else { return };
        let is_written = record.units * unit >= zones.size;
        let is_finished = record.is_complete() && self.cache.waiting_in(stream) == 0;
        if is_written || is_finished {
            record.stream = None;
            zones.active.retain(|&active| active != zone);
            self.cache.close_stream(stream);
        }
    }
}
