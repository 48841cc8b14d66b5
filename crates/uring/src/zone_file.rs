//! Files that stand for devices with zones: `zoned:FILE`. What such a device refuses is refused here too, so that whoever has none can
//! try what it would be like, and tests can.
//!
//! ```text
//! the device's bytes | write pointers, 8 bytes for each zone, padded to whole blocks | description, one block
//! ```
//!
//! A pointer moves when a write has ended, so a process that is killed leaves what a drive would: a zone that ends with the last write
//! that was done, and nothing behind. A machine that goes down may leave a pointer before or behind what is there.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;

use cygnus_parity::checksum::crc32c;
use cygnus_runtime::{IoError, IoErrorKind, ZoneInfo, Zones};
use cygnus_types::{BLOCK, ByteSize};

use crate::error::{OpenError, io_error, open_error, unsuitable};
use crate::new_file;

const MAGIC: [u8; 8] = *b"CYGZONES";
const VERSION: u32 = 2;
const PREFIX: &str = "zoned:";
/// Most zones of a file.
const MOST_ZONES: u64 = 1 << 20;

/// The file that a path `zoned:FILE` names.
pub fn zoned_file(path: &Path) -> Option<&Path> {
    path.to_str()?.strip_prefix(PREFIX).map(Path::new)
}

/// The file or block device that a path stands for, with whatever before it.
pub fn beneath(path: &Path) -> &Path {
    zoned_file(path).unwrap_or(path)
}

/// How a zone stands, and whether a write goes there.
#[derive(Clone, Copy, Debug)]
struct Zone {
    pointer: u64,
    is_written: bool,
}

/// See the module's text.
pub(crate) struct ZoneFile {
    file: File,
    zones: Zones,
    size: u64,
    all: Mutex<Vec<Zone>>,
}

/// What the zones of a new file are.
#[derive(Clone, Copy, Debug)]
pub struct NewZones {
    /// Bytes of a zone.
    pub bytes: u64,
    /// Bytes of each sequential zone that can be written.
    pub capacity: u64,
    /// Zones at the start that may be written anywhere.
    pub conventional: u32,
    /// Zones that can be partly written at a time; 0: all.
    pub active_limit: u32,
}

/// Makes a file of that kind, for a device of `size` bytes. It is sparse: space is taken as it is written.
///
/// # Errors
/// See [`OpenError`]; an existing file is never touched.
pub fn create_zoned_file(path: &Path, size: u64, zones: NewZones) -> Result<(), OpenError> {
    let NewZones { bytes: zone, capacity, conventional, .. } = zones;
    let block = BLOCK as u64;
    if zone < block || !zone.is_multiple_of(block) || !size.is_multiple_of(zone) || size == 0 {
        let (size, zone) = (ByteSize(size), ByteSize(zone));
        return Err(unsuitable(path, format!("{size} are not whole zones of {zone}, of whole blocks of 4 KiB")));
    }
    if capacity == 0 || capacity > zone || !capacity.is_multiple_of(block) {
        let (capacity, zone) = (ByteSize(capacity), ByteSize(zone));
        return Err(unsuitable(
            path,
            format!("{capacity} of a zone of {zone} are not whole blocks of 4 KiB that lie in it"),
        ));
    }
    let count = size / zone;
    if count > MOST_ZONES || u64::from(conventional) >= count {
        let why = format!(
            "{count} zones, of which {conventional} conventional: use at most {MOST_ZONES}, and not only those"
        );
        return Err(unsuitable(path, why));
    }
    new_file::create_file(path, size + table_bytes(count) + block)?;
    let describe = || {
        let file = OpenOptions::new().write(true).open(path)?;
        for n in 0..count {
            file.write_all_at(&(n * zone).to_le_bytes(), size + n * 8)?;
        }
        file.write_all_at(&description(size, &zones), size + table_bytes(count))?;
        file.sync_all()
    };
    describe().map_err(|error| io_error(path, "describe its zones", error))
}

