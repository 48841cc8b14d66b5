//! NBD's words into those of volumes, and back.

use cygnus_nbd::{Command, Errno, Request};
use cygnus_volume::{Kind, VolumeError};

/// How NBD says it.
pub(crate) fn errno(error: VolumeError) -> Errno {
    match error {
        VolumeError::Io { .. } | VolumeError::Suspended | VolumeError::Lost => Errno::Io,
        VolumeError::NoSpace | VolumeError::MapMemory => Errno::NoSpc,
        VolumeError::ReadOnly => Errno::Perm,
        VolumeError::Gone => Errno::Shutdown,
    }
}

/// What is asked for, apart from how it is to be answered. None of what is no request to a volume.
pub(crate) fn neutral(request: &Request) -> Option<cygnus_volume::Request> {
    let kind = match request.command {
        Command::Read => Kind::Read,
        Command::Write => Kind::Write,
        Command::Flush => Kind::Flush,
        Command::Trim => Kind::Trim,
        Command::WriteZeroes => Kind::WriteZeroes,
        Command::BlockStatus => Kind::Extents,
        Command::Cache => Kind::Prefetch,
        Command::Disconnect | Command::Unknown(_) => return None,
    };
    Some(cygnus_volume::Request { kind, offset: request.offset, len: request.length, fua: request.fua() })
}
