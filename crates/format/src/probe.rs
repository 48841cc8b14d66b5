//! What is already on a device, so that no data is overwritten unasked.
//!
//! Signatures are looked for where other software puts them, within the first [`PROBE_HEAD`] and last [`PROBE_TAIL`]
//! bytes. Whatever is not recognised and not zero still counts as data: [`Probe::Unknown`].

use cygnus_types::{BLOCK, Uuid};

use crate::constants::{SUPERBLOCK_AREA, SUPERBLOCK_SLOT};
use crate::slots::is_empty_copy;
use crate::superblock::{SUPERBLOCK_MAGIC, Superblock, SuperblockError};

/// Bytes at the start of a device that [`probe`] can make use of: all superblock slots; btrfs, ReiserFS and all ZFS
/// uberblocks of the first label lie within the first of them.
pub const PROBE_HEAD: usize = SUPERBLOCK_AREA as usize;

/// Bytes at the end of a device that [`probe_with_tail`] can make use of: the md superblocks 0.90 and 1.0 lie within,
/// also on devices whose size is no multiple of 64 KiB.
pub const PROBE_TAIL: usize = 192 << 10;

/// What a device holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A member of a Cygnus array.
    Cygnus {
        /// UUID of the array, as claimed.
        array: Uuid,
        /// UUID of the member, as claimed.
        member: Uuid,
        /// Whether this superblock is intact; if not, the other slot may be.
        intact: bool,
    },
    /// Something else that has a name.
    Foreign {
        /// The name, as people know it: "ext4", "LVM2", ...
        what: &'static str,
    },
    /// Nothing but zeros where we looked.
    Blank,
    /// Data of a kind that is not recognised.
    Unknown,
}

/// A signature at a fixed place.
struct Signature {
    offset: usize,
    magic: &'static [u8],
    what: &'static str,
}

const fn at(offset: usize, magic: &'static [u8], what: &'static str) -> Signature {
    Signature { offset, magic, what }
}

/// Signatures at the start of a device, the more telling ones first: a partition table's 55 AA is also the end of a FAT
/// boot sector, so partition tables come after the file systems.
const SIGNATURES: &[Signature] = &[
    at(
        0,
        b"CYGSSDFL",
        "the drive of a software SSD, which is a member by its address (ssd:unix:PATH, see 'cygnus ssd serve')",
    ),
    at(0, b"LUKS\xba\xbe", "LUKS"),
    at(0x4000, b"SKUL\xba\xbe", "LUKS"),
    at(0, b"XFSB", "xfs"),
    at(0x10040, b"_BHRfS_M", "btrfs"),
    at(4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", "bcache"),
    at(4096 + 24, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef", "bcachefs"),
    at(1024, b"\x10\x20\xf5\xf2", "f2fs"),
    at(1024, b"\xe2\xe1\xf5\xe0", "erofs"),
    at(1030, b"\x34\x34", "nilfs2"),
    at(0x8000, b"JFS1", "jfs"),
    at(0x10034, b"ReIsEr", "reiserfs"),
    at(0x8001, b"CD001", "iso9660"),
    at(0, b"hsqs", "squashfs"),
    at(0, b"bluestore block device", "Ceph BlueStore"),
    at(0, b"SPDKBLOB", "SPDK blobstore"),
    at(0, b"dmvdo001", "VDO"),
    at(512, b"!Stra0tis\x86\xff\x02^\x41rh", "Stratis"),
    at(0, b"QFI\xfb", "qcow2"),
    at(0, b"KDMV", "VMDK"),
    at(0, b"vhdxfile", "VHDX"),
    at(0, b"conectix", "VHD"),
    at(3, b"NTFS    ", "NTFS"),
    at(3, b"EXFAT   ", "exFAT"),
    at(54, b"FAT", "FAT"),
    at(82, b"FAT32", "FAT"),
    at(512, b"EFI PART", "GPT"),
    at(4096, b"EFI PART", "GPT"),
];

const SECTOR: usize = 512;
const MD_MAGIC: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
/// md 0.90 is stored in the byte order of the machine that made it.
const MD_MAGIC_BIG_ENDIAN: [u8; 4] = 0xa92b_4efc_u32.to_be_bytes();

/// Judges a device by its first bytes: at least a block, better [`PROBE_HEAD`] bytes.
pub fn probe(head: &[u8]) -> Probe {
    probe_with_tail(head, &[])
}

/// Judges a device by its first and last bytes. `tail` ends where the device ends, and is best [`PROBE_TAIL`] long.
///
/// A signature of other software beats a superblock of ours: the first slot covers all their places, so they came
/// later.
pub fn probe_with_tail(head: &[u8], tail: &[u8]) -> Probe {
    let first = &head[..head.len().min(SUPERBLOCK_SLOT as usize)];
    let mut slots = head.chunks(SUPERBLOCK_SLOT as usize);
    // The end of a member is data, and data may look like anything.
    let theirs = if is_ours(first) { taken_over_by(first) } else { foreign(first, tail) };
    if let Some(what) = theirs {
        return Probe::Foreign { what };
    }
    match slots.clone().find_map(cygnus) {
        Some(found) => found,
        None if slots.all(is_empty_copy) && is_zero(tail) => Probe::Blank,
        None => Probe::Unknown,
    }
}

/// What other software put over a member's first superblock slot, if anything: `mkfs` and its like do not know our
/// superblocks and may leave one of them whole.
pub(crate) fn taken_over_by(first_slot: &[u8]) -> Option<&'static str> {
    if !is_ours(first_slot) {
        return foreign(first_slot, &[]);
    }
    // Behind our own bytes there may be theirs: md 1.2, for one, leaves the first block alone.
    let own = match Superblock::decode(first_slot) {
        Ok(unverified) => unverified.length(),
        Err(_) => return None,
    };
    let mut rest = first_slot.to_vec();
    rest[..own].fill(0);
    foreign(&rest, &[])
}

fn foreign(head: &[u8], tail: &[u8]) -> Option<&'static str> {
    let signed = SIGNATURES.iter().find(|s| has(head, s.offset, s.magic)).map(|s| s.what);
    signed
        .or_else(|| ext(head))
        .or_else(|| lvm(head))
        .or_else(|| md(head, tail))
        .or_else(|| swap(head))
        .or_else(|| zfs(head))
        .or_else(|| gpt_backup(tail))
        .or_else(|| zone_file(tail))
        .or_else(|| has(head, 510, b"\x55\xaa").then_some("MBR"))
}