fn table_bytes(zones: u64) -> u64 {
    (zones * 8).next_multiple_of(BLOCK as u64)
}

fn description(size: u64, zones: &NewZones) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..8].copy_from_slice(&MAGIC);
    block[8..12].copy_from_slice(&VERSION.to_le_bytes());
    block[12..16].copy_from_slice(&zones.conventional.to_le_bytes());
    block[16..24].copy_from_slice(&zones.bytes.to_le_bytes());
    block[24..32].copy_from_slice(&size.to_le_bytes());
    block[32..40].copy_from_slice(&zones.capacity.to_le_bytes());
    block[40..44].copy_from_slice(&zones.active_limit.to_le_bytes());
    let crc = crc32c(&block[..BLOCK - 4]);
    block[BLOCK - 4..].copy_from_slice(&crc.to_le_bytes());
    block
}

/// The zones and the size that a description tells of.
fn described(block: &[u8; BLOCK]) -> Option<(Zones, u64)> {
    let u32_at = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
    let u64_at = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
    let (conventional, zone, size) = (u32_at(12), u64_at(16), u64_at(24));
    let (capacity, active_limit) = (u64_at(32), u32_at(40));
    let is_one = block[..8] == MAGIC && u32_at(8) == VERSION && u32_at(BLOCK - 4) == crc32c(&block[..BLOCK - 4]);
    let is_whole = zone > 0 && zone.is_multiple_of(BLOCK as u64) && size.is_multiple_of(zone);
    let fits = capacity > 0 && capacity <= zone && capacity.is_multiple_of(BLOCK as u64);
    let zones = Zones { bytes: zone, capacity, conventional: Some(conventional), active_limit, commands: true };
    (is_one && is_whole && fits && size / zone <= MOST_ZONES).then_some((zones, size))
}

impl ZoneFile {
    /// Opens what keeps the zones of a file.
    pub(crate) fn open(path: &Path, writes: bool) -> Result<Self, OpenError> {
        let file = OpenOptions::new().read(true).write(writes).open(path).map_err(|error| open_error(path, error))?;
        let read = |error| io_error(path, "read its zones", error);
        let length = file.metadata().map_err(read)?.len();
        let no_zones = || unsuitable(path, "it describes no zones: make one with 'cygnus zoned make'".into());
        let mut block = [0; BLOCK];
        let at = length.checked_sub(BLOCK as u64).ok_or_else(no_zones)?;
        file.read_exact_at(&mut block, at).map_err(read)?;
        let (zones, size) = described(&block).ok_or_else(no_zones)?;
        let count = size / zones.bytes;
        if size + table_bytes(count) != at {
            return Err(no_zones());
        }
        let mut table = vec![0; count as usize * 8];
        file.read_exact_at(&mut table, size).map_err(read)?;
        let pointers = table.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
        let all: Vec<Zone> = pointers.map(|pointer| Zone { pointer, is_written: false }).collect();
        let is_possible = |(n, zone): (u64, &Zone)| (n * zones.bytes..=(n + 1) * zones.bytes).contains(&zone.pointer);
        match (0..).zip(&all).all(is_possible) {
            true => Ok(Self { file, zones, size, all: Mutex::new(all) }),
            false => Err(unsuitable(path, "the write pointer of a zone lies outside of it".into())),
        }
    }

    pub(crate) fn zones(&self) -> Zones {
        self.zones
    }

    /// Bytes of the device.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether a drive would take this write now; if so, it is on its way until [`ZoneFile::ended`].
    pub(crate) fn admit(&self, offset: u64, len: u64) -> Result<(), IoError> {
        let refused = Err(IoError::of_device(libc::EIO));
        let Some(n) = self.sequential(offset, len) else {
            let is_conventional = offset + len <= u64::from(self.zones.conventional.unwrap_or(0)) * self.zones.bytes;
            return if is_conventional { Ok(()) } else { refused };
        };
        let mut all = self.all.lock().expect("no holder panics");
        let start = n as u64 * self.zones.bytes;
        let is_too_long = offset + len > start + self.zones.capacity;
        if all[n].pointer != offset || all[n].is_written || is_too_long {
            return refused;
        }
        let limit = self.zones.active_limit as usize;
        if offset == start && limit > 0 && self.active(&all) >= limit {
            return refused;
        }
        all[n].is_written = true;
        Ok(())
    }

