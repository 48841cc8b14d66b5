//! Where every block lies.

use serde::{Deserialize, Serialize};

/// A RAID level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Chunks dealt out to all devices; no redundancy.
    Raid0,
    /// The same on every device.
    Raid1,
    /// Parity on the last device.
    Raid4,
    /// One parity chunk per stripe, moving from stripe to stripe (left-symmetric, md's default).
    Raid5,
    /// Two parity chunks per stripe, moving likewise.
    Raid6,
    /// Chunks dealt out to pairs of devices ("near 2").
    Raid10,
}

/// The name given is no level.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown level {0:?}; the levels are raid0, raid1, raid4, raid5, raid6 and raid10")]
pub struct UnknownLevel(pub String);

/// A layout that cannot be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Too few devices, or an odd number for RAID-10.
    #[error("{level} needs {needs}, not {given}")]
    Devices {
        /// The level.
        level: &'static str,
        /// What it needs.
        needs: &'static str,
        /// How many were given.
        given: usize,
    },
    /// No whole chunk fits on a device.
    #[error("devices of {device_blocks} blocks hold no chunk of {chunk_blocks}; chunks have 1 to 256 blocks of 4 KiB")]
    Chunk {
        /// Blocks of a device.
        device_blocks: u64,
        /// Blocks of a chunk.
        chunk_blocks: u32,
    },
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 6] = [Level::Raid0, Level::Raid1, Level::Raid4, Level::Raid5, Level::Raid6, Level::Raid10];

    /// The name under which it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Level::Raid0 => "raid0",
            Level::Raid1 => "raid1",
            Level::Raid4 => "raid4",
            Level::Raid5 => "raid5",
            Level::Raid6 => "raid6",
            Level::Raid10 => "raid10",
        }
    }

    /// Parity chunks of a stripe.
    pub fn parity(self) -> usize {
        match self {
            Level::Raid0 | Level::Raid1 | Level::Raid10 => 0,
            Level::Raid4 | Level::Raid5 => 1,
            Level::Raid6 => 2,
        }
    }

    fn fits(self, devices: usize) -> Result<(), LayoutError> {
        let (least, needs) = match self {
            Level::Raid0 => (1, "at least one device"),
            Level::Raid1 => (2, "at least two devices"),
            Level::Raid4 | Level::Raid5 => (3, "at least three devices"),
            Level::Raid6 => (4, "at least four devices"),
            Level::Raid10 => (2, "an even number of devices"),
        };
        let odd = self == Level::Raid10 && devices % 2 == 1;
        let wide = self.parity() > 0 && devices.saturating_sub(self.parity()) > cygnus_parity::MAX_DATA_COLUMNS;
        if devices < least || odd || wide {
            let needs = if wide { "at most 64 data devices" } else { needs };
            return Err(LayoutError::Devices { level: self.name(), needs, given: devices });
        }
        Ok(())
    }
}

impl std::str::FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.name() == name).ok_or_else(|| UnknownLevel(name.into()))
    }
}

/// Largest chunk: 1 MiB.
const MOST_CHUNK_BLOCKS: u32 = 256;

/// The arithmetic of an array: a *stripe* is the chunks of one number on all devices; its *data columns* are counted in
/// the order of the blocks they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    level: Level,
    devices: usize,
    chunk_blocks: u32,
    stripes: u64,
}

/// A run of blocks that lie one after another in a column of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub stripe: u64,
    pub column: usize,
    /// First row within the chunk.
    pub row: u32,
    pub rows: u32,
    /// First block, counted from that of the request.
    pub at: u64,
}

