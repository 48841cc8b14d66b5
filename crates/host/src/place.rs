//! Where members are: paths of files and block devices, addresses of software SSDs (`ssd:unix:PATH`, `ssd:tcp:HOST:PORT`), and files
//! that stand for devices with zones (`zoned:FILE`), which are all written in the same places.

use cygnus_ssdlink::Address;
use cygnus_uring::{beneath, drive_at, zoned_file};
use std::io;
use std::path::{Path, PathBuf};

/// Whether it is the address of a software SSD.
pub fn is_drive(path: &Path) -> bool {
    cygnus_uring::is_drive(path)
}

/// Whether a name is a place that means the same to everybody, and not words for a member that is not there.
pub fn is_absolute(name: &str) -> bool {
    beneath(Path::new(name)).is_absolute() || is_drive(Path::new(name))
}

/// The same place for everybody, whatever directory they are in.
///
/// # Errors
/// When there is no such file, or the address is none.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    match Address::of_member(path) {
        Some(address) => Ok(address.map_err(io::Error::other)?.to_member()),
        None => Ok(like(path, std::fs::canonicalize(beneath(path))?)),
    }
}

/// The place that is meant in a file of this directory.
pub fn from_directory(dir: &Path, path: &Path) -> PathBuf {
    match Address::of_member(path) {
        Some(Ok(Address::Unix(socket))) => format!("ssd:unix:{}", dir.join(socket).display()).into(),
        Some(_) => path.to_owned(),
        None => like(path, dir.join(beneath(path))),
    }
}

/// The file at `place`, in the way in which `path` names one.
fn like(path: &Path, place: PathBuf) -> PathBuf {
    zoned_file(path).map_or_else(|| place.clone(), |_| format!("zoned:{}", place.display()).into())
}

/// Whether anything is there; blocking.
pub fn is_there(path: &Path) -> bool {
    drive_at(path).map_or_else(|| beneath(path).exists(), |drive| drive.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_drives_are_no_paths_of_files() {
        let dir = Path::new("/etc/cygnus");
        let meant = |path: &str| from_directory(dir, Path::new(path)).display().to_string();
        assert_eq!(meant("d0"), "/etc/cygnus/d0");
        assert_eq!(meant("/dev/sda"), "/dev/sda");
        assert_eq!(meant("ssd:unix:d0.sock"), "ssd:unix:/etc/cygnus/d0.sock");
        assert_eq!(meant("ssd:unix:/run/d0.sock"), "ssd:unix:/run/d0.sock");
        assert_eq!(meant("ssd:tcp:far:4420"), "ssd:tcp:far:4420");
        assert_eq!((meant("zoned:d0"), meant("zoned:/z/d0")), ("zoned:/etc/cygnus/d0".into(), "zoned:/z/d0".into()));
        assert!(is_absolute("zoned:/z/d0") && !is_absolute("zoned:d0") && is_there(Path::new("zoned:/")));
        assert!(absolute(Path::new("ssd:nonsense")).is_err());
        assert!(!is_there(Path::new("ssd:unix:/no/such.sock")) && is_there(Path::new("/")));
        assert!(is_absolute("/dev/sda") && is_absolute("ssd:unix:/run/d0.sock") && !is_absolute("member 3"));
        assert!(is_drive(Path::new("ssd:tcp:far:4420")) && !is_drive(Path::new("/dev/sda")));
    }
}
