//! What the host does with zones: writes that a zone accepts, resets, and feeding the dies of open zones.

use crate::device::{Command, DeviceError};
use crate::state::Ssd;
use crate::zone::Record;

impl Ssd {
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
        self.forget_range(zone * size, size);
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
            let die = self.ftl.die_of(block);
            self.condemn_block(die, block);
            self.wake(die);
        }
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
}
