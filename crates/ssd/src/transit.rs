//! A command on its way through the drive.

use cygnus_types::Nanos;

use crate::device::{Command, DeviceError};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    pub(crate) id: u64,
    pub(crate) submitted: Nanos,
    pub(crate) command: Command,
    pub(crate) result: Result<(), DeviceError>,
    pub(crate) appended: Option<u64>,
    pub(crate) lba: u32,
    pub(crate) pages: u32,
    /// Of the zone, when the write was accepted.
    pub(crate) generation: u32,
    /// Pages already moved over the link, or into the cache.
    pub(crate) moved: u32,
    pub(crate) cached: u32,
    /// Senses and transfers still to come.
    pub(crate) pieces: u32,
}

impl Transit {
    pub(crate) fn new(id: u64, submitted: Nanos, command: Command, result: Result<(), DeviceError>) -> Self {
        let (lba, pages) = match command {
            Command::Read { lba, blocks }
            | Command::Write { lba, blocks, .. }
            | Command::Trim { lba, blocks }
            | Command::ReadOob { lba, blocks } => (lba as u32, blocks),
            Command::Convert(convert) => (convert.source as u32, convert.source_blocks() as u32),
            Command::Append { blocks, .. } => (0, blocks),
            _ => (0, 0),
        };
        Self {
            id,
            submitted,
            command,
            result,
            appended: None,
            lba,
            pages,
            generation: 0,
            moved: 0,
            cached: 0,
            pieces: 0,
        }
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.result.is_err()
    }
}
