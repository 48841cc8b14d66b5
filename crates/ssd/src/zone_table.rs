//! Zones as the host knows them: write pointers and states. What a zone is made of is the device's business.

use crate::device::{DeviceError, Zone, ZoneState};

#[derive(Clone, Copy, Debug, Default)]
struct Pointer {
    /// Blocks from the zone's start to where the host writes next.
    offset: u32,
    is_finished: bool,
}

/// Zones of equal size, the first ones conventional.
#[derive(Clone, Debug)]
pub(crate) struct ZoneTable {
    /// Blocks per zone.
    size: u32,
    conventional: u32,
    /// Zones that may be open at a time; 0 for any number.
    limit: u32,
    open: u32,
    pointers: Vec<Pointer>,
}

impl ZoneTable {
    pub(crate) fn new(size: u32, zones: u32, conventional: u32, limit: u32) -> ZoneTable {
        ZoneTable { size, conventional, limit, open: 0, pointers: vec![Pointer::default(); zones as usize] }
    }

    pub(crate) fn count(&self) -> u32 {
        self.pointers.len() as u32
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    pub(crate) fn zone_of(&self, lba: u64) -> u32 {
        (lba / u64::from(self.size)) as u32
    }

    pub(crate) fn is_conventional(&self, zone: u32) -> bool {
        zone < self.conventional
    }

    pub(crate) fn start(&self, zone: u32) -> u64 {
        u64::from(zone) * u64::from(self.size)
    }

    /// Blocks written since the last reset.
    pub(crate) fn offset(&self, zone: u32) -> u32 {
        self.pointers[zone as usize].offset
    }

    pub(crate) fn is_finished(&self, zone: u32) -> bool {
        self.pointers[zone as usize].is_finished
    }

    fn state(&self, zone: u32) -> ZoneState {
        let pointer = self.pointers[zone as usize];
        match pointer.offset {
            _ if self.is_conventional(zone) => ZoneState::Conventional,
            offset if pointer.is_finished || offset == self.size => ZoneState::Full,
            0 => ZoneState::Empty,
            _ => ZoneState::Open,
        }
    }

    /// Changes a zone's pointer and counts open zones.
    fn set(&mut self, zone: u32, offset: u32, is_finished: bool) {
        let before = self.state(zone) == ZoneState::Open;
        self.pointers[zone as usize] = Pointer { offset, is_finished };
        let after = self.state(zone) == ZoneState::Open;
        self.open = self.open + u32::from(after) - u32::from(before);
    }

    /// As the host sees it.
    pub(crate) fn report(&self, zone: u32) -> Option<Zone> {
        let offset = self.pointers.get(zone as usize)?.offset;
        let (start, blocks) = (self.start(zone), u64::from(self.size));
        let pointer = start + u64::from(offset);
        Some(Zone { start, blocks, capacity: blocks, pointer, state: self.state(zone) })
    }

    /// That there is such a zone, and that it has a write pointer.
    pub(crate) fn sequential(&self, zone: u32) -> Result<(), DeviceError> {
        let zones = self.count();
        match zone {
            zone if zone >= zones => Err(DeviceError::NoSuchZone { zone, zones }),
            zone if self.is_conventional(zone) => Err(DeviceError::Conventional { zone }),
            _ => Ok(()),
        }
    }

    /// Checks a write to a sequential zone and moves the write pointer; gives the block where it goes. `lba`: where the
    /// host wants it, if it says so.
    pub(crate) fn accept(&mut self, zone: u32, lba: Option<u64>, blocks: u32) -> Result<u64, DeviceError> {
        self.sequential(zone)?;
        let (offset, state, limit) = (self.offset(zone), self.state(zone), self.limit);
        let left = if state == ZoneState::Full { 0 } else { self.size - offset };
        if blocks > left {
            return Err(DeviceError::ZoneFull { zone, blocks, left: u64::from(left) });
        }
        let pointer = self.start(zone) + u64::from(offset);
        if let Some(lba) = lba.filter(|&lba| lba != pointer) {
            return Err(DeviceError::NotAtWritePointer { zone, lba, pointer });
        }
        if state == ZoneState::Empty && limit > 0 && self.open >= limit {
            return Err(DeviceError::TooManyOpen { zone, limit });
        }
        self.set(zone, offset + blocks, false);
        Ok(pointer)
    }

    /// Empties a zone.
    pub(crate) fn reset(&mut self, zone: u32) {
        self.set(zone, 0, false);
    }

    /// Makes a zone full where it stands.
    pub(crate) fn finish(&mut self, zone: u32) {
        self.set(zone, self.offset(zone), true);
    }

    /// Data beyond this never arrived.
    pub(crate) fn retreat(&mut self, zone: u32, offset: u32) {
        self.set(zone, offset, self.is_finished(zone));
    }
}
