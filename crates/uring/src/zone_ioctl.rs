//! The zones of Linux block devices: asked for and reset by `ioctl`.

use std::io;
use std::os::fd::RawFd;

use cygnus_runtime::{IoError, IoErrorKind, ZoneInfo};

/// The unit of the kernel's zone commands, whatever the device's own sectors are.
const SECTOR: u64 = 512;
/// `_IOWR(0x12, 130, struct blk_zone_report)`; the libc crate does not name it.
const BLKREPORTZONE: libc::Ioctl = 0xc010_1282u32 as libc::Ioctl;
/// `_IOW(0x12, 131, struct blk_zone_range)`.
const BLKRESETZONE: libc::Ioctl = 0x4010_1283;
/// `_IOW(0x12, 136, struct blk_zone_range)`.
const BLKFINISHZONE: libc::Ioctl = 0x4010_1288;
/// A zone that may be written anywhere (`BLK_ZONE_TYPE_CONVENTIONAL`).
const CONVENTIONAL: u8 = 1;
/// A zone that is full (`BLK_ZONE_COND_FULL`): its pointer says nothing.
const FULL: u8 = 0xe;
/// A report tells of capacities (`BLK_ZONE_REP_CAPACITY`).
const TELLS_CAPACITY: u32 = 1;
/// Zones that one report tells of.
const AT_ONCE: usize = 64;

/// `struct blk_zone` of `linux/blkzoned.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Zone {
    start: u64,
    len: u64,
    pointer: u64,
    kind: u8,
    condition: u8,
    non_seq: u8,
    reset: u8,
    reserved: [u8; 4],
    capacity: u64,
    more: [u8; 24],
}

/// `struct blk_zone_report`, with room for some zones.
#[repr(C)]
struct Report {
    sector: u64,
    zones: u32,
    flags: u32,
    all: [Zone; AT_ONCE],
}

const _: () = assert!(size_of::<Zone>() == 64 && size_of::<Report>() == 16 + 64 * AT_ONCE);

/// What the kernel says of zones from a byte on, as many as one report tells of.
fn report_from(fd: RawFd, at: u64) -> io::Result<Vec<ZoneInfo>> {
    let mut report = Report { sector: at / SECTOR, zones: AT_ONCE as u32, flags: 0, all: [Zone::default(); AT_ONCE] };
    // SAFETY: the kernel reads the first 16 bytes and writes those and, behind them, at most `zones` entries of 64 bytes; the variable
    // has exactly that layout and room, as asserted above, belongs to this call alone, and is valid whatever bytes are put there. A
    // descriptor that is not open, or no zoned device, makes the call fail.
    if unsafe { libc::ioctl(fd, BLKREPORTZONE, &raw mut report) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let tells_capacity = report.flags & TELLS_CAPACITY != 0;
    let info = |zone: &Zone| {
        let capacity = if tells_capacity { zone.capacity } else { zone.len };
        let end = zone.start + capacity;
        let pointer = if zone.condition == FULL { end } else { zone.pointer.min(end) };
        let pointer = (zone.kind != CONVENTIONAL).then_some(pointer * SECTOR);
        ZoneInfo { start: zone.start * SECTOR, capacity: capacity * SECTOR, pointer }
    };
    Ok(report.all[..(report.zones as usize).min(AT_ONCE)].iter().map(info).collect())
}

/// How a device begins: its conventional zones, and the capacity of the first one behind them.
pub(crate) fn beginning(fd: RawFd, zone: u64, size: u64) -> io::Result<(u32, u64)> {
    let mut conventional = 0;
    let mut at = 0;
    while at < size {
        let zones = report_from(fd, at)?;
        for info in &zones {
            if info.pointer.is_some() {
                return Ok((conventional, info.capacity));
            }
            conventional += 1;
        }
        if zones.is_empty() {
            break;
        }
        at += zones.len() as u64 * zone;
    }
    Ok((conventional, zone))
}

/// How a zone stands.
pub(crate) fn report(fd: RawFd, start: u64) -> Result<ZoneInfo, IoError> {
    let zones = report_from(fd, start).map_err(|error| of(&error))?;
    zones.first().copied().filter(|info| info.start == start).ok_or(IoError::new(IoErrorKind::Range))
}

/// Forgets what a zone holds.
pub(crate) fn reset(fd: RawFd, start: u64, bytes: u64) -> Result<(), IoError> {
    of_range(fd, BLKRESETZONE, start, bytes)
}

/// Writes no more to a zone until it is reset.
pub(crate) fn finish(fd: RawFd, start: u64, bytes: u64) -> Result<(), IoError> {
    of_range(fd, BLKFINISHZONE, start, bytes)
}

/// A command that takes a `struct blk_zone_range`.
fn of_range(fd: RawFd, command: libc::Ioctl, start: u64, bytes: u64) -> Result<(), IoError> {
    let range = [start / SECTOR, bytes / SECTOR];
    // SAFETY: the kernel reads two u64 from the address and writes nothing there; the array has two and lives until the call returns. A
    // descriptor that is not open, or no zoned device, makes the call fail.
    match unsafe { libc::ioctl(fd, command, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(of(&io::Error::last_os_error())),
    }
}

fn of(error: &io::Error) -> IoError {
    IoError::of_device(error.raw_os_error().unwrap_or(libc::EIO))
}