    /// A write that was admitted has come to its end.
    pub(crate) fn ended(&self, offset: u64, len: u64, is_done: bool) -> Result<(), IoError> {
        let Some(n) = self.sequential(offset, len) else { return Ok(()) };
        let mut all = self.all.lock().expect("no holder panics");
        all[n].is_written = false;
        if is_done { self.set(&mut all, n, offset + len) } else { Ok(()) }
    }

    /// Whatever was admitted will not end any more.
    pub(crate) fn nothing_is_under_way(&self) {
        self.all.lock().expect("no holder panics").iter_mut().for_each(|zone| zone.is_written = false);
    }

    /// How a zone stands.
    pub(crate) fn report(&self, zone: u32) -> Result<ZoneInfo, IoError> {
        let all = self.all.lock().expect("no holder panics");
        let known = all.get(zone as usize).ok_or(IoError::new(IoErrorKind::Range))?;
        let pointer = (Some(zone) >= self.zones.conventional).then_some(known.pointer);
        let capacity = if pointer.is_some() { self.zones.capacity } else { self.zones.bytes };
        Ok(ZoneInfo { start: u64::from(zone) * self.zones.bytes, capacity, pointer })
    }

    /// How many zones are partly written, or about to be.
    fn active(&self, all: &[Zone]) -> usize {
        let first = self.zones.conventional.unwrap_or(0) as usize;
        let is_active = |&(n, zone): &(usize, &Zone)| {
            let start = n as u64 * self.zones.bytes;
            zone.is_written || zone.pointer > start && zone.pointer < start + self.zones.capacity
        };
        all.iter().enumerate().skip(first).filter(is_active).count()
    }

    /// Writes no more to a zone until it is reset.
    pub(crate) fn finish(&self, zone: u32) -> Result<(), IoError> {
        let start = u64::from(zone) * self.zones.bytes;
        let n = self.sequential(start, BLOCK as u64).ok_or(IoError::of_device(libc::EIO))?;
        let mut all = self.all.lock().expect("no holder panics");
        self.set(&mut all, n, start + self.zones.capacity)
    }

    /// Forgets what a zone holds.
    pub(crate) fn reset(&self, zone: u32) -> Result<(), IoError> {
        let start = u64::from(zone) * self.zones.bytes;
        let n = self.sequential(start, BLOCK as u64).ok_or(IoError::of_device(libc::EIO))?;
        let mut all = self.all.lock().expect("no holder panics");
        self.set(&mut all, n, start)
    }

    /// The sequential zone that a range lies in as a whole.
    fn sequential(&self, offset: u64, len: u64) -> Option<usize> {
        let (first, last) = (offset / self.zones.bytes, (offset + len.max(1) - 1) / self.zones.bytes);
        let is_one = first == last && first >= u64::from(self.zones.conventional.unwrap_or(0)) && offset < self.size;
        is_one.then_some(first as usize)
    }

