//! Devices: opened once per process, probed, and held exclusively.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cygnus_runtime::{DeviceInfo, DeviceIx};
use cygnus_types::BLOCK;

use crate::aligned::AlignedBytes;
use crate::error::OpenError;
use crate::memory::Memory;

/// Smallest unit of I/O there is.
const SECTOR: u32 = 512;

/// How a device is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing, and nobody else meanwhile.
    Exclusive,
    /// Reading only, whoever else uses it: for looking at the members of an array that may be running.
    ReadOnly,
}

/// What carries the bytes.
pub(crate) enum Backing {
    /// A regular file.
    File(File),
    /// A block device.
    Block(File),
    /// A mapping of this process. It may be smaller than the device: nothing is kept of what lies behind it.
    Memory(Memory),
}

/// How long a device may be claimed before it counts as in use. The kernel lets go of the files of an io_uring some time
/// *after* a process that was killed is gone: milliseconds, on a busy machine seconds. Whoever comes next is faster.
const RELEASE_PATIENCE: Duration = Duration::from_secs(4);
const RELEASE_POLL: Duration = Duration::from_millis(10);

struct Inner {
    name: String,
    size: u64,
    logical_block: u32,
    /// Alignment in bytes that buffers need.
    buffer_align: usize,
    backing: Backing,
    fallback: Option<String>,
    can_trim: bool,
    /// Whether the kernel has turned down the discard command, so that holes are to be punched instead.
    punches: AtomicBool,
}

/// An opened device. Clones share it; it stays open, and locked if opened so, until the last one is gone.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