/// A file that stands for a device with zones describes these in its last block.
fn zone_file(tail: &[u8]) -> Option<&'static str> {
    let is_one = tail.last_chunk::<BLOCK>().is_some_and(|block| block.starts_with(b"CYGZONES"));
    is_one.then_some("a device with zones in a file, which is a member as zoned:FILE")
}

fn is_ours(slot: &[u8]) -> bool {
    slot.starts_with(&SUPERBLOCK_MAGIC)
}

fn has(bytes: &[u8], offset: usize, magic: &[u8]) -> bool {
    bytes.get(offset..).is_some_and(|rest| rest.starts_with(magic))
}

pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b == 0)
}

fn cygnus(slot: &[u8]) -> Option<Probe> {
    if !is_ours(slot) {
        return None;
    }
    Some(match Superblock::decode(slot) {
        Ok(unverified) => {
            let (array, member) = unverified.claimed();
            // A superblock of a newer program is intact as far as its checksum goes; that is all that is asked here.
            let intact = !matches!(unverified.verify(), Err(SuperblockError::Checksum { .. }));
            Probe::Cygnus { array, member, intact }
        }
        Err(_) => Probe::Cygnus { array: Uuid::default(), member: Uuid::default(), intact: false },
    })
}

/// ext2, ext3 and ext4 share a magic; a journal and extents tell them apart.
fn ext(head: &[u8]) -> Option<&'static str> {
    const SUPER: usize = 1024;
    const HAS_JOURNAL: u8 = 0x04;
    const EXT4_ONLY: u8 = 0x40 | 0x80;
    if !has(head, SUPER + 56, b"\x53\xef") {
        return None;
    }
    let flag = |offset: usize, bits: u8| head.get(SUPER + offset).is_some_and(|b| b & bits != 0);
    Some(match () {
        _ if flag(96, EXT4_ONLY) => "ext4",
        _ if flag(92, HAS_JOURNAL) => "ext3",
        _ => "ext2",
    })
}

/// The LVM2 label may be in any of the first four sectors.
fn lvm(head: &[u8]) -> Option<&'static str> {
    let labelled =
        |sector: usize| has(head, sector * SECTOR, b"LABELONE") && has(head, sector * SECTOR + 24, b"LVM2 001");
    (0..4).any(labelled).then_some("LVM2")
}

/// md 1.1 is at the start, 1.2 at 4 KiB; 1.0 and 0.90 are somewhere in the last 128 KiB, on a sector.
fn md(head: &[u8], tail: &[u8]) -> Option<&'static str> {
    let at_start = has(head, 0, &MD_MAGIC) || has(head, BLOCK, &MD_MAGIC);
    let at_end = || {
        tail.rchunks_exact(SECTOR).any(|sector| {
            let version = sector.get(4..8);
            let little = sector.starts_with(&MD_MAGIC) && matches!(version, Some([0 | 1, 0, 0, 0]));
            let big = sector.starts_with(&MD_MAGIC_BIG_ENDIAN) && matches!(version, Some([0, 0, 0, 0]));
            little || big
        })
    };
    (at_start || at_end()).then_some("mdraid")
}

/// The swap signature ends the first page, whatever size the machine's pages have.
fn swap(head: &[u8]) -> Option<&'static str> {
    let signed = |page: usize| has(head, page - 10, b"SWAPSPACE2") || has(head, page - 10, b"SWAP-SPACE");
    [4096, 8192, 16384, 32768, 65536].into_iter().any(signed).then_some("swap")
}

/// ZFS: uberblocks of the first label, in a ring from 128 KiB on, in the byte order of the machine that made them.
fn zfs(head: &[u8]) -> Option<&'static str> {
    const MAGIC: u64 = 0x00ba_b10c;
    let ring = (128 << 10)..(256 << 10);
    let uberblock = |offset: usize| has(head, offset, &MAGIC.to_le_bytes()) || has(head, offset, &MAGIC.to_be_bytes());
    ring.step_by(1024).any(uberblock).then_some("zfs")
}

/// The second copy of a GPT is in the last sector of 512 or 4096 bytes; it may be all that is left.
fn gpt_backup(tail: &[u8]) -> Option<&'static str> {
    let in_last = |sector: usize| tail.len().checked_sub(sector).is_some_and(|start| has(tail, start, b"EFI PART"));
    (in_last(SECTOR) || in_last(BLOCK)).then_some("GPT")
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