    fn set(&self, all: &mut [Zone], n: usize, pointer: u64) -> Result<(), IoError> {
        let kept = self.file.write_all_at(&pointer.to_le_bytes(), self.size + n as u64 * 8);
        kept.map_err(|error| IoError::of_device(error.raw_os_error().unwrap_or(libc::EIO)))?;
        all[n].pointer = pointer;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const B: u64 = BLOCK as u64;

    fn made(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("cygnus-zones-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let zones = NewZones { bytes: 16 * B, capacity: 16 * B, conventional: 2, active_limit: 0 };
        create_zoned_file(&path, 8 * 16 * B, zones).unwrap();
        path
    }

    #[test]
    fn it_takes_what_a_drive_takes_and_remembers_it() {
        let path = made("order");
        let zones = ZoneFile::open(&path, true).unwrap();
        assert_eq!((zones.size(), zones.zones().conventional), (128 * B, Some(2)));
        assert!(zones.admit(3 * B, 20 * B).is_ok(), "conventional zones take anything");
        assert!(zones.admit(31 * B, 2 * B).is_err(), "over into a sequential one");
        assert!(zones.admit(33 * B, B).is_err(), "not where the zone goes on");
        assert!(zones.admit(32 * B, 4 * B).is_ok());
        assert!(zones.admit(36 * B, B).is_err(), "another write is on its way");
        zones.ended(32 * B, 4 * B, true).unwrap();
        assert!(zones.admit(36 * B, B).is_ok());
        zones.ended(36 * B, B, false).unwrap();
        assert!(zones.admit(47 * B, 2 * B).is_err(), "two zones");
        drop(zones);
        let again = ZoneFile::open(&path, true).unwrap();
        assert_eq!(again.report(2).unwrap().pointer, Some(36 * B), "the last write was not done");
        assert_eq!((again.report(1).unwrap().pointer, again.report(8).is_err()), (None, true));
        again.reset(2).unwrap();
        assert!(again.reset(0).is_err() && again.admit(32 * B, 16 * B).is_ok());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn files_that_describe_no_zones_are_refused() {
        let path = made("rot");
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&u64::MAX.to_le_bytes(), 128 * B + 5 * 8).unwrap();
        let refusal = ZoneFile::open(&path, false).err().unwrap().to_string();
        assert!(refusal.contains("pointer"), "{refusal}");
        file.set_len(128 * B).unwrap();
        let refusal = ZoneFile::open(&path, false).err().unwrap().to_string();
        assert!(refusal.contains("cygnus zoned make"), "{refusal}");
        std::fs::remove_file(&path).unwrap();
        for (size, zone, conventional) in [(10 * B, 3 * B, 1), (8 * B, 100, 1), (8 * B, 4 * B, 2), (0, B, 0)] {
            let zones = NewZones { bytes: zone, capacity: zone, conventional, active_limit: 0 };
            assert!(create_zoned_file(&path, size, zones).is_err(), "{size} {zone} {conventional}");
        }
        for capacity in [0, 5 * B, B + 512] {
            let zones = NewZones { bytes: 4 * B, capacity, conventional: 0, active_limit: 0 };
            assert!(create_zoned_file(&path, 8 * B, zones).is_err(), "{capacity}");
        }
        assert!(!path.exists());
    }

    #[test]
    fn zoned_flash_ends_its_zones_early_and_has_few_of_them_partly_written() {
        let path = std::env::temp_dir().join(format!("cygnus-zones-{}-flash", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let zones = NewZones { bytes: 16 * B, capacity: 10 * B, conventional: 0, active_limit: 2 };
        create_zoned_file(&path, 8 * 16 * B, zones).unwrap();
        let zones = ZoneFile::open(&path, true).unwrap();
        assert!(zones.admit(0, 11 * B).is_err(), "more than can be written");
        let write = |offset, len| zones.admit(offset, len).and_then(|()| zones.ended(offset, len, true));
        assert!(write(0, 3 * B).is_ok() && write(16 * B, 3 * B).is_ok());
        assert!(write(32 * B, B).is_err(), "a third one");
        zones.finish(0).unwrap();
        assert!(write(3 * B, B).is_err(), "it is finished");
        assert_eq!(zones.report(0).map(|zone| zone.is_full()), Ok(true));
        assert!(write(32 * B, 10 * B).is_ok() && write(48 * B, B).is_ok(), "a full one does not count");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn the_prefix_names_the_file() {
        assert_eq!(zoned_file(Path::new("zoned:/a/b")), Some(Path::new("/a/b")));
        assert_eq!((zoned_file(Path::new("/zoned:x")), beneath(Path::new("/a"))), (None, Path::new("/a")));
    }
}
