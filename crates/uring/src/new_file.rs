//! Making regular files that are to serve as devices.
//!
//! A file whose space is set aside never runs out of it, whatever else is written to its file system. To keep that, holes must
//! not be punched into it when it is trimmed; an extended attribute says so to whoever opens it later. On a file system without
//! such attributes a trim gives space back, and others may take it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::{OpenError, io_error, open_error, unsuitable};

/// Set on files whose space was set aside.
const KEEPS_ITS_SPACE: &std::ffi::CStr = c"user.cygnus.keeps_its_space";

/// Bytes that one call sets aside; the call may take a while.
const PIECE: u64 = 1 << 30;

/// Makes a regular file of `size` bytes to serve as a device. It is sparse: space is taken as it is written.
///
/// # Errors
/// See [`OpenError`]; an existing file is never touched.
pub fn create_file(path: &Path, size: u64) -> Result<(), OpenError> {
    make(path, |file| {
        let sized = file.set_len(size).and_then(|()| file.sync_all());
        sized.map_err(|error| io_error(path, "give it its size", error))
    })
}

/// As [`create_file`], with all of its space set aside. `progress` is told now and then how many bytes are, and breaks off what
/// is not wanted any more.
///
/// # Errors
/// See [`OpenError`]; then nothing is left of it.
pub fn allocate_file(
    path: &Path,
    size: u64,
    mut progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<(), OpenError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(free) = free_bytes(parent).filter(|&free| free < size) {
        return Err(no_space(path, parent, size, free));
    }
    make(path, |file| {
        for done in (0..size).step_by(PIECE as usize) {
            set_aside(file, done, PIECE.min(size - done)).map_err(|error| match error.raw_os_error() {
                Some(libc::ENOSPC | libc::EDQUOT) => no_space(path, parent, size, free_bytes(parent).unwrap_or(0)),
                Some(libc::EOPNOTSUPP | libc::ENOSYS) => {
                    unsuitable(path, "its file system cannot set space aside; make it sparse".into())
                }
                _ => io_error(path, "set its space aside", error),
            })?;
            if progress((done + PIECE).min(size)).is_break() {
                return Err(OpenError::BrokenOff { path: path.to_owned() });
            }
        }
        let value = c"1";
        // SAFETY: two C strings, and the length of the second. Not every file system has such attributes.
        unsafe { libc::fsetxattr(file.as_raw_fd(), KEEPS_ITS_SPACE.as_ptr(), value.as_ptr().cast(), 1, 0) };
        file.sync_all().map_err(|error| io_error(path, "make it durable", error))
    })
}

/// Whether a file's space was set aside and is to stay so.
pub(crate) fn keeps_its_space(file: &File) -> bool {
    // SAFETY: a C string, and no room for a value, which is not looked at.
    unsafe { libc::fgetxattr(file.as_raw_fd(), KEEPS_ITS_SPACE.as_ptr(), std::ptr::null_mut(), 0) >= 0 }
}

fn make(path: &Path, fill: impl FnOnce(&File) -> Result<(), OpenError>) -> Result<(), OpenError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => unsuitable(path, "exists already; leave it out of what is to be made".into()),
        _ => open_error(path, error),
    })?;
    fill(&file).inspect_err(|_| {
        // It says already what went wrong.
        let _ = fs::remove_file(path);
    })
}

fn set_aside(file: &File, offset: u64, len: u64) -> io::Result<()> {
    loop {
        // SAFETY: no pointers involved.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, offset as i64, len as i64) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn no_space(path: &Path, parent: &Path, wanted: u64, free: u64) -> OpenError {
    OpenError::NoSpace { path: path.to_owned(), mount: mount_of(parent), wanted, free }
}

/// What an ordinary user may still write to the file system that a directory is on.
fn free_bytes(directory: &Path) -> Option<u64> {
    let directory = File::open(directory).ok()?;
    let mut status = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the result has room for what the call fills.
    if unsafe { libc::fstatvfs(directory.as_raw_fd(), status.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: all zeros is a valid value, so it was initialised from the start.
    let status = unsafe { status.assume_init() };
    Some(status.f_bavail * status.f_frsize)
}

/// Where the file system of a directory is mounted.
fn mount_of(directory: &Path) -> PathBuf {
    let mut at = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let device = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.dev());
    while let Some(parent) = at.parent()
        && device(parent) == device(&at)
    {
        at = parent.to_owned();
    }
    at
}
