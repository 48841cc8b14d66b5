//! Host-managed zones: each is a row of erase blocks on neighbouring dies, written strictly in order.
//!
//! There is no garbage collection: space comes back only when the host resets a zone, whose blocks are then erased in the
//! background. A bare flash module is the same with zones of one erase block.

use crate::config::ZoneLayout;
use crate::device::{Command, DeviceError};
use crate::ftl::Place;
use crate::ssd::Ssd;
use crate::zone_table::ZoneTable;

/// What the drive keeps of a zone besides its pointer.
#[derive(Clone, Debug, Default)]
struct Record {
    /// Pages that are in the cache or further.
    arrived: u32,
    /// Told apart in the cache by this, while it has pages there or will get some.
    stream: Option<u32>,
    /// Units sent to the dies.
    units: u32,
    /// Resets so far: pages still on the link at a reset belong to the past.
    generation: u32,
    /// Erase blocks in use, in the order of the dies.
    blocks: Vec<u32>,
}

/// All zones of a drive.
#[derive(Clone, Debug)]
pub(crate) struct Zones {
    pub(crate) table: ZoneTable,
    /// Dies per zone.
    span: u32,
    list: Vec<Record>,
    /// Zones with a stream.
    active: Vec<u32>,
}

impl Zones {
    pub(crate) fn new(layout: ZoneLayout, size: u32, logical: u32) -> Zones {
        let zones = logical / size;
        let table = ZoneTable::new(size, zones, 0, layout.open);
        Zones { table, span: layout.dies, list: vec![Record::default(); zones as usize], active: Vec::new() }
    }

    /// Whether nothing more will arrive: what does not fill a unit is padded.
    fn is_complete(&self, zone: u32) -> bool {
        self.table.is_finished(zone) && self.list[zone as usize].arrived == self.table.offset(zone)
    }

    /// The die that the zone's next unit goes to.
    fn next_die(&self, zone: u32, dies: u32) -> u32 {
        (zone * self.span + self.list[zone as usize].units % self.span) % dies
    }

    /// A page of a zone is about to enter the cache: the stream it belongs to, unless the zone was reset meanwhile.
    pub(crate) fn arrival(&self, lpn: u32, generation: u32) -> Option<u32> {
        let record = &self.list[(lpn / self.table.size()) as usize];
        record.stream.filter(|_| record.generation == generation)
    }

    /// It has entered the cache.
    pub(crate) fn arrived(&mut self, lpn: u32) {
        self.list[(lpn / self.table.size()) as usize].arrived += 1;
    }

    /// Pages that did not arrive never will: the write pointers stand where the data ends.
    pub(crate) fn cut(&mut self) {
        for (zone, record) in (0..).zip(&self.list) {
            self.table.retreat(zone, record.arrived);
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
        let table = &mut self.zones_mut().table;
        let (zone, lba) = match transit.command {
            Command::Append { zone, .. } => (zone, None),
            Command::Write { lba, .. } => (table.zone_of(lba), Some(lba)),
            _ => unreachable!("only writes"),
        };
        let first = table.accept(zone, lba, transit.pages)?;
        if self.zones_mut().list[zone as usize].stream.is_none() {
            let stream = self.cache.open_stream();
            let zones = self.zones_mut();
            zones.list[zone as usize].stream = Some(stream);
            zones.active.push(zone);
        }
        let generation = self.zones_mut().list[zone as usize].generation;
        let accepted = &mut self.transits[at as usize];
        (accepted.lba, accepted.generation) = (first as u32, generation);
        accepted.appended = lba.is_none().then_some(first);
        Ok(())
    }

    /// Resets, finishes or reports.
    pub(crate) fn manage_zones(&mut self, command: Command) -> Result<(), DeviceError> {
        match command {
            Command::ResetZone { zone } => {
                self.zones_mut().table.sequential(zone)?;
                self.counters.zone_resets += 1;
                self.reset_zone(zone);
            }
            Command::FinishZone { zone } => {
                self.zones_mut().table.sequential(zone)?;
                self.zones_mut().table.finish(zone);
                self.end_zone(zone);
                self.feed_zones();
            }
            _ => {}
        }
        Ok(())
    }

    fn reset_zone(&mut self, zone: u32) {
        let size = self.zones_mut().table.size();
        for lpn in zone * size..(zone + 1) * size {
            if let Place::Cache(slot) = self.ftl.place(lpn) {
                self.cache.kill(slot);
            }
            self.ftl.trim(lpn);
        }
        let zones = self.zones_mut();
        zones.table.reset(zone);
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
            zones.next_die(zone, dies) == die && (waiting >= unit || (waiting > 0 && zones.is_complete(zone)))
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
        let nth = (record.units % zones.span) as usize;
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
        let Some(stream) = zones.list[zone as usize].stream else { return };
        let is_written = zones.list[zone as usize].units * unit >= zones.table.size();
        let is_finished = zones.is_complete(zone) && self.cache.waiting_in(stream) == 0;
        if is_written || is_finished {
            zones.list[zone as usize].stream = None;
            zones.active.retain(|&active| active != zone);
            self.cache.close_stream(stream);
        }
    }
}
