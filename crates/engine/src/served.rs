//! Volumes as protocols see them.

use std::rc::Rc;

use cygnus_runtime::BufSlice;
use cygnus_types::Acknowledged;
use cygnus_volume::{BlockVolume, Extent, Terms, VolumeError as Neutral, VolumeSet};

use crate::array::{Array, ArrayPeer};
use crate::error::VolumeError;
use crate::reactor::Reactor;
use crate::volume::Volume;

impl From<VolumeError> for Neutral {
    fn from(error: VolumeError) -> Self {
        match error {
            VolumeError::Unreadable { volume, lba } | VolumeError::Unknown { volume, lba } => {
                Neutral::Io { volume, lba }
            }
            VolumeError::Lost { .. } => Neutral::Lost,
            VolumeError::NoSpace { .. } | VolumeError::NoSpaceOn { .. } | VolumeError::Clogged { .. } => {
                Neutral::NoSpace
            }
            VolumeError::MapMemory { .. } => Neutral::MapMemory,
            VolumeError::Suspended { .. } => Neutral::Suspended,
            VolumeError::ReadOnly(_) => Neutral::ReadOnly,
            // The session checked the range against the size; the volume has shrunk since.
            VolumeError::OutOfRange { .. } => Neutral::OutOfRange,
            VolumeError::Gone => Neutral::Gone,
        }
    }
}

impl BlockVolume for Volume {
    fn name(&self) -> &str {
        self.name()
    }

    fn size(&self) -> u64 {
        self.size()
    }

    fn page(&self) -> u32 {
        self.page().0 as u32
    }

    fn acknowledged(&self) -> Acknowledged {
        self.acknowledged()
    }

    #[inline]
    fn terms(&self) -> Option<Terms> {
        self.terms()
    }

    async fn answerable(&self, terms: Terms) -> Result<(), Neutral> {
        Ok(self.answerable(terms).await?)
    }

    #[inline]
    fn announce(&self, offset: u64) {
        self.announce(offset);
    }

    #[expect(clippy::manual_async_fn, reason = "the future of an async fn has room for its arguments twice")]
    fn read(&self, offset: u64, into: BufSlice) -> impl Future<Output = Result<BufSlice, Neutral>> {
        async move { Ok(self.read(offset, into).await?) }
    }

    #[inline]
    fn try_write(&self, offset: u64, data: &[u8]) -> bool {
        self.try_write(offset, data)
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

    async fn write_zeroes(&self, offset: u64, len: u64, no_hole: bool) -> Result<(), Neutral> {
        Ok(self.write_zeroes(offset, len, no_hole).await?)
    }

    fn extents(&self, offset: u64, len: u64, max: usize) -> Vec<Extent> {
        self.extents(offset, len, max)
    }
}

/// The volumes of an array as one reactor has them, its home or another.
#[derive(Clone)]
pub struct Volumes(Rc<Reactor>);

impl Array {
    /// The volumes, for who serves them.
    pub fn volumes(&self) -> Volumes {
        Volumes(self.reactor.clone())
    }
}

impl ArrayPeer {
    /// The volumes, for who serves them here.
    pub fn volumes(&self) -> Volumes {
        Volumes(self.reactor.clone())
    }
}

impl VolumeSet for Volumes {
    type Volume = Volume;

    fn names(&self) -> Vec<String> {
        self.0.shared.volumes().iter().map(|volume| volume.name.clone()).collect()
    }

    fn volume(&self, name: &str) -> Option<Volume> {
        self.0.shared.volume_named(name).map(|state| Volume::new(self.0.clone(), state))
    }
}
