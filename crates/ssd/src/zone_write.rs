//! Programs of zones: which unit of which zone a die takes next.

use crate::state::Ssd;

impl Ssd {
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
    pub(crate) fn end_zone(&mut self, zone: u32) {
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
