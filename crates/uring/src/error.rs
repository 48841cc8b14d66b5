//! What can go wrong before the first operation: opening devices and starting reactors.

use std::io;
use std::path::{Path, PathBuf};

use cygnus_runtime::{IoError, IoErrorKind, NoMemory};
use cygnus_ssdlink::DialError;
use cygnus_types::ByteSize;

use crate::holder::Holder;

/// A path could not be opened as a device.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is there.
    #[error("{}: no such file or device; create it or check the path", path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The process lacks the right to open it.
    #[error("{}: permission denied; run as a user that may read and write it, and see that it is not immutable (lsattr)", path.display())]
    Denied {
        /// The path as given.
        path: PathBuf,
    },
    /// It is a block device that takes no writes.
    #[error("{}: it is read-only; 'blockdev --setrw' makes it writable, if whoever made it read-only agrees", path.display())]
    ReadOnly {
        /// The path as given.
        path: PathBuf,
    },
    /// Somebody else has it: another process, a mounted file system, or this process under another path.
    #[error("{}", in_use(path, by.as_deref(), beneath.as_deref(), holder.as_ref()))]
    InUse {
        /// The path as given.
        path: PathBuf,
        /// The path by which this process has it already.
        by: Option<PathBuf>,
        /// What it lies on, if that is what is in use.
        beneath: Option<PathBuf>,
        /// Who has it, if the system tells.
        holder: Option<Holder>,
    },
    /// It is there, but cannot serve as a device.
    #[error("{}: {why}", path.display())]
    Unsuitable {
        /// The path as given.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It is the address of a software SSD, and nobody serves one there that can be used.
    #[error("{}: {source}", path.display())]
    Drive {
        /// The address as given, with `ssd:` before it.
        path: PathBuf,
        /// What is wrong.
        source: DialError,
    },
    /// The file system has no room for it.
    #[error(
        "{}: it needs {}, and the file system mounted at {} has {} left; make room there, or make it smaller or sparse",
        path.display(), ByteSize(*wanted), mount.display(), ByteSize(*free)
    )]
    NoSpace {
        /// The path as given.
        path: PathBuf,
        /// Where its file system is mounted.
        mount: PathBuf,
        /// Bytes that the file needs.
        wanted: u64,
        /// Bytes that are free there.
        free: u64,
    },
    /// Whoever had it made wants it no more.
    #[error("{}: broken off while it was made; make it again", path.display())]
    BrokenOff {
        /// The path as given.
        path: PathBuf,
    },
    /// The operating system failed in some other way.
    #[error("{}: cannot {doing}: {source}{}", path.display(), remedy(source))]
    Io {
        /// The path as given.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
}

/// A reactor could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The kernel gives us no ring.
    #[error("io_uring is not available: {why}")]
    Unavailable {
        /// The likely cause and its remedy.
        why: String,
    },
    /// A number of the configuration is out of bounds.
    #[error("{what}: {given} is not possible, only {least} to {most}")]
    OutOfBounds {
        /// Which.
        what: &'static str,
        /// What was given.
        given: u64,
        /// The least there can be.
        least: u64,
        /// The most.
        most: u64,
    },
    /// There is no memory for its buffers.
    #[error("cannot start a reactor: {0}")]
    NoMemory(#[from] NoMemory),
    /// The core asked for does not exist or is not ours.
    #[error("cannot pin reactor {reactor} to core {core}: {source}; choose among the cores `taskset -p $$` allows")]
    Pin {
        /// Which reactor.
        reactor: usize,
        /// Which core, as the operating system counts.
        core: usize,
        /// The operating system's reason.
        source: io::Error,
    },
    /// More devices than a reactor has places for.
    #[error("more than {max} devices; split the array")]
    TooManyDevices {
        /// Devices a reactor can hold.
        max: usize,
    },
    /// The operating system failed in some other way.
    #[error("cannot {doing}: {source}{}", remedy(source))]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
}

/// What helps, where that is known.
fn remedy(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EROFS) => "; mount its file system for writing",
        Some(libc::EMFILE) => "; allow the process more open files (ulimit -n)",
        Some(libc::EAGAIN) => "; allow the process more threads and address space (ulimit -u, ulimit -v)",
        _ => "",
    }
}

fn in_use(path: &Path, by: Option<&Path>, beneath: Option<&Path>, holder: Option<&Holder>) -> String {
    let path = path.display();
    let lies_on = beneath.map_or(String::new(), |beneath| format!("it lies on {}, which is ", beneath.display()));
    match (by, holder) {
        (Some(by), _) => format!("{path}: {lies_on}the same device as {}: leave one of them out", by.display()),
        (None, Some(holder)) => format!("{path}: {lies_on}in use by {holder}; stop that first"),
        (None, None) => format!("{path}: {lies_on}in use by another process (or mounted); stop that first"),
    }
}

pub(crate) fn open_error(path: &Path, error: io::Error) -> OpenError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => OpenError::NotFound { path },
        io::ErrorKind::PermissionDenied => OpenError::Denied { path },
        io::ErrorKind::ResourceBusy => OpenError::InUse { path, by: None, beneath: None, holder: None },
        io::ErrorKind::IsADirectory => OpenError::Unsuitable { path, why: "it is a directory".into() },
        _ => OpenError::Io { path, doing: "open it", source: error },
    }
}

pub(crate) fn io_error(path: &Path, doing: &'static str, source: io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), doing, source }
}

pub(crate) fn unsuitable(path: &Path, why: String) -> OpenError {
    OpenError::Unsuitable { path: path.to_owned(), why }
}

impl From<OpenError> for IoError {
    /// As an operation that opens a device says it.
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NotFound { .. } => Self::of_device(libc::ENOENT),
            OpenError::Denied { .. } => Self::of_device(libc::EACCES),
            OpenError::ReadOnly { .. } => Self::of_device(libc::EROFS),
            OpenError::InUse { .. } => Self { kind: IoErrorKind::Refused, errno: libc::EBUSY },
            OpenError::NoSpace { .. } => Self::of_device(libc::ENOSPC),
            OpenError::Unsuitable { .. } => Self::of_device(libc::ENODEV),
            OpenError::Drive { source: DialError::Unreachable(error), .. } => {
                Self::of_device(error.raw_os_error().unwrap_or(libc::ECONNABORTED))
            }
            OpenError::Drive { source: DialError::Claimed, .. } => {
                Self { kind: IoErrorKind::Refused, errno: libc::EBUSY }
            }
            OpenError::Drive { .. } => Self::of_device(libc::ECONNREFUSED),
            OpenError::BrokenOff { .. } => Self::of_device(libc::EINTR),
            OpenError::Io { source, .. } => Self::of_device(source.raw_os_error().unwrap_or(libc::EIO)),
        }
    }
}
