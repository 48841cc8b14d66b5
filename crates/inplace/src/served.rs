//! Volumes as protocols see them.

use cygnus_runtime::BufSlice;
use cygnus_types::Acknowledged;
use cygnus_volume::{BlockVolume, Extent, VolumeError as Neutral, VolumeSet};

use crate::array::Array;
use crate::volume::{Volume, VolumeError};

impl From<VolumeError> for Neutral {
    fn from(error: VolumeError) -> Self {
        match error {
            VolumeError::Unreadable { volume, lba } => Neutral::Io { volume, lba },
            VolumeError::Suspended { .. } => Neutral::Suspended,
            VolumeError::ReadOnly => Neutral::ReadOnly,
            // The session checked the range against the size; the volume has shrunk since.
            VolumeError::OutOfRange { .. } => Neutral::OutOfRange,
            VolumeError::Gone => Neutral::Gone,
        }
    }
}

impl BlockVolume for Volume {
    const FAST_ZEROES: bool = false;

    /// Whole stripes need no reading before.
    const WHOLE_WRITE: usize = 2 << 20;
    const SHORT_WRITE: usize = Self::WHOLE_WRITE;

    fn name(&self) -> &str {
        self.name()
    }

    fn size(&self) -> u64 {
        self.size()
    }

    /// A write ends when the members have it.
    fn acknowledged(&self) -> Acknowledged {
        Acknowledged::Written
    }

    async fn read(&self, offset: u64, into: BufSlice) -> Result<BufSlice, Neutral> {
        Ok(self.read(offset, into).await?)
    }

    /// Every write waits for the devices.
    fn try_write(&self, _offset: u64, _data: &[u8]) -> bool {
        false
    }

    async fn write(&self, offset: u64, data: BufSlice) -> Result<(), Neutral> {
        Ok(self.write(offset, data).await?)
    }

    async fn flush(&self) -> Result<(), Neutral> {
        Ok(self.flush().await?)
    }

    async fn trim(&self, offset: u64, len: u64) -> Result<(), Neutral> {
        Ok(self.trim(offset, len).await?)
    }

    async fn write_zeroes(&self, offset: u64, len: u64, _no_hole: bool) -> Result<(), Neutral> {
        Ok(self.write_zeroes(offset, len).await?)
    }

    /// All of it has its space.
    fn extents(&self, offset: u64, len: u64, max: usize) -> Vec<Extent> {
        let len = len.min(self.size().saturating_sub(offset));
        if len == 0 || max == 0 { Vec::new() } else { vec![Extent { len, mapped: true }] }
    }
}

impl VolumeSet for Array {
    type Volume = Volume;

    fn names(&self) -> Vec<String> {
        self.volume_names()
    }

    fn volume(&self, name: &str) -> Option<Volume> {
        self.volume(name)
    }
}