impl Device {
    /// Opens a regular file or a block device, past the page cache (`O_DIRECT`) where possible; where not, and why,
    /// [`Device::fallback`] tells.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path, access: Access) -> Result<Self, OpenError> {
        let began = Instant::now();
        loop {
            match Self::open_now(path, access) {
                Err(OpenError::InUse { .. }) if began.elapsed() < RELEASE_PATIENCE => thread::sleep(RELEASE_POLL),
                other => return other,
            }
        }
    }

    fn open_now(path: &Path, access: Access) -> Result<Self, OpenError> {
        let (file, fallback) = open_direct(path, access)?;
        let metadata = file.metadata().map_err(|error| io_error(path, "examine it", error))?;
        let kind = metadata.file_type();
        if access == Access::Exclusive {
            lock(path, &file)?;
        }
        if kind.is_block_device() {
            Self::block(path, file, fallback, metadata.rdev())
        } else if kind.is_file() {
            Self::file(path, file, fallback, metadata.len())
        } else {
            Err(unsuitable(path, "neither a regular file nor a block device".into()))
        }
    }

    fn block(path: &Path, file: File, fallback: Option<String>, number: u64) -> Result<Self, OpenError> {
        let mut size = 0u64;
        let mut logical_block: libc::c_int = 0;
        // SAFETY: the requests fill a u64 and a C int, which the variables are.
        let failed = unsafe {
            libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut size) != 0
                || libc::ioctl(file.as_raw_fd(), libc::BLKSSZGET, &raw mut logical_block) != 0
        };
        if failed {
            return Err(io_error(path, "ask its size", io::Error::last_os_error()));
        }
        let logical_block = logical_block as u32;
        if logical_block > BLOCK as u32 {
            let why = format!("its logical block of {logical_block} bytes is larger than the {BLOCK} supported");
            return Err(unsuitable(path, why));
        }
        let can_trim = queue_limit(number, "discard_max_bytes") > 0;
        let buffer_align = if fallback.is_none() { logical_block as usize } else { 1 };
        Self::build(path, size, logical_block, buffer_align, Backing::Block(file), fallback, can_trim)
    }

    fn file(path: &Path, file: File, fallback: Option<String>, size: u64) -> Result<Self, OpenError> {
        let (logical_block, buffer_align) = match (&fallback, direct_alignment(&file)) {
            (None, Some((offset, memory))) => (offset.clamp(SECTOR, BLOCK as u32), memory as usize),
            (None, None) => (BLOCK as u32, BLOCK),
            (Some(_), _) => (SECTOR, 1),
        };
        // A hole past the end changes nothing, and fails alike where holes cannot be punched.
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: no pointers involved.
        let can_trim = unsafe { libc::fallocate(file.as_raw_fd(), mode, size as i64, BLOCK as i64) } == 0;
        Self::build(path, size, logical_block, buffer_align, Backing::File(file), fallback, can_trim)
    }

    fn build(
        path: &Path,
        size: u64,
        logical_block: u32,
        buffer_align: usize,
        backing: Backing,
        fallback: Option<String>,
        can_trim: bool,
    ) -> Result<Self, OpenError> {
        let size = size / BLOCK as u64 * BLOCK as u64;
        if size == 0 {
            return Err(unsuitable(path, format!("smaller than one block of {BLOCK} bytes")));
        }
        let name = path.display().to_string();
        let punches = AtomicBool::new(matches!(backing, Backing::File(_)));
        Ok(Self(Arc::new(Inner { name, size, logical_block, buffer_align, backing, fallback, can_trim, punches })))
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

    fn immaterial(name: &str, size: u64, backing: Backing) -> Self {
        Self(Arc::new(Inner {
            name: name.to_owned(),
            size,
            logical_block: BLOCK as u32,
            buffer_align: 1,
            backing,
            fallback: None,
            can_trim: false,
            punches: AtomicBool::new(false),
        }))
    }

    /// The path, or the name given to a device in memory.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Capacity in bytes, a multiple of 4096.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Smallest unit of I/O in bytes: 512 to 4096.
    pub fn logical_block(&self) -> u32 {
        self.0.logical_block
    }

    /// Whether trimming gives space back.
    pub fn can_trim(&self) -> bool {
        self.0.can_trim
    }

    /// Why I/O goes through the page cache, if it does. Flushes make it durable all the same, but every write costs
    /// memory and a second copy.
    pub fn fallback(&self) -> Option<&str> {
        self.0.fallback.as_deref()
    }

    /// What the engine is told of this device under the number `ix`.
    pub fn info(&self, ix: DeviceIx) -> DeviceInfo {
        let Inner { name, size, logical_block, can_trim, .. } = &*self.0;
        DeviceInfo { ix, name: name.clone(), size: *size, logical_block: *logical_block, can_trim: *can_trim }
    }

    /// Reads `len` bytes at `offset` (multiples of 4096) now, blocking: for looking at a device outside any reactor.
    ///
    /// # Errors
    /// The operating system's; `UnexpectedEof` beyond the end.
    pub fn read_now(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        if offset.checked_add(len as u64).is_none_or(|end| end > self.0.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = AlignedBytes::new(len);
        match &self.0.backing {
            Backing::File(file) | Backing::Block(file) => {
                std::os::unix::fs::FileExt::read_exact_at(file, bytes.as_mut(), offset)?;
            }
            Backing::Memory(memory) if offset >= memory.len() => {}
            // SAFETY: the buffer is `len` bytes long and our own.
            Backing::Memory(memory) => unsafe { memory.read(offset, bytes.as_mut().as_mut_ptr(), len) },
        }
        Ok(bytes.as_mut().to_vec())
    }

    pub(crate) fn backing(&self) -> &Backing {
        &self.0.backing
    }

    pub(crate) fn raw_fd(&self) -> Option<RawFd> {
        match &self.0.backing {
            Backing::File(file) | Backing::Block(file) => Some(file.as_raw_fd()),
            Backing::Memory(_) => None,
        }
    }

    /// Whether `len` bytes at `offset`, to or from memory at `address`, are something this device can do.
    pub(crate) fn admits(&self, offset: u64, len: u64, address: usize) -> bool {
        let unit = u64::from(self.0.logical_block);
        offset.is_multiple_of(unit)
            && len.is_multiple_of(unit)
            && address.is_multiple_of(self.0.buffer_align)
            && offset.checked_add(len).is_some_and(|end| end <= self.0.size)
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

/// Makes a regular file of `size` bytes to serve as a device. It is sparse: space is taken as it is written.
///
/// # Errors
/// See [`OpenError`]; an existing file is never touched.
pub fn create_file(path: &Path, size: u64) -> Result<(), OpenError> {
    let file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                unsuitable(path, "exists already; leave it out of what is to be made".into())
            }
            _ => open_error(path, error),
        })?;
    let sized = file.set_len(size).and_then(|()| file.sync_all());
    sized.map_err(|error| {
        let _ = fs::remove_file(path);
        io_error(path, "give it its size", error)
    })
}

