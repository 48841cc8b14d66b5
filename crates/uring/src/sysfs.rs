//! What Linux says of a block device's medium and commands, in sysfs.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use cygnus_runtime::{Capabilities, DeviceClass, Zones};

/// The unit of `queue/chunk_sectors`, whatever the device's own sectors are.
const SECTOR: u64 = 512;

/// Major and minor number of the block device at a path, or of the one whose file system has the file there. A file system that is on no
/// device, or on several, has numbers that are no device's.
///
/// # Errors
/// When there is nothing at the path.
pub fn block_numbers(path: &Path) -> io::Result<(u32, u32)> {
    let metadata = fs::metadata(path)?;
    let number = if metadata.file_type().is_block_device() { metadata.rdev() } else { metadata.dev() };
    Ok((libc::major(number), libc::minor(number)))
}

/// What the block device of this number is and what can be done with it; little is known where sysfs says nothing.
pub(crate) fn capabilities(number: u64) -> Capabilities {
    let device = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
    told(Path::new(&device))
}

/// The same, of the device with this directory.
fn told(device: &Path) -> Capabilities {
    let queue = Queue::of(device);
    Capabilities {
        class: class(device, &queue),
        trim: queue.number("discard_max_bytes") > 0,
        zones: zones(&queue),
        resets: None,
        convert: false,
        oob_bytes: 0,
        read_only: false,
    }
}

/// The devices that lie on the block device of this number or on one of its partitions, in words; none where sysfs says nothing.
pub(crate) fn users(number: u64) -> Vec<String> {
    let device = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
    told_users(Path::new(&device))
}

/// The same, of the device with this directory.
fn told_users(device: &Path) -> Vec<String> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        let found = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = found.collect();
        found.sort();
        found
    };
    let partitions = entries(device).into_iter().filter(|path| path.join("partition").is_file());
    let holders = partitions.chain([device.to_owned()]).flat_map(|device| entries(&device.join("holders")));
    let mut words: Vec<String> = holders.map(|holder| user(&holder)).collect();
    words.dedup();
    words
}

/// A device that lies on another one, in words.
fn user(holder: &Path) -> String {
    let name = holder.file_name().unwrap_or_default().to_string_lossy();
    let text = |path: &str| fs::read_to_string(holder.join(path)).ok().map(|text| text.trim().to_owned());
    match text("dm/name") {
        Some(mapped) if text("dm/uuid").is_some_and(|uuid| uuid.starts_with("LVM-")) => {
            format!("the logical volume {mapped} ({name})")
        }
        Some(mapped) => format!("the device-mapper device {mapped} ({name})"),
        None if holder.join("md").is_dir() => format!("the md array {name}"),
        None => format!("the device {name}"),
    }
}

/// The directory of a device's request queue. A partition has it in the directory of its disk.
struct Queue(PathBuf);

impl Queue {
    fn of(device: &Path) -> Self {
        let [own, of_disk] = [device.join("queue"), device.join("../queue")];
        Self(if own.is_dir() { own } else { of_disk })
    }

    fn text(&self, name: &str) -> Option<String> {
        Some(fs::read_to_string(self.0.join(name)).ok()?.trim().to_owned())
    }

