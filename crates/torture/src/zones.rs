//! Which members of an array are to be written in order, and what their zones are.

use cygnus_format::DATA_START;
use cygnus_runtime::Zones;
use cygnus_types::{BLOCK, Medium};

/// Which members are to be written in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zoned {
    /// Blocks of a zone; segments have whole ones.
    pub(crate) zone: u32,
    /// 1: all members are; n: all but every n-th.
    pub(crate) but: usize,
    /// Blocks of the area for patches, at least; 256 is as few as such a device must have, so that it is full at times. Flash has as
    /// many as its log has room for.
    pub(crate) patches: u32,
    /// They are zoned flash, and no shingled disks.
    pub(crate) flash: Option<Flash>,
    /// Only those in groups on this medium are.
    pub(crate) on: Option<Medium>,
    /// Of groups, only those of every second set of devices have any.
    pub(crate) every_second_group: bool,
}

/// What zoned flash lacks besides conventional zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flash {
    /// Blocks at the end of each zone that cannot be written.
    pub(crate) hole: u32,
    /// Zones that can be partly written at a time; 0: as many as there are.
    pub(crate) active: u32,
}

/// Blocks of the shortest zones that flash has here.
pub(crate) const LEAST_OF_FLASH: u32 = 8;

impl Zoned {
    /// Zones that may be written anywhere.
    fn conventional(self) -> u32 {
        ((DATA_START / BLOCK as u64) as u32 + self.patches + self.zone).div_ceil(self.zone)
    }

    /// The first block that can be the first one of a segment.
    fn first(self) -> u32 {
        match self.flash {
            None => self.conventional() * self.zone,
            Some(flash) => {
                let large = u64::from(flash.hole + self.zone) * BLOCK as u64 * (1 << 20);
                let shape = cygnus_zoned::Shape::of(&self.zones(), large).expect("these zones can be a member's");
                shape.lead() as u32
            }
        }
    }

    /// Blocks that are left free before the first segment, behind transient areas of so many blocks.
    pub(crate) fn lead_blocks(self, transient: u32) -> u32 {
        let behind_area = (DATA_START / BLOCK as u64) as u32 + transient;
        self.first().max(behind_area).next_multiple_of(self.zone) - behind_area
    }

    /// The zones of a member of a group on a medium, if it has any; `set` is which devices may be its group, if it is not a spare.
    pub(crate) fn of_member(self, member: usize, set: Option<usize>, medium: Option<Medium>) -> Option<Zones> {
        let is_in_such_a_group = !self.every_second_group || set.is_none_or(|set| set % 2 == 1);
        let is_among_them = is_in_such_a_group && self.on.is_none_or(|on| medium == Some(on));
        let has_zones = is_among_them && (self.but == 1 || !member.is_multiple_of(self.but));
        has_zones.then(|| self.zones())
    }

    fn zones(self) -> Zones {
        let capacity = u64::from(self.zone) * BLOCK as u64;
        match self.flash {
            None => {
                let conventional = Some(self.conventional());
                Zones { bytes: capacity, capacity, conventional, active_limit: 0, commands: true }
            }
            Some(Flash { hole, active }) => {
                let bytes = capacity + u64::from(hole) * BLOCK as u64;
                Zones { bytes, capacity, conventional: Some(0), active_limit: active, commands: true }
            }
        }
    }

    /// Bytes of a device with these zones of which so many can be written.
    pub(crate) fn device_bytes(self, zones: &Zones, bytes: u64) -> u64 {
        match self.flash {
            Some(_) => bytes / zones.capacity * zones.bytes,
            None => bytes,
        }
    }
}
