//! Why a drive cannot be made or served.

use std::io;
use std::path::PathBuf;

/// Why a drive cannot be made or served.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// It is something else.
    #[error("{}: it is no drive: name a file that 'cygnus ssd serve --create SIZE' has made", path.display())]
    NotADrive {
        /// The file.
        path: PathBuf,
    },
    /// Its first bytes are damaged.
    #[error("{}: its header is damaged; what the drive holds cannot be told", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Another release made it.
    #[error("{}: it was made by another release (version {version} of the file, {ours} is known); use that one", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in its header.
        version: u16,
        /// What this release knows.
        ours: u16,
    },
    /// It is shorter than it was.
    #[error("{}: it has {is} bytes and needs {needs}: it was truncated; bring the whole file back", path.display())]
    Short {
        /// The file.
        path: PathBuf,
        /// Its length.
        is: u64,
        /// The length that its header asks for.
        needs: u64,
    },
    /// Another process serves it.
    #[error("{}: another process serves this drive; stop that one first", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// No modelled drive of this make and size can be built.
    #[error("no {model} of {bytes} bytes can be modelled: {why}")]
    Model {
        /// The make.
        model: String,
        /// The size.
        bytes: u64,
        /// What the model says.
        why: String,
    },
    /// The operating system failed.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
}
