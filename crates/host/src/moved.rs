//! Members that are block devices and go by another name now: since the machine has been started again, or since they were unplugged and
//! came back while their name was taken. The kernel's names say in which order it has met devices, and nothing of which is which.

use std::fs;
use std::path::{Path, PathBuf};

use cygnus_types::BLOCK;

/// Bytes of what the kernel counts a device's size in.
const SECTOR: u64 = 512;
/// Kinds of devices that are never looked at, by how their names begin: nobody stores an array in memory or on a floppy disk; and behind
/// an NBD or ublk device is a process, which may be the very server that looks.
const LEFT_ALONE: [&str; 6] = ["ram", "zram", "fd", "sr", "nbd", "ublkb"];

/// The block devices of a machine.
#[derive(Clone, Debug)]
pub struct BlockDevices {
    sys: PathBuf,
    dev: PathBuf,
}

impl BlockDevices {
    /// Those of the machine that this runs on.
    pub fn of_this_machine() -> Self {
        Self::at("/sys", "/dev")
    }

    /// Those of a machine that tells of itself in these directories.
    pub fn at(sys: impl Into<PathBuf>, dev: impl Into<PathBuf>) -> Self {
        Self { sys: sys.into(), dev: dev.into() }
    }

    /// Whether a path is one that the kernel, or whoever names devices for it, may give to another device tomorrow.
    pub fn may_name(&self, path: &Path) -> bool {
        path.starts_with(&self.dev)
    }

    /// Paths of devices and partitions on which nothing else stands, as RAID and multipath do on theirs.
    pub fn all(&self) -> Vec<PathBuf> {
        self.of_at_least(BLOCK as u64)
    }

    /// Those of them that have at least so many bytes in whole blocks. A member that has grown is one still.
    pub fn of_at_least(&self, size: u64) -> Vec<PathBuf> {
        let Ok(names) = fs::read_dir(self.sys.join("class/block")) else { return Vec::new() };
        let mut names: Vec<String> = names.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        let is_wanted = |name: &String| {
            let bytes = self.size(name).unwrap_or(0) / BLOCK as u64 * BLOCK as u64;
            bytes >= size && !self.is_left_alone(name)
        };
        // Where a name has a directory in it, the kernel's file has another character.
        names.iter().filter(|name| is_wanted(name)).map(|name| self.dev.join(name.replace('!', "/"))).collect()
    }

    fn about(&self, name: &str) -> PathBuf {
        self.sys.join("class/block").join(name)
    }

    fn size(&self, name: &str) -> Option<u64> {
        let sectors: u64 = fs::read_to_string(self.about(name).join("size")).ok()?.trim().parse().ok()?;
        sectors.checked_mul(SECTOR)
    }

    fn is_left_alone(&self, name: &str) -> bool {
        let is_numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        let holders = || fs::read_dir(self.about(name).join("holders"));
        LEFT_ALONE.iter().any(|kind| name.strip_prefix(kind).is_some_and(is_numbered))
            || holders().is_ok_and(|mut of| of.next().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn devices_that_may_be_members_are_listed_by_size() {
        let scratch = Scratch::new("moved");
        let sys = scratch.path().join("sys");
        let device = |name: &str, sectors: &str, holder: Option<&str>| {
            let about = sys.join("class/block").join(name);
            fs::create_dir_all(about.join("holders")).unwrap();
            fs::write(about.join("size"), sectors).unwrap();
            holder.iter().for_each(|holder| fs::write(about.join("holders").join(holder), "").unwrap());
        };
        for (name, sectors, holder) in [
            ("sda", "4096\n", None),
            ("sdb", "4096\n", Some("dm-0")),
            ("dm-0", "4096\n", None),
            ("sdc1", "2048\n", None),
            ("loop3", "0\n", None),
            ("cciss!c0d0", "4096\n", None),
            ("nbd0", "4096\n", None),
            ("ublkb1", "4096\n", None),
            ("fd0", "4096\n", None),
            ("fdisk", "4096\n", None),
        ] {
            device(name, sectors, holder);
        }
        let devices = BlockDevices::at(&sys, "/dev");
        let named = |names: &[&str]| names.iter().map(|name| Path::new("/dev").join(name)).collect::<Vec<_>>();
        assert_eq!(devices.of_at_least(2 << 20), named(&["cciss/c0d0", "dm-0", "fdisk", "sda"]));
        assert_eq!(devices.all(), named(&["cciss/c0d0", "dm-0", "fdisk", "sda", "sdc1"]));
        assert_eq!(devices.of_at_least((1 << 20) + 1), devices.of_at_least(2 << 20), "one that has grown is as good");
        assert_eq!(devices.of_at_least((2 << 20) + 1), named(&[]));
        assert!(devices.may_name(Path::new("/dev/disk/by-id/x")) && !devices.may_name(Path::new("/devices/sda")));
        assert_eq!(BlockDevices::at("/no/such", "/dev").all(), named(&[]));
    }
}
