//! A volume as the array knows it.

use std::cell::Cell;

use cygnus_format::VolumeDesc;
use cygnus_types::VolumeId;

/// See the module's text.
pub(crate) struct VolumeState {
    pub id: VolumeId,
    pub name: String,
    /// First byte in the array's space.
    pub start: u64,
    pub size: Cell<u64>,
    pub gone: Cell<bool>,
}

impl VolumeState {
    pub(crate) fn new(desc: &VolumeDesc) -> Self {
        Self {
            id: desc.id,
            name: desc.name.clone(),
            start: u64::from(desc.start_mib) << 20,
            size: Cell::new(desc.size_bytes),
            gone: Cell::new(false),
        }
    }

    /// Where it begins, in MiB of the array's space.
    pub(crate) fn start_mib(&self) -> u64 {
        self.start >> 20
    }
}