/// Opens `path` past the page cache, or through it where that is refused, and then says why.
fn open_direct(path: &Path, access: Access) -> Result<(File, Option<String>), OpenError> {
    let exclusive = access == Access::Exclusive;
    // On a block device O_EXCL claims it, against mounts and other claimants; elsewhere, without O_CREAT, it is undefined.
    let is_block = fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let claim = if exclusive && is_block { libc::O_EXCL } else { 0 };
    let open = |flags| OpenOptions::new().read(true).write(exclusive).custom_flags(claim | flags).open(path);
    let why = match open(libc::O_DIRECT) {
        Ok(file) => match try_direct(&file) {
            Ok(()) => return Ok((file, None)),
            Err(why) => why,
        },
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => "the file system refuses O_DIRECT".into(),
        Err(error) => return Err(open_error(path, error)),
    };
    let file = open(0).map_err(|error| open_error(path, error))?;
    Ok((file, Some(format!("buffered I/O: {why}"))))
}

/// Some file systems take the flag and fail the I/O, or want more alignment than our blocks have.
fn try_direct(file: &File) -> Result<(), String> {
    match direct_alignment(file) {
        Some((0, _)) => return Err("the file system does no direct I/O on this file".into()),
        Some((offset, memory)) if offset.max(memory) > BLOCK as u32 => {
            return Err(format!("direct I/O would need an alignment of {} bytes", offset.max(memory)));
        }
        _ => {}
    }
    let mut block = AlignedBytes::new(BLOCK);
    match std::os::unix::fs::FileExt::read_at(file, block.as_mut(), 0) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Err("direct reads fail".into()),
        // Success, or a failure that has nothing to do with O_DIRECT and that whoever reads will meet again.
        _ => Ok(()),
    }
}

/// What the file system says of direct I/O: alignment in bytes of offsets and of memory; `None` if it says nothing.
fn direct_alignment(file: &File) -> Option<(u32, u32)> {
    let mut status = MaybeUninit::<libc::statx>::zeroed();
    let (flags, mask) = (libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN);
    // SAFETY: the path is an empty C string, the result has room for what the call fills.
    let answered = unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), flags, mask, status.as_mut_ptr()) } == 0;
    // SAFETY: all zeros is a valid value, so it was initialised from the start.
    let status = unsafe { status.assume_init() };
    (answered && status.stx_mask & mask != 0).then_some((status.stx_dio_offset_align, status.stx_dio_mem_align))
}

/// Locks the file against every other opener that asks, ourselves included.
fn lock(path: &Path, file: &File) -> Result<(), OpenError> {
    // SAFETY: no pointers involved.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock => Err(OpenError::InUse { path: path.to_owned() }),
        _ => Err(io_error(path, "lock it", error)),
    }
}

/// A limit of the request queue of the block device `number`, from sysfs; 0 where it says nothing.
fn queue_limit(number: u64, limit: &str) -> u64 {
    let device = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
    // A partition has its queue in the directory of its disk.
    [format!("{device}/queue/{limit}"), format!("{device}/../queue/{limit}")]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
        .unwrap_or(0)
}

/// `_IOR(0x12, 114, size_t)`; the libc crate does not name it.
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272;

fn open_error(path: &Path, error: io::Error) -> OpenError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => OpenError::NotFound { path },
        io::ErrorKind::PermissionDenied => OpenError::Denied { path },
        io::ErrorKind::ResourceBusy => OpenError::InUse { path },
        io::ErrorKind::IsADirectory => OpenError::Unsuitable { path, why: "it is a directory".into() },
        _ => OpenError::Io { path, doing: "open it", source: error },
    }
}

fn io_error(path: &Path, doing: &'static str, source: io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), doing, source }
}

fn unsuitable(path: &Path, why: String) -> OpenError {
    OpenError::Unsuitable { path: path.to_owned(), why }
}
