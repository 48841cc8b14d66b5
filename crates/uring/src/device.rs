//! Devices: opened once per process, shared by its reactors, and held exclusively.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cygnus_runtime::{Capabilities, DeviceClass, DeviceInfo, DeviceIx, IoError};
use cygnus_types::BLOCK;

use crate::aligned::AlignedBytes;
use crate::error::OpenError;
use crate::far::Far;
use crate::holder::Holder;
use crate::link::Link;
use crate::memory::Memory;
use crate::opening::{Access, Opening, Place, Properties};
use crate::zone_file::{ZoneFile, beneath, zoned_file};
use crate::zones::DeviceZones;

/// What carries the bytes.
pub(crate) enum Backing {
    /// A regular file or block device.
    Place(Place),
    /// A mapping of this process. It may be smaller than the device: nothing is kept of what lies behind it.
    Memory(Memory),
    /// A software SSD behind a socket.
    Far(Far),
}

/// How a device is open now.
pub(crate) enum Opened {
    /// As a file.
    Place(Opening),
    /// By a connection.
    Far(Link),
}

impl Opened {
    /// Counts the openings of the device.
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Place(opening) => opening.number,
            Self::Far(link) => link.number(),
        }
    }
}

/// How long a device may be claimed before it counts as in use. The kernel lets go of the files of an io_uring some time
/// *after* a process that was killed is gone: milliseconds, on a busy machine seconds. Whoever comes next is faster.
pub const RELEASE_PATIENCE: Duration = Duration::from_secs(4);
const RELEASE_POLL: Duration = Duration::from_millis(10);

struct Inner {
    name: String,
    properties: Properties,
    backing: Backing,
    zones: Option<DeviceZones>,
    /// Whether the kernel has turned down the discard command, so that holes are to be punched instead.
    punches: AtomicBool,
}

/// An opened device. Clones share it; it stays open, and locked if opened so, until the last one is gone.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

