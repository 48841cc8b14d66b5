//! Members of an R-group that are partitions of one disk: should that fail, all of them are gone at once.

use cygnus_uring::block_numbers;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Of these members of an R-group, those that share a disk, as sysfs at `sys` tells; and what the disk is called.
pub fn sharing_a_disk(sys: &Path, members: &[PathBuf]) -> Vec<(String, Vec<PathBuf>)> {
    let mut by_disk: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for member in members {
        let is_block = fs::metadata(member).is_ok_and(|metadata| metadata.file_type().is_block_device());
        if let Some(disk) =
            Some(member).filter(|_| is_block).and_then(|member| disk_of(sys, block_numbers(member).ok()?))
        {
            by_disk.entry(disk).or_default().push(member.clone());
        }
    }
    by_disk.into_iter().filter(|(_, members)| members.len() > 1).collect()
}

/// The disk that a block device is, or is a partition of.
fn disk_of(sys: &Path, (major, minor): (u32, u32)) -> Option<String> {
    let device = fs::canonicalize(sys.join(format!("dev/block/{major}:{minor}"))).ok()?;
    let disk = if device.join("partition").exists() { device.parent()? } else { &device };
    Some(disk.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_partition_is_of_its_disk() {
        let scratch = Scratch::new("one-disk");
        let sys = scratch.path();
        for (name, numbers, is_partition) in
            [("sda", "8:0", false), ("sda/sda1", "8:1", true), ("dm-0", "253:0", false)]
        {
            let device = sys.join("devices/virtual/block").join(name);
            fs::create_dir_all(&device).unwrap();
            fs::create_dir_all(sys.join("dev/block")).unwrap();
            symlink(&device, sys.join("dev/block").join(numbers)).unwrap();
            if is_partition {
                fs::write(device.join("partition"), "1\n").unwrap();
            }
        }
        let of = |major, minor| disk_of(sys, (major, minor));
        assert_eq!([of(8, 0), of(8, 1)], [Some("sda".into()), Some("sda".into())]);
        assert_eq!([of(253, 0), of(9, 9)], [Some("dm-0".into()), None]);
        assert!(sharing_a_disk(sys, &[sys.join("a"), sys.join("b")]).is_empty(), "files are on no disk of theirs");
    }
}
