//! Host-managed zones: each is a row of erase blocks on neighbouring dies, written strictly in order.
//!
//! There is no garbage collection: space comes back only when the host resets a zone, whose blocks are then erased in the
//! background. A bare flash module is the same with zones of one erase block.

use crate::config::ZoneLayout;
use crate::zone_table::ZoneTable;

/// What the drive keeps of a zone besides its pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// Pages that are in the cache or further.
    pub(crate) arrived: u32,
    /// Told apart in the cache by this, while it has pages there or will get some.
    pub(crate) stream: Option<u32>,
    /// Units sent to the dies.
    pub(crate) units: u32,
    /// Resets so far: pages still on the link at a reset belong to the past.
    pub(crate) generation: u32,
    /// Erase blocks in use, in the order of the dies.
    pub(crate) blocks: Vec<u32>,
}

/// All zones of a drive.
#[derive(Clone, Debug)]
pub(crate) struct Zones {
    pub(crate) table: ZoneTable,
    /// Dies per zone.
    pub(crate) span: u32,
    pub(crate) list: Vec<Record>,
    /// Zones with a stream.
    pub(crate) active: Vec<u32>,
}

impl Zones {
    pub(crate) fn new(layout: ZoneLayout, size: u32, logical: u32) -> Zones {
        let zones = logical / size;
        let table = ZoneTable::new(size, zones, 0, layout.open);
        Zones { table, span: layout.dies, list: vec![Record::default(); zones as usize], active: Vec::new() }
    }

    /// Whether nothing more will arrive: what does not fill a unit is padded.
    pub(crate) fn is_complete(&self, zone: u32) -> bool {
        self.table.is_finished(zone) && self.list[zone as usize].arrived == self.table.offset(zone)
    }

    /// The die that the zone's next unit goes to.
    pub(crate) fn next_die(&self, zone: u32, dies: u32) -> u32 {
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
