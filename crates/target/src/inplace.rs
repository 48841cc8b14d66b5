//! Arrays that update in place as the server sees them.

use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_inplace::Array;
use cygnus_runtime::BufSlice;
use cygnus_types::ByteSize;

use crate::volume::{Export, Exports, Tap, Volume, VolumeError, VolumeExtent, meant};

impl From<cygnus_inplace::VolumeError> for VolumeError {
    fn from(error: cygnus_inplace::VolumeError) -> Self {
        use cygnus_inplace::VolumeError as InPlace;
        match error {
            InPlace::Unreadable { volume, lba } => VolumeError::Io { volume, lba },
            InPlace::Suspended { .. } => VolumeError::Suspended,
            InPlace::ReadOnly => VolumeError::ReadOnly,
            // The session checked the range against the size; the volume has shrunk since.
            InPlace::OutOfRange { .. } | InPlace::Gone => VolumeError::Gone,
        }
    }
}

impl Volume for cygnus_inplace::Volume {
    const FAST_ZEROES: bool = false;

    /// Whole stripes need no reading before.
    const WHOLE_WRITE: usize = 2 << 20;

    fn size(&self) -> u64 {
        self.size()
    }

    async fn read(&self, offset: u64, into: BufSlice) -> Result<BufSlice, VolumeError> {
        Ok(self.read(offset, into).await?)
    }

    /// Every write waits for the devices.
    fn try_write(&self, _offset: u64, _data: &[u8]) -> Option<Result<(), VolumeError>> {
        None
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

    async fn write_zeroes(&self, offset: u64, len: u64, _no_hole: bool) -> Result<(), VolumeError> {
        Ok(self.write_zeroes(offset, len).await?)
    }

    /// All of it has its space.
    fn extents(&self, offset: u64, len: u64, max: usize) -> Vec<VolumeExtent> {
        let len = len.min(self.size().saturating_sub(offset));
        if len == 0 || max == 0 { Vec::new() } else { vec![VolumeExtent { len, mapped: true }] }
    }
}

/// All volumes of an array that updates in place, each under its name; a single one is the default export too.
pub struct InPlaceExports {
    /// The array.
    pub array: Array,
    /// Its name, for descriptions.
    pub name: String,
    /// By volume, who wants to see its requests.
    pub taps: BTreeMap<String, Rc<dyn Tap>>,
}

impl Exports for InPlaceExports {
    type Volume = cygnus_inplace::Volume;

    fn list(&self) -> Vec<(String, String)> {
        let mut names = self.array.volume_names();
        names.sort();
        let described = |name: String| {
            let description = self.description(&self.array.volume(&name)?);
            Some((name, description))
        };
        names.into_iter().filter_map(described).collect()
    }

    fn open(&self, name: &str) -> Option<Export<Self::Volume>> {
        let names = self.array.volume_names();
        let name = meant(name, &names)?;
        let volume = self.array.volume(name)?;
        let (description, tap) = (self.description(&volume), self.taps.get(name).cloned());
        Some(Export { name: name.into(), description, volume, tap })
    }
}

impl InPlaceExports {
    fn description(&self, volume: &cygnus_inplace::Volume) -> String {
        format!("{}/{}, {}", self.name, volume.name(), ByteSize(volume.size()))
    }
}
