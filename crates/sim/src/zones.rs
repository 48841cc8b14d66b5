//! The zones of a device that is to be written in order: what such a device refuses, and what a power cut leaves of it.

use std::ops::Range;

use cygnus_runtime::{Rng, ZoneInfo, Zones};
use cygnus_types::BLOCK;

/// What a device gives of a zone where nothing is written: drives give anything, and who takes it for something finds out here.
pub(crate) const UNWRITTEN: [u8; BLOCK] = [0xff; BLOCK];

/// How a sequential zone stands; in blocks of the device.
#[derive(Clone)]
struct Zone {
    pointer: u64,
    /// Where a power cut leaves it at least.
    durable: u64,
    /// Where it stood behind each write since, with the tick of its completion.
    written: Vec<(u64, u64)>,
}

impl Zone {
    fn at(pointer: u64) -> Self {
        Self { pointer, durable: pointer, written: Vec::new() }
    }
}

/// The zones of a device.
#[derive(Clone)]
pub(crate) struct ZoneTable {
    zone: u64,
    /// Blocks of a sequential zone that can be written.
    capacity: u64,
    size: u64,
    conventional: u64,
    /// Sequential zones that can be partly written at a time; 0: any number.
    active_limit: usize,
    sequential: Vec<Zone>,
}

impl ZoneTable {
    /// All zones of a device of `size` bytes, empty.
    pub(crate) fn new(zones: &Zones, size: u64) -> Self {
        let (active_limit, capacity) = (zones.active_limit as usize, zones.capacity / BLOCK as u64);
        let conventional = u64::from(zones.conventional.unwrap_or(0));
        let (zone, size) = (zones.bytes / BLOCK as u64, size / BLOCK as u64);
        let sequential = (conventional..size.div_ceil(zone)).map(|n| Zone::at(n * zone)).collect();
        Self { zone, capacity, size, conventional, active_limit, sequential }
    }

    fn start(&self, zone: u64) -> u64 {
        zone * self.zone
    }

    /// Which of the sequential zones a block would lie in.
    fn nth_sequential(&self, block: u64) -> Option<usize> {
        (block / self.zone).checked_sub(self.conventional).map(|n| n as usize)
    }

    fn sequential_at(&mut self, block: u64) -> Option<&mut Zone> {
        let n = self.nth_sequential(block)?;
        self.sequential.get_mut(n)
    }

    /// Whether nothing was written there since the zone was reset.
    pub(crate) fn is_unwritten(&self, block: u64) -> bool {
        self.nth_sequential(block).and_then(|n| self.sequential.get(n)).is_some_and(|zone| block >= zone.pointer)
    }

    /// Where a sequential zone ends that begins at a block: behind all of it that can be written.
    fn end(&self, start: u64) -> u64 {
        (start + self.capacity).min(self.size)
    }

    /// Whether a write goes on where its zone does, and does not make one too many that is partly written.
    pub(crate) fn admits(&mut self, blocks: &Range<u64>) -> bool {
        if blocks.end <= self.conventional * self.zone {
            return true;
        }
        let start = blocks.start / self.zone * self.zone;
        let (end, begins) = (self.end(start), blocks.start == start);
        let goes_on = self.sequential_at(start).is_some_and(|zone| zone.pointer == blocks.start);
        goes_on && blocks.end <= end && !(begins && self.active_limit > 0 && self.active() >= self.active_limit)
    }

    /// How many zones are partly written.
    fn active(&self) -> usize {
        let first = self.conventional;
        let is_active = |n: u64, zone: &Zone| zone.pointer > self.start(n) && zone.pointer < self.end(self.start(n));
        (first..).zip(&self.sequential).filter(|(n, zone)| is_active(*n, zone)).count()
    }

    /// Nothing more is written to a zone until it is reset. `None`: it is conventional, or there is none.
    pub(crate) fn finish(&mut self, zone: u32) -> Option<()> {
        let start = self.start(zone.into());
        let end = self.end(start);
        *self.sequential_at(start)? = Zone::at(end);
        Some(())
    }

