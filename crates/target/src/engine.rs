//! The engine's arrays and volumes as the server sees them.

use cygnus_engine::{Array, ArrayPeer};
use cygnus_runtime::BufSlice;

use crate::volume::{Export, Exports, Volume, VolumeError, VolumeExtent};

impl From<cygnus_engine::VolumeError> for VolumeError {
    fn from(error: cygnus_engine::VolumeError) -> Self {
        use cygnus_engine::VolumeError as Engine;
        match error {
            Engine::Unreadable { volume, lba } => VolumeError::Io { volume, lba },
            Engine::NoSpace { .. } => VolumeError::NoSpace,
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

    async fn read(&self, offset: u64, into: BufSlice) -> Result<(), VolumeError> {
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

fn export(name: &str, volume: Option<cygnus_engine::Volume>) -> Option<Export<cygnus_engine::Volume>> {
    volume.map(|volume| Export { name: name.into(), description: String::new(), volume })
}

fn describe(names: Vec<String>) -> Vec<(String, String)> {
    names.into_iter().map(|name| (name, String::new())).collect()
}

impl Exports for Array {
    type Volume = cygnus_engine::Volume;

    fn list(&self) -> Vec<(String, String)> {
        describe(self.volume_names())
    }

    fn open(&self, name: &str) -> Option<Export<Self::Volume>> {
        export(name, self.volume(name))
    }
}

impl Exports for ArrayPeer {
    type Volume = cygnus_engine::Volume;

    fn list(&self) -> Vec<(String, String)> {
        describe(self.volume_names())
    }

    fn open(&self, name: &str) -> Option<Export<Self::Volume>> {
        export(name, self.volume(name))
    }
}
