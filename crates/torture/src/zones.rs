//! Which members of an array are to be written in order, and what their zones are.

use cygnus_format::DATA_START;
use cygnus_runtime::Zones;
use cygnus_types::BLOCK;

/// Which members are to be written in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zoned {
    /// Blocks of a zone; segments have whole ones.
    pub(crate) zone: u32,
    /// 1: all members are; n: all but every n-th.
    pub(crate) but: usize,
    /// Blocks of the area for patches, at least; 256 is as few as such a device must have, so that it is full at times.
    pub(crate) patches: u32,
}

impl Zoned {
    /// Zones that may be written anywhere.
    fn conventional(self) -> u32 {
        ((DATA_START / BLOCK as u64) as u32 + self.patches + self.zone).div_ceil(self.zone)
    }

    /// Blocks that are left free before the first segment.
    pub(crate) fn lead_blocks(self) -> u32 {
        self.conventional() * self.zone - (DATA_START / BLOCK as u64) as u32
    }

    /// The zones of a member, if it has any.
    pub(crate) fn of_member(self, member: usize) -> Option<Zones> {
        let has_zones = self.but == 1 || !member.is_multiple_of(self.but);
        has_zones.then_some(Zones {
            bytes: u64::from(self.zone) * BLOCK as u64,
            conventional: Some(self.conventional()),
            open_limit: 0,
            commands: true,
        })
    }
}