    /// Blocks were written where their zone went on.
    pub(crate) fn advance(&mut self, blocks: &Range<u64>, tick: u64) {
        if let Some(zone) = self.sequential_at(blocks.start) {
            zone.pointer = blocks.end;
            zone.written.push((tick, blocks.end));
        }
    }

    /// What was written before a flush that was submitted at `barrier` is durable.
    pub(crate) fn harden(&mut self, barrier: u64) {
        for zone in &mut self.sequential {
            let covered = zone.written.iter().take_while(|(tick, _)| *tick <= barrier).count();
            if let Some((_, durable)) = zone.written.drain(..covered).next_back() {
                zone.durable = durable;
            }
        }
    }

    /// The device loses its cache. Tells of each zone that had something in it which blocks stay, and which are gone: a zone never has
    /// a hole.
    pub(crate) fn lose_power(&mut self, rng: &mut Rng, keep: u64) -> Vec<(Range<u64>, Range<u64>)> {
        let mut fates = Vec::new();
        for zone in self.sequential.iter_mut().filter(|zone| zone.durable != zone.pointer) {
            let (durable, pointer) = (zone.durable, zone.pointer);
            let left = match keep {
                0 => durable,
                256 => pointer,
                _ => durable + rng.below(pointer - durable + 1),
            };
            *zone = Zone::at(left);
            fates.push((durable..left, left..pointer));
        }
        fates
    }

    /// A zone is empty, for good. Its blocks; `None`: it is conventional, or there is none.
    pub(crate) fn reset(&mut self, zone: u32) -> Option<Range<u64>> {
        let start = self.start(zone.into());
        *self.sequential_at(start)? = Zone::at(start);
        Some(start..(start + self.zone).min(self.size))
    }

    /// How a zone stands, if there is one.
    pub(crate) fn info(&mut self, zone: u32) -> Option<ZoneInfo> {
        let start = self.start(zone.into());
        let bytes = |blocks: u64| blocks * BLOCK as u64;
        let left = self.size.checked_sub(start).filter(|&left| left > 0)?;
        let pointer = self.sequential_at(start).map(|zone| bytes(zone.pointer));
        let capacity = bytes(left.min(if pointer.is_some() { self.capacity } else { self.zone }));
        Some(ZoneInfo { start: bytes(start), capacity, pointer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> ZoneTable {
        let zones = Zones {
            bytes: 8 * BLOCK as u64,
            capacity: 8 * BLOCK as u64,
            conventional: Some(1),
            active_limit: 0,
            commands: true,
        };
        ZoneTable::new(&zones, 30 * BLOCK as u64)
    }

    #[test]
    fn a_zone_is_written_in_order_and_forgotten_as_a_whole() {
        let mut table = table();
        assert!(table.admits(&(3..8)) && table.admits(&(0..1)), "conventional");
        assert!(!table.admits(&(7..9)), "over the end of a zone");
        assert!(table.admits(&(8..10)) && !table.admits(&(9..10)));
        table.advance(&(8..10), 1);
        assert!(table.admits(&(10..16)) && !table.admits(&(8..10)) && !table.admits(&(10..17)));
        assert_eq!(table.info(1).unwrap().pointer, Some(10 * BLOCK as u64));
        assert_eq!((table.info(0).unwrap().pointer, table.info(3).unwrap().capacity), (None, 6 * BLOCK as u64));
        assert!(table.info(4).is_none());
        assert_eq!((table.reset(1), table.reset(0), table.reset(3)), (Some(8..16), None, Some(24..30)));
        assert!(table.admits(&(8..9)));
    }

    #[test]
    fn a_power_cut_leaves_no_hole() {
        let mut left = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let mut table = table();
            table.advance(&(8..10), 1);
            table.advance(&(10..13), 4);
            table.harden(3);
            let fates = table.lose_power(&mut Rng::new(seed), 128);
            let (stay, gone) = fates[0].clone();
            assert_eq!((stay.start, stay.end, gone.end), (10, gone.start, 13));
            assert!(table.admits(&(stay.end..stay.end + 1)));
            left.insert(stay.end);
        }
        assert_eq!(left.len(), 4, "{left:?}");
    }
}
