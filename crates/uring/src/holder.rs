//! Who else has a file or device for itself: whoever only looks at one is not kept out, and has to be told.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// Somebody who has claimed a file or device, as whoever opens it with [`crate::Access::Exclusive`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A process, by its number and its name.
    Process(u32, String),
    /// Devices that lie on it, in words: of LVM, an md array, anything else that the system lists.
    Devices(String),
    /// A process of which the system does not tell.
    Unknown,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(number, name) => write!(f, "process {number} ({name})"),
            Self::Devices(names) => f.write_str(names),
            Self::Unknown => f.write_str("another process"),
        }
    }
}

/// Who has locked this file, which was opened without a claim. A lock of our own that keeps out nobody who only looks tells, for a
/// moment; whoever claims the file just then tries again.
pub(crate) fn holder_of(file: &File) -> Option<Holder> {
    // SAFETY: no pointers involved.
    let lock = |how| match unsafe { libc::flock(file.as_raw_fd(), how) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    match lock(libc::LOCK_SH | libc::LOCK_NB) {
        Ok(()) => {
            let _ = lock(libc::LOCK_UN);
            None
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(process_with(file).unwrap_or(Holder::Unknown)),
        Err(_) => None,
    }
}

/// The process that has locked a file, as the kernel lists it. It lists none of another container's.
pub(crate) fn process_with(file: &File) -> Option<Holder> {
    let metadata = file.metadata().ok()?;
    let number = locker(&fs::read_to_string("/proc/locks").ok()?, metadata.dev(), metadata.ino())?;
    let name = fs::read_to_string(format!("/proc/{number}/comm")).ok()?;
    Some(Holder::Process(number, name.trim_end().to_owned()))
}

/// Who has a lock as ours are, in the words of `/proc/locks`: "1: FLOCK ADVISORY WRITE PROCESS MAJOR:MINOR:INODE FROM TO".
fn locker(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let place = format!("{:02x}:{:02x}:{inode}", libc::major(device), libc::minor(device));
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, "FLOCK", _, "WRITE", process, at, ..] if at == place => process.parse().ok(),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_list_names_who_has_a_lock() {
        let locks = "1: FLOCK  ADVISORY  WRITE 12708 fe:00:77 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 9 fe:00:78 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 8 fe:00:78 0 EOF\n3: FLOCK  ADVISORY  WRITE 7 fe:00:78 0 EOF\n";
        assert_eq!(locker(locks, libc::makedev(0xfe, 0), 77), Some(12708));
        assert_eq!(locker(locks, libc::makedev(0xfe, 0), 78), Some(7));
        assert_eq!(locker(locks, libc::makedev(0xfe, 1), 77), None);
    }
}
