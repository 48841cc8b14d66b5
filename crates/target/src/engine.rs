//! The engine's arrays and volumes as the server sees them.

use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_engine::{Array, ArrayPeer};
use cygnus_runtime::BufSlice;
use cygnus_types::ByteSize;

use crate::volume::{Export, Exports, Tap, Volume, VolumeError, VolumeExtent, meant};

impl From<cygnus_engine::VolumeError> for VolumeError {
    fn from(error: cygnus_engine::VolumeError) -> Self {
        use cygnus_engine::VolumeError as Engine;
        match error {
            Engine::Unreadable { volume, lba } | Engine::Unknown { volume, lba } => VolumeError::Io { volume, lba },
            Engine::Lost { .. } => VolumeError::Lost,
            Engine::NoSpace { .. } => VolumeError::NoSpace,
            Engine::MapMemory { .. } => VolumeError::MapMemory,
            Engine::Suspended { .. } => VolumeError::Suspended,
            Engine::ReadOnly(_) => VolumeError::ReadOnly,
            // The session checked the range against the size; the volume has shrunk since.
            Engine::OutOfRange { .. } | Engine::Gone => VolumeError::Gone,
        }
    }
}

impl Volume for cygnus_engine::Volume {
    fn size(&self) -> u64 {
        self.size()
    }

    #[inline]
    fn announce(&self, offset: u64) {
        self.announce(offset);
    }

    async fn read(&self, offset: u64, into: BufSlice) -> Result<BufSlice, VolumeError> {
        Ok(self.read(offset, into).await?)
    }

    #[inline]
    fn try_write(&self, offset: u64, data: &[u8]) -> Option<Result<(), VolumeError>> {
        self.try_write(offset, data).map(|result| result.map_err(VolumeError::from))
    }

    async fn write(&self, offset: u64, data: BufSlice) -> Result<(), VolumeError> {
        Ok(self.write(offset, data).await?)
    }

    async fn flush(&self) -> Result<(), VolumeError> {
        Ok(self.flush().await?)
    }

    async fn trim(&self, offset: u64, len: u64) -> Result<(), VolumeError> {
        Ok(self.trim(offset, len).await?)
    }

    async fn write_zeroes(&self, offset: u64, len: u64, no_hole: bool) -> Result<(), VolumeError> {
        Ok(self.write_zeroes(offset, len, no_hole).await?)
    }

    fn extents(&self, offset: u64, len: u64, max: usize) -> Vec<VolumeExtent> {
        let extents = self.extents(offset, len, max);
        extents.into_iter().map(|e| VolumeExtent { len: e.len, mapped: e.mapped }).collect()
    }
}

/// The array on one reactor.
#[derive(Clone)]
pub enum Side {
    /// Its home.
    Home(Array),
    /// Any other.
    Peer(ArrayPeer),
}

impl Side {
    fn volume(&self, name: &str) -> Option<cygnus_engine::Volume> {
        match self {
            Self::Home(array) => array.volume(name),
            Self::Peer(peer) => peer.volume(name),
        }
    }

    fn names(&self) -> Vec<String> {
        match self {
            Self::Home(array) => array.volume_names(),
            Self::Peer(peer) => peer.volume_names(),
        }
    }
}

/// All volumes of the array, each under its name; an array with a single volume has it as the default export too.
pub struct ArrayExports {
    /// The array.
    pub side: Side,
    /// Its name, for descriptions.
    pub array: String,
    /// By volume, who wants to see its requests.
    pub taps: BTreeMap<String, Rc<dyn Tap>>,
}

impl ArrayExports {
    fn description(&self, volume: &cygnus_engine::Volume) -> String {
        format!("{}/{}, {}", self.array, volume.name(), ByteSize(volume.size()))
    }
}

impl Exports for ArrayExports {
    type Volume = cygnus_engine::Volume;

    fn list(&self) -> Vec<(String, String)> {
        let mut names = self.side.names();
        names.sort();
        names
            .into_iter()
            .filter_map(|name| {
                let description = self.description(&self.side.volume(&name)?);
                Some((name, description))
            })
            .collect()
    }

    fn open(&self, name: &str) -> Option<Export<Self::Volume>> {
        let names = self.side.names();
        let name = meant(name, &names)?;
        let volume = self.side.volume(name)?;
        let (description, tap) = (self.description(&volume), self.taps.get(name).cloned());
        Some(Export { name: name.into(), description, volume, tap })
    }
}