impl Device {
    /// Opens a regular file or a block device, past the page cache (`O_DIRECT`) where possible; where not, and why,
    /// [`Device::fallback`] tells. A path `ssd:unix:PATH` or `ssd:tcp:HOST:PORT` stands for the software SSD that is served there,
    /// and `zoned:FILE` for the device with zones that is in that file.
    ///
    /// Waits for [`RELEASE_PATIENCE`] where somebody else has it.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path, access: Access) -> Result<Self, OpenError> {
        let began = Instant::now();
        loop {
            match Self::open_now(path, access) {
                Err(OpenError::InUse { .. }) if began.elapsed() < RELEASE_PATIENCE => thread::sleep(RELEASE_POLL),
                opened => return opened,
            }
        }
    }

    /// The same, without waiting for somebody who has it.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_now(path: &Path, access: Access) -> Result<Self, OpenError> {
        if let Some(address) = Far::address(path) {
            let (far, properties) = Far::open(path, &address, access)?;
            let (name, backing) = (path.display().to_string(), Backing::Far(far));
            return Ok(Self(Arc::new(Inner {
                name,
                properties,
                backing,
                zones: None,
                punches: AtomicBool::new(false),
            })));
        }
        let place = beneath(path);
        let (opening, mut properties) = Opening::new(place, access, None)?;
        let zone_file = zoned_file(path).map(|file| ZoneFile::open(file, access == Access::Exclusive)).transpose()?;
        if let Some(file) = &zone_file {
            (properties.size, properties.capabilities.zones) = (file.size(), Some(file.zones()));
        }
        let zones = DeviceZones::of(path, &properties.capabilities, properties.size, zone_file)?;
        let punches = AtomicBool::new(!opening.is_block_device());
        let (name, backing) = (path.display().to_string(), Backing::Place(Place::new(place, access, opening)));
        Ok(Self(Arc::new(Inner { name, properties, backing, zones, punches })))
    }

    /// See [`Io::goes_by`](crate::Io::goes_by).
    pub(crate) fn goes_by(&self, path: &Path) {
        if let Backing::Place(place) = &self.0.backing {
            place.goes_by(path);
        }
    }

    /// Opens the path anew, unless somebody else has done so since the opening `known`; blocking. What was opened before stays
    /// so until its last operation has ended.
    pub(crate) fn reopen(&self, known: u64) -> Result<Opened, IoError> {
        match &self.0.backing {
            Backing::Place(place) => place.reopen(known, &self.0.properties).map(Opened::Place),
            Backing::Far(far) => far.reopen(known).map(Opened::Far),
            Backing::Memory(_) => unreachable!("memory is not opened"),
        }
    }

    /// A device in memory of `size` bytes (rounded down to blocks), for benchmarks and tests. `prefault` makes all of it
    /// resident now. Flush has nothing to do; trim is accepted and leaves the contents as they are.
    ///
    /// # Errors
    /// If the system has not that much memory to give.
    pub fn memory(name: &str, size: u64, prefault: bool) -> io::Result<Self> {
        let size = size / BLOCK as u64 * BLOCK as u64;
        let memory = Memory::new(size as usize, prefault)?;
        Ok(Self::immaterial(name, size, Backing::Memory(memory)))
    }

    /// A device that keeps only its first `kept` bytes (a multiple of 4096, for superblocks), for measuring everything
    /// but the medium: other writes vanish, other reads give zeros. Zeros, so that what is rebuilt from several of them is
    /// what each of them gives.
    ///
    /// # Errors
    /// If the system has not that much memory to give.
    pub fn null(name: &str, size: u64, kept: u64) -> io::Result<Self> {
        let memory = Memory::new(kept as usize, true)?;
        Ok(Self::immaterial(name, size / BLOCK as u64 * BLOCK as u64, Backing::Memory(memory)))
    }

    /// What is left of a device that was given back: it has no bytes.
    pub(crate) fn given_back(name: &str) -> io::Result<Self> {
        Ok(Self::immaterial(name, 0, Backing::Memory(Memory::new(BLOCK, false)?)))
    }

    fn immaterial(name: &str, size: u64, backing: Backing) -> Self {
        let capabilities = Capabilities { class: DeviceClass::Memory, ..Capabilities::default() };
        let properties =
            Properties { size, logical_block: BLOCK as u32, buffer_align: 1, fallback: None, capabilities };
        let (name, punches) = (name.to_owned(), AtomicBool::new(false));
        Self(Arc::new(Inner { name, properties, backing, zones: None, punches }))
    }

    /// The path, or the name given to a device in memory.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Capacity in bytes, a multiple of 4096: what can be written of it.
    pub fn size(&self) -> u64 {
        self.zones().map_or(self.0.properties.size, |zones| zones.zoned.shape().size * BLOCK as u64)
    }

    /// Smallest unit of I/O in bytes: 512 to 4096.
    pub fn logical_block(&self) -> u32 {
        self.0.properties.logical_block
    }

    /// What it is and what it can do.
    pub fn capabilities(&self) -> Capabilities {
        self.0.properties.capabilities
    }

    /// Why I/O goes through the page cache, if it does. Flushes make it durable all the same, but every write costs
    /// memory and a second copy.
    pub fn fallback(&self) -> Option<&str> {
        self.0.properties.fallback.as_deref()
    }

    /// What the engine is told of this device under the number `ix`.
    pub fn info(&self, ix: DeviceIx) -> DeviceInfo {
        DeviceInfo { ix, name: self.0.name.clone(), size: self.size(), logical_block: self.logical_block() }
    }

    /// Reads `len` bytes at `offset` (multiples of 4096) now, blocking: for looking at a device outside any reactor.
    ///
    /// # Errors
    /// The operating system's; `UnexpectedEof` beyond the end.
    pub fn read_now(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        if offset.checked_add(len as u64).is_none_or(|end| end > self.size()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match (&self.0.zones, &self.0.backing) {
            (Some(zones), Backing::Place(place)) => {
                let opening = place.current();
                let blocks = offset / BLOCK as u64..(offset + len as u64) / BLOCK as u64;
                let report = |zone| zones.report(&opening, zone);
                zones.zoned.shape().read_now(blocks, report, |offset, len| self.read_as_it_is(offset, len))
            }
            _ => self.read_as_it_is(offset, len),
        }
    }

    /// Reads where a byte lies on the device itself.
    fn read_as_it_is(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = AlignedBytes::new(len);
        match &self.0.backing {
            Backing::Place(place) => place.current().file().read_exact_at(bytes.as_mut(), offset)?,
            Backing::Far(far) => return far.current().read_now(offset, len),
            Backing::Memory(memory) if offset >= memory.len() => {}
            // SAFETY: the buffer is `len` bytes long and our own.
            Backing::Memory(memory) => unsafe { memory.read(offset, bytes.as_mut().as_mut_ptr(), len) },
        }
        Ok(bytes.as_mut().to_vec())
    }

    /// Who else has claimed it, of one that was opened for reading only. Of a software SSD nobody is known.
    pub fn holder(&self) -> Option<Holder> {
        match &self.0.backing {
            Backing::Place(place) => place.holder(),
            Backing::Far(_) | Backing::Memory(_) => None,
        }
    }

    /// Its zones, if it is to be written in order.
    pub(crate) fn zones(&self) -> Option<&DeviceZones> {
        self.0.zones.as_ref()
    }

    pub(crate) fn backing(&self) -> &Backing {
        &self.0.backing
    }

    /// Whether operations on it need no kernel.
    pub(crate) fn is_memory(&self) -> bool {
        matches!(self.0.backing, Backing::Memory(_))
    }

    /// Whether it is a block device that takes no writes.
    pub fn is_read_only(&self) -> bool {
        matches!(&self.0.backing, Backing::Place(place) if place.current().is_read_only())
    }

    /// Whether it is a block device that was taken away.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(&self.0.backing, Backing::Place(place) if place.current().is_gone())
    }

    /// Whether it is a block device that has become smaller.
    pub(crate) fn is_smaller(&self) -> bool {
        matches!(&self.0.backing, Backing::Place(place) if place.current().is_smaller_than(self.0.properties.size))
    }

    /// Whether it is a file that has become shorter.
    pub(crate) fn is_shorter(&self) -> bool {
        matches!(&self.0.backing, Backing::Place(place) if place.current().is_shorter_than(self.0.properties.size))
    }

    /// How it is open now; `None` if it lies in memory.
    pub(crate) fn opened(&self) -> Option<Opened> {
        match &self.0.backing {
            Backing::Place(place) => Some(Opened::Place(place.current())),
            Backing::Far(far) => Some(Opened::Far(far.current())),
            Backing::Memory(_) => None,
        }
    }

    /// Whether `len` bytes at `offset`, to or from memory at `address`, are something this device can do.
    pub(crate) fn admits(&self, offset: u64, len: u64, address: usize) -> bool {
        let Properties { size, logical_block, buffer_align, .. } = self.0.properties;
        let unit = u64::from(logical_block);
        offset.is_multiple_of(unit)
            && len.is_multiple_of(unit)
            && address.is_multiple_of(buffer_align)
            && offset.checked_add(len).is_some_and(|end| end <= size)
    }

    /// Whether trimming means punching a hole, and not the discard command of block devices.
    pub(crate) fn punches(&self) -> bool {
        self.0.punches.load(Ordering::Relaxed)
    }

    /// Forgets what was found out about punching holes.
    #[cfg(test)]
    pub(crate) fn expect_discard_command(&self) {
        self.0.punches.store(false, Ordering::Relaxed);
    }

    /// Remembers that the kernel has no discard command for this device.
    pub(crate) fn punch_from_now_on(&self) {
        self.0.punches.store(true, Ordering::Relaxed);
    }
}