    /// 0 where nothing is said.
    fn number(&self, name: &str) -> u64 {
        self.text(name).and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

/// How an NVMe controller is reached that is not in this machine.
const FABRICS: [&str; 3] = ["tcp", "rdma", "fc"];

fn class(device: &Path, queue: &Queue) -> DeviceClass {
    if is_remote(device) {
        return DeviceClass::Remote;
    }
    match queue.text("rotational").as_deref() {
        Some("0") => DeviceClass::Flash,
        Some(_) => DeviceClass::Disk,
        None => DeviceClass::Unknown,
    }
}

/// Whether the way to it is a network, as far as can be told from the names in it.
fn is_remote(device: &Path) -> bool {
    let transport = fs::read_to_string(device.join("device/transport")).unwrap_or_default();
    if FABRICS.contains(&transport.trim()) {
        return true;
    }
    let Ok(real) = fs::canonicalize(device) else { return false };
    let is_hop = |name: &str| {
        let numbered =
            |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        // iSCSI, Fibre Channel, network block devices, Ceph.
        ["session", "rport-", "nbd", "rbd"].into_iter().any(numbered)
    };
    real.components().any(|part| part.as_os_str().to_str().is_some_and(is_hop))
}

fn zones(queue: &Queue) -> Option<Zones> {
    // "host-aware" drives may be written anywhere, and the kernel takes them for ordinary ones since 6.9.
    if queue.text("zoned")? != "host-managed" {
        return None;
    }
    Some(Zones {
        bytes: queue.number("chunk_sectors") * SECTOR,
        // Whoever opens the device asks.
        capacity: queue.number("chunk_sectors") * SECTOR,
        conventional: None,
        // Zones that are merely open are closed by the device itself.
        active_limit: u32::try_from(queue.number("max_active_zones")).unwrap_or(u32::MAX),
        // io_uring has no way to them but commands of the NVMe driver.
        commands: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory as sysfs has it.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("cygnus-sysfs-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, format!("{text}\n")).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn media_and_discards_are_as_the_queue_says_of_disks_and_of_their_partitions() {
        let tree = Tree::new(
            "media",
            &[
                ("sda/queue/rotational", "1"),
                ("sda/queue/discard_max_bytes", "0"),
                ("sda/queue/zoned", "none"),
                ("sda/sda1/partition", "1"),
                ("nvme0n1/queue/rotational", "0"),
                ("nvme0n1/queue/discard_max_bytes", "2199023255040"),
                ("nvme0n1/device/transport", "pcie"),
            ],
        );
        let disk = Capabilities { class: DeviceClass::Disk, ..Capabilities::default() };
        assert_eq!(told(&tree.0.join("sda")), disk);
        assert_eq!(told(&tree.0.join("sda/sda1")), disk);
        let flash = Capabilities { class: DeviceClass::Flash, trim: true, ..Capabilities::default() };
        assert_eq!(told(&tree.0.join("nvme0n1")), flash);
        assert_eq!(told(&tree.0.join("nothing")), Capabilities::default());
    }

    #[test]
    fn a_device_beyond_a_network_is_remote_whatever_its_medium() {
        let queue = |path: &str| format!("{path}/queue/rotational");
        let far = [
            "platform/host3/session1/target3:0:0/block/sdb",
            "host7/rport-7:0-0/block/sdc",
            "virtual/block/nbd0",
            "rbd0",
        ];
        let near = ["pci0000:00/host1/block/sdd", "virtual/block/nbdisk", "session/block/sde"];
        let files: Vec<String> = far.iter().chain(&near).map(|path| queue(path)).collect();
        let mut files: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "0")).collect();
        files.extend([("nvme1n1/queue/rotational", "0"), ("nvme1n1/device/transport", "tcp")]);
        let tree = Tree::new("remote", &files);
        for path in far.into_iter().chain(["nvme1n1"]) {
            assert_eq!(told(&tree.0.join(path)).class, DeviceClass::Remote, "{path}");
        }
        for path in near {
            assert_eq!(told(&tree.0.join(path)).class, DeviceClass::Flash, "{path}");
        }
    }

    #[test]
    fn devices_that_lie_on_a_disk_or_a_partition_are_named() {
        let tree = Tree::new(
            "users",
            &[
                ("sda/holders/dm-3/dm/name", "vg0-data"),
                ("sda/holders/dm-3/dm/uuid", "LVM-abc"),
                ("sdb/holders/dm-4/dm/name", "secret"),
                ("sdb/holders/dm-4/dm/uuid", "CRYPT-LUKS2-abc"),
                ("sdc/sdc1/partition", "1"),
                ("sdc/sdc1/holders/md127/md/level", "raid1"),
                ("sdc/sdc2/partition", "2"),
                ("sdc/sdc2/holders/md127/md/level", "raid1"),
                ("sdd/holders/bcache0/size", "1"),
                ("sdd/holders/dm-5/dm/name", "snap"),
                ("sde/queue/rotational", "0"),
            ],
        );
        let users = |name: &str| told_users(&tree.0.join(name)).join("; ");
        assert_eq!(users("sda"), "the logical volume vg0-data (dm-3)");
        assert_eq!(users("sdb"), "the device-mapper device secret (dm-4)");
        assert_eq!((users("sdc"), users("sdc/sdc1")), ("the md array md127".into(), "the md array md127".into()));
        assert_eq!(users("sdd"), "the device bcache0; the device-mapper device snap (dm-5)");
        assert_eq!((users("sde"), users("nothing")), (String::new(), String::new()));
    }

    #[test]
    fn only_host_managed_zones_count() {
        let tree = Tree::new(
            "zones",
            &[
                ("sdz/queue/zoned", "host-managed"),
                ("sdz/queue/chunk_sectors", "524288"),
                ("sdz/queue/max_open_zones", "128"),
                ("sdz/queue/max_active_zones", "14"),
                ("sdz/queue/rotational", "1"),
                ("sda/queue/zoned", "host-aware"),
                ("sda/queue/chunk_sectors", "524288"),
            ],
        );
        let zones =
            Zones { bytes: 256 << 20, capacity: 256 << 20, conventional: None, active_limit: 14, commands: false };
        assert_eq!(told(&tree.0.join("sdz")).zones, Some(zones));
        assert!(!told(&tree.0.join("sdz")).writes_anywhere());
        assert_eq!(told(&tree.0.join("sda")).zones, None);
    }
}