impl Layout {
    /// An array over devices of `device_blocks` blocks of 4 KiB, with chunks of `chunk_blocks`.
    ///
    /// # Errors
    /// When the level does not work with this number of devices, or no chunk fits.
    pub fn new(level: Level, devices: usize, chunk_blocks: u32, device_blocks: u64) -> Result<Self, LayoutError> {
        level.fits(devices)?;
        let stripes = device_blocks.checked_div(u64::from(chunk_blocks)).unwrap_or(0);
        if stripes == 0 || chunk_blocks > MOST_CHUNK_BLOCKS {
            return Err(LayoutError::Chunk { device_blocks, chunk_blocks });
        }
        Ok(Self { level, devices, chunk_blocks, stripes })
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// How many devices there are.
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// Blocks of a chunk.
    pub fn chunk_blocks(&self) -> u32 {
        self.chunk_blocks
    }

    /// Stripes in all.
    pub fn stripes(&self) -> u64 {
        self.stripes
    }

    /// Columns of a stripe that hold data of their own.
    pub fn data_columns(&self) -> usize {
        match self.level {
            Level::Raid0 => self.devices,
            Level::Raid1 => 1,
            Level::Raid4 | Level::Raid5 | Level::Raid6 => self.devices - self.level.parity(),
            Level::Raid10 => self.devices / 2,
        }
    }

    /// Blocks that clients see.
    pub fn blocks(&self) -> u64 {
        self.stripes * u64::from(self.chunk_blocks) * self.data_columns() as u64
    }

    /// Whether blocks have copies instead of parity.
    pub fn is_mirrored(&self) -> bool {
        matches!(self.level, Level::Raid1 | Level::Raid10)
    }

    /// How many devices may fail, whichever they are.
    pub fn survives(&self) -> usize {
        match self.level {
            Level::Raid0 => 0,
            Level::Raid1 => self.devices - 1,
            Level::Raid10 => 1,
            Level::Raid4 | Level::Raid5 | Level::Raid6 => self.level.parity(),
        }
    }

    /// Devices on which a data column of a stripe lies: one, or all that mirror it.
    pub(crate) fn copies(&self, stripe: u64, column: usize) -> std::ops::Range<usize> {
        match self.level {
            Level::Raid1 => 0..self.devices,
            Level::Raid10 => 2 * column..2 * column + 2,
            _ => {
                let device = self.device(stripe, column);
                device..device + 1
            }
        }
    }

    /// Devices that hold the same as this one, itself among them.
    pub(crate) fn peers(&self, device: usize) -> std::ops::Range<usize> {
        match self.level {
            Level::Raid1 => 0..self.devices,
            Level::Raid10 => device / 2 * 2..device / 2 * 2 + 2,
            _ => device..device + 1,
        }
    }

    /// Device of a column of a stripe: data columns first, then P, then Q.
    pub(crate) fn device(&self, stripe: u64, column: usize) -> usize {
        let n = self.devices;
        match self.level {
            Level::Raid5 | Level::Raid6 => {
                // Parity begins on the last device and moves one to the left with each stripe; data follows it.
                let p = n - 1 - (stripe % n as u64) as usize;
                let parity = self.level.parity();
                match column.checked_sub(n - parity) {
                    Some(which) => (p + which) % n,
                    None => (p + parity + column) % n,
                }
            }
            _ => column,
        }
    }

    /// Byte of a row of a stripe on any device, counted from where the array's space begins there.
    pub(crate) fn offset(&self, stripe: u64, row: u32) -> u64 {
        (stripe * u64::from(self.chunk_blocks) + u64::from(row)) * cygnus_types::BLOCK as u64
    }

    /// The block in a row of a data column.
    pub(crate) fn block(&self, stripe: u64, column: usize, row: u32) -> u64 {
        (stripe * self.data_columns() as u64 + column as u64) * u64::from(self.chunk_blocks) + u64::from(row)
    }

    /// Cuts a range of blocks at the borders of chunks.
    pub(crate) fn pieces(&self, first: u64, blocks: u64) -> impl Iterator<Item = Piece> + use<> {
        let (chunk, columns) = (u64::from(self.chunk_blocks), self.data_columns() as u64);
        let mut next = first;
        std::iter::from_fn(move || {
            let left = (first + blocks).checked_sub(next).filter(|&left| left > 0)?;
            let (number, row) = (next / chunk, next % chunk);
            let piece = Piece {
                stripe: number / columns,
                column: (number % columns) as usize,
                row: row as u32,
                rows: left.min(chunk - row) as u32,
                at: next - first,
            };
            next += u64::from(piece.rows);
            Some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn impossible_layouts_are_refused_in_words() {
        let devices = |level, n| Layout::new(level, n, 16, 1000).unwrap_err().to_string();
        assert_eq!(devices(Level::Raid5, 2), "raid5 needs at least three devices, not 2");
        assert_eq!(devices(Level::Raid10, 5), "raid10 needs an even number of devices, not 5");
        assert_eq!(devices(Level::Raid6, 1), "raid6 needs at least four devices, not 1");
        assert_eq!(devices(Level::Raid5, 0), "raid5 needs at least three devices, not 0");
        assert_eq!(devices(Level::Raid6, 70), "raid6 needs at most 64 data devices, not 70");
        for (chunk, blocks) in [(0, 1000), (16, 15), (257, 1000)] {
            assert!(matches!(Layout::new(Level::Raid0, 2, chunk, blocks), Err(LayoutError::Chunk { .. })));
        }
    }

    #[test]
    fn every_block_has_places_of_its_own() {
        for level in Level::ALL {
            let layout = Layout::new(level, 6, 4, 30).unwrap();
            let mut taken = BTreeSet::new();
            for piece in layout.pieces(0, layout.blocks()) {
                for row in piece.row..piece.row + piece.rows {
                    assert_eq!(layout.block(piece.stripe, piece.column, row), piece.at + u64::from(row - piece.row));
                    for device in layout.copies(piece.stripe, piece.column) {
                        assert!(taken.insert((device, layout.offset(piece.stripe, row))), "{level:?}");
                    }
                }
            }
            for stripe in 0..layout.stripes() {
                for column in layout.data_columns()..layout.data_columns() + level.parity() {
                    for row in 0..4 {
                        let place = (layout.device(stripe, column), layout.offset(stripe, row));
                        assert!(taken.insert(place), "{level:?}: parity on data");
                    }
                }
            }
            assert_eq!(taken.len(), 6 * 28, "{level:?}: nothing is left unused");
        }
    }

    #[test]
    fn left_symmetric_as_md_lays_it_out() {
        let layout = Layout::new(Level::Raid5, 4, 1, 8).unwrap();
        let row = |stripe| (0..4).map(|column| layout.device(stripe, column)).collect::<Vec<_>>();
        assert_eq!([row(0), row(1), row(2)], [[0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1]]);
    }
}
