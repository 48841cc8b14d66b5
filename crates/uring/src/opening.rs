//! Opening what is at a path, as often as it is lost: past the page cache where possible, and so that nobody else has it.
//!
//! A claim (`O_EXCL` on a block device, `flock` everywhere) belongs to the opening that made it, and excludes later openings of
//! our own as well. So an opening that finds the very file or device that we have claimed keeps the claim of the one before;
//! only if something else is there now, as after a drive was pulled and put back, is there anything to claim.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use cygnus_runtime::{Capabilities, DeviceClass, IoError};
use cygnus_types::BLOCK;

use crate::aligned::AlignedBytes;
use crate::error::{OpenError, io_error, open_error, unsuitable};
use crate::holder::{Holder, holder_of, process_with};
use crate::new_file::keeps_its_space;
use crate::sysfs;
use crate::zone_ioctl;

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

/// What is known of a device from opening it.
#[derive(Clone, Debug)]
pub(crate) struct Properties {
    /// In bytes, whole blocks.
    pub(crate) size: u64,
    pub(crate) logical_block: u32,
    /// Alignment in bytes that buffers need.
    pub(crate) buffer_align: usize,
    /// Why I/O goes through the page cache, if it does.
    pub(crate) fallback: Option<String>,
    pub(crate) capabilities: Capabilities,
}

/// Which file or block device it is, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// File system and inode.
    File(u64, u64),
    /// Number, and how many devices the kernel had had when this one came: numbers are used again.
    Block(u64, u64),
}

/// A file or block device as it was opened once. It stays open until the last clone is gone, and until the last operation of
/// any ring on it has ended.
#[derive(Clone)]
pub(crate) struct Opening {
    file: Arc<File>,
    /// Keeps everybody else out; the file itself, or the one before.
    claim: Arc<File>,
    /// The file that a loop device lies on, claimed too: else it could be a second member under its own name.
    beneath: Option<Arc<File>>,
    identity: Identity,
    /// Counts the openings of the path.
    pub(crate) number: u64,
    /// Whether a read or write that is to be tried without waiting may wait all the same.
    pub(crate) may_block: bool,
}

impl Opening {
    /// Opens `path`, claims it unless `before` has done so, and finds out what it is like.
    pub(crate) fn new(path: &Path, access: Access, before: Option<&Opening>) -> Result<(Self, Properties), OpenError> {
        refuse_what_waits(path)?;
        let claimed = before.map(|before| before.identity);
        let (file, fallback) = open_direct(path, access, claimed).map_err(|error| name_the_other(path, error))?;
        let metadata = file.metadata().map_err(|error| io_error(path, "examine it", error))?;
        let identity = identify(path, &file, &metadata)?;
        let number = before.map_or(0, |before| before.number + 1);
        let file = Arc::new(file);
        let claim = match before {
            Some(before) if before.identity == identity => before.claim.clone(),
            _ if access == Access::Exclusive => {
                lock(&file).map_err(|error| lock_error(path, path, &file, identity, error))?;
                note_claim(path, identity, &file);
                file.clone()
            }
            _ => file.clone(),
        };
        let beneath = match (before, identity) {
            (Some(before), _) => before.beneath.clone(),
            (None, Identity::Block(number, _)) if access == Access::Exclusive => claim_beneath(path, number)?,
            (None, _) => None,
        };
        if matches!(identity, Identity::Block(..)) && access == Access::Exclusive && is_read_only(&file) {
            return Err(OpenError::ReadOnly { path: path.to_owned() });
        }
        let properties = match identity {
            Identity::Block(number, _) => block(path, &file, fallback, number)?,
            Identity::File(..) => regular(&file, fallback, metadata.len()),
        };
        let size = properties.size / BLOCK as u64 * BLOCK as u64;
        if size == 0 {
            return Err(unsuitable(path, format!("smaller than one block of {BLOCK} bytes")));
        }
        let may_block = matches!(identity, Identity::File(..)) && !keeps_from_waiting(&file);
        let read_only = access == Access::ReadOnly;
        let capabilities = Capabilities { read_only, ..properties.capabilities };
        let opening = Self { file, claim, beneath, identity, number, may_block };
        Ok((opening, Properties { size, capabilities, ..properties }))
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Who else has claimed it. Of one that we have claimed there is nobody else.
    pub(crate) fn holder(&self, access: Access) -> Option<Holder> {
        match access {
            Access::Exclusive => None,
            Access::ReadOnly => holder_of(&self.file),
        }
    }

    pub(crate) fn is_block_device(&self) -> bool {
        matches!(self.identity, Identity::Block(..))
    }

    /// Whether it is a block device that was taken away: what is left of one for those who have it open has no bytes.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_block_device() && size_of(&self.file).is_ok_and(|size| size == 0)
    }

    /// Whether it is a block device that takes no writes.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_block_device() && is_read_only(&self.file)
    }

    /// Whether it is a block device of fewer bytes.
    pub(crate) fn is_smaller_than(&self, bytes: u64) -> bool {
        self.is_block_device() && size_of(&self.file).is_ok_and(|size| size < bytes)
    }

    /// Whether it is a file of fewer bytes. The kernel says what it knows: a file system that gives no answer is not waited for.
    pub(crate) fn is_shorter_than(&self, bytes: u64) -> bool {
        if self.is_block_device() {
            return false;
        }
        let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
        // SAFETY: the structure consists of integers, for which zeros are values. The call writes one such structure, to a local
        // variable of that type, reads the empty text, and `self` keeps the descriptor open.
        let (done, about) = unsafe {
            let mut about: libc::statx = std::mem::zeroed();
            (libc::statx(self.raw_fd(), c"".as_ptr(), flags, libc::STATX_SIZE, &raw mut about), about)
        };
        done == 0 && about.stx_size < bytes
    }
}

/// A path, and how it is open now.
pub(crate) struct Place {
    /// By which it is opened anew.
    path: Mutex<PathBuf>,
    access: Access,
    current: Mutex<Opening>,
    /// Held by whoever opens anew, which may take its time.
    reopening: Mutex<()>,
}

impl Place {
    pub(crate) fn new(path: &Path, access: Access, opening: Opening) -> Self {
        Self { path: Mutex::new(path.to_owned()), access, current: Mutex::new(opening), reopening: Mutex::new(()) }
    }

    pub(crate) fn holder(&self) -> Option<Holder> {
        self.current().holder(self.access)
    }

    pub(crate) fn current(&self) -> Opening {
        self.current.lock().expect("no holder panics").clone()
    }

    /// It has come to another path, by which it is to be opened anew.
    pub(crate) fn goes_by(&self, path: &Path) {
        path.clone_into(&mut self.path.lock().expect("no holder panics"));
    }

    /// Opens the path anew, unless that has been done since the opening `known`; blocking. What is there must do for whoever
    /// counts on these properties.
    pub(crate) fn reopen(&self, known: u64, needed: &Properties) -> Result<Opening, IoError> {
        // Of several reactors one opens, and the others find it done.
        let _only_one = self.reopening.lock().expect("no holder panics");
        let before = self.current();
        if before.number > known {
            return Ok(before);
        }
        let path = self.path.lock().expect("no holder panics").clone();
        let (opening, found) = Opening::new(&path, self.access, Some(&before))?;
        let Properties { size, logical_block, buffer_align, .. } = *needed;
        if found.size < size || found.logical_block > logical_block || found.buffer_align > buffer_align {
            // Something else has taken its name.
            return Err(IoError::of_device(libc::ENODEV));
        }
        *self.current.lock().expect("no holder panics") = opening.clone();
        Ok(opening)
    }
}

const NO_DEVICE: &str = "neither a regular file nor a block device";

/// Refuses, before it is opened, what may keep its opener waiting for ever: a pipe waits for a writer, a serial line for a carrier.
fn refuse_what_waits(path: &Path) -> Result<(), OpenError> {
    match fs::metadata(path).map(|metadata| metadata.file_type()) {
        Ok(kind) if kind.is_fifo() || kind.is_char_device() => Err(unsuitable(path, NO_DEVICE.into())),
        _ => Ok(()),
    }
}

fn identify(path: &Path, file: &File, metadata: &fs::Metadata) -> Result<Identity, OpenError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(Identity::File(metadata.dev(), metadata.ino()));
    }
    if !kind.is_block_device() {
        return Err(unsuitable(path, NO_DEVICE.into()));
    }
    let mut sequence = 0u64;
    // SAFETY: the request fills a u64, which the variable is. A kernel without it leaves the zero.
    unsafe { libc::ioctl(file.as_raw_fd(), BLKGETDISKSEQ, &raw mut sequence) };
    Ok(Identity::Block(metadata.rdev(), sequence))
}

/// Whether a block device takes no writes. One may be opened for them all the same.
fn is_read_only(file: &File) -> bool {
    let mut read_only: libc::c_int = 0;
    // SAFETY: `file` keeps the descriptor open. The request writes one C int through the pointer, which is to a live local variable of
    // that type that nothing else borrows; where it is refused nothing is written, and the zero stays.
    unsafe { libc::ioctl(file.as_raw_fd(), BLKROGET, &raw mut read_only) };
    read_only != 0
}

/// Bytes of a block device.
fn size_of(file: &File) -> io::Result<u64> {
    let mut size = 0u64;
    // SAFETY: the request fills a u64, which the variable is.
    match unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut size) } {
        0 => Ok(size),
        _ => Err(io::Error::last_os_error()),
    }
}

fn block(path: &Path, file: &File, fallback: Option<String>, number: u64) -> Result<Properties, OpenError> {
    let size = size_of(file).map_err(|error| io_error(path, "ask its size", error))?;
    let mut logical_block: libc::c_int = 0;
    // SAFETY: the request fills a C int, which the variable is.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::BLKSSZGET, &raw mut logical_block) } != 0 {
        return Err(io_error(path, "ask its logical block", io::Error::last_os_error()));
    }
    let logical_block = logical_block as u32;
    if logical_block > BLOCK as u32 {
        let why = format!("its logical block of {logical_block} bytes is larger than the {BLOCK} supported");
        return Err(unsuitable(path, why));
    }
    let mut capabilities = sysfs::capabilities(number);
    if let Some(zones) = &mut capabilities.zones {
        let (conventional, capacity) = zone_ioctl::beginning(file.as_raw_fd(), zones.bytes, size)
            .map_err(|error| io_error(path, "ask for its zones", error))?;
        (zones.conventional, zones.capacity, zones.commands) = (Some(conventional), capacity, true);
    }
    let buffer_align = if fallback.is_none() { logical_block as usize } else { 1 };
    Ok(Properties { size, logical_block, buffer_align, fallback, capabilities })
}

fn regular(file: &File, fallback: Option<String>, size: u64) -> Properties {
    let (logical_block, buffer_align) = match (&fallback, direct_alignment(file)) {
        (None, Some((offset, memory))) => (offset.clamp(SECTOR, BLOCK as u32), memory as usize),
        (None, None) => (BLOCK as u32, BLOCK),
        (Some(_), _) => (SECTOR, 1),
    };
    // A hole past the end changes nothing, and fails alike where holes cannot be punched.
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: no pointers involved.
    let punches = unsafe { libc::fallocate(file.as_raw_fd(), mode, size as i64, BLOCK as i64) } == 0;
    // The medium is that of the disk on which the file system lies, where it lies on one.
    let class = file.metadata().map_or(DeviceClass::Unknown, |metadata| sysfs::capabilities(metadata.dev()).class);
    let capabilities = Capabilities { class, trim: punches && !keeps_its_space(file), ..Capabilities::default() };
    Properties { size, logical_block, buffer_align, fallback, capabilities }
}

/// Opens `path` past the page cache, or through it where that is refused, and then says why. What is `claimed` already is
/// not claimed again.
fn open_direct(path: &Path, access: Access, claimed: Option<Identity>) -> Result<(File, Option<String>), OpenError> {
    let exclusive = access == Access::Exclusive;
    let open = |flags| OpenOptions::new().read(true).write(exclusive).custom_flags(flags).open(path);
    let is_claimed = |claimed| {
        let file = open(0).map_err(|error| open_error(path, error))?;
        let metadata = file.metadata().map_err(|error| io_error(path, "examine it", error))?;
        Ok(identify(path, &file, &metadata)? == claimed)
    };
    // On a block device O_EXCL claims it, against mounts and other claimants; elsewhere, without O_CREAT, it is undefined.
    let is_block = fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let claims = exclusive && is_block && !claimed.map_or(Ok(false), is_claimed)?;
    let claim = if claims { libc::O_EXCL } else { 0 };
    let why = match open(claim | libc::O_DIRECT) {
        Ok(file) => match try_direct(&file) {
            Ok(()) => return Ok((file, None)),
            Err(why) => why,
        },
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => NotDirect::Refused,
        Err(error) => return Err(open_error(path, error)),
    };
    let file = open(claim).map_err(|error| open_error(path, error))?;
    Ok((file, Some(format!("buffered I/O: {why}"))))
}

/// Why there is no direct I/O on a file.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum NotDirect {
    #[error("the file system refuses O_DIRECT")]
    Refused,
    #[error("the file system does no direct I/O on this file")]
    NotHere,
    #[error("direct I/O would need an alignment of {0} bytes")]
    Alignment(u32),
    #[error("direct reads fail")]
    Reads,
}

/// Some file systems take the flag and fail the I/O, or want more alignment than our blocks have.
fn try_direct(file: &File) -> Result<(), NotDirect> {
    match direct_alignment(file) {
        Some((0, _)) => return Err(NotDirect::NotHere),
        Some((offset, memory)) if offset.max(memory) > BLOCK as u32 => {
            return Err(NotDirect::Alignment(offset.max(memory)));
        }
        _ => {}
    }
    let mut block = AlignedBytes::new(BLOCK);
    match file.read_at(block.as_mut(), 0) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Err(NotDirect::Reads),
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
fn lock(file: &File) -> io::Result<()> {
    // SAFETY: no pointers involved.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// That `locked`, which is `path` or lies beneath it, cannot be locked.
fn lock_error(path: &Path, locked: &Path, file: &File, identity: Identity, error: io::Error) -> OpenError {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            let beneath = (locked != path).then(|| locked.to_owned());
            let holder = process_with(file);
            OpenError::InUse { path: path.to_owned(), by: claimed_by(identity), beneath, holder }
        }
        _ => io_error(path, "lock it", error),
    }
}

/// Claims the file that a loop device lies on. One that cannot be opened is nobody's member either.
fn claim_beneath(path: &Path, number: u64) -> Result<Option<Arc<File>>, OpenError> {
    let (major, minor) = (libc::major(number), libc::minor(number));
    let told = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/loop/backing_file"));
    let Ok(beneath) = told.map(|told| PathBuf::from(told.trim_end_matches('\n'))) else { return Ok(None) };
    let Ok(file) = File::open(&beneath) else { return Ok(None) };
    let metadata = file.metadata().map_err(|error| io_error(&beneath, "examine it", error))?;
    let identity = identify(&beneath, &file, &metadata)?;
    lock(&file).map_err(|error| lock_error(path, &beneath, &file, identity, error))?;
    let file = Arc::new(file);
    note_claim(path, identity, &file);
    Ok(Some(file))
}

/// What this process has claimed, and by which paths, so that whoever gives a device twice is told the other path.
static CLAIMS: Mutex<Vec<(Identity, PathBuf, Weak<File>)>> = Mutex::new(Vec::new());

fn note_claim(path: &Path, identity: Identity, file: &Arc<File>) {
    let mut claims = CLAIMS.lock().expect("no holder panics");
    claims.retain(|(_, _, file)| file.strong_count() > 0);
    claims.push((identity, path.to_owned(), Arc::downgrade(file)));
}

/// The path by which this process has claimed it.
fn claimed_by(identity: Identity) -> Option<PathBuf> {
    let claims = CLAIMS.lock().expect("no holder panics");
    let found = claims.iter().find(|(known, _, file)| *known == identity && file.strong_count() > 0);
    found.map(|(_, path, _)| path.clone())
}

/// Adds to an error that the device is in use by which path we use it ourselves, if we do.
fn name_the_other(path: &Path, error: OpenError) -> OpenError {
    let OpenError::InUse { path: given, beneath, .. } = error else { return error };
    let file = File::open(path).ok();
    let look = |file: &File| identify(path, file, &file.metadata().ok()?).ok().and_then(claimed_by);
    let by = file.as_ref().and_then(look);
    let process = file.as_ref().and_then(process_with);
    let number = fs::metadata(path).ok().filter(|found| found.file_type().is_block_device()).map(|found| found.rdev());
    let devices = || Some(sysfs::users(number?)).filter(|devices| !devices.is_empty());
    let holder = process.or_else(|| devices().map(|devices| Holder::Devices(devices.join(" and "))));
    OpenError::InUse { path: given, by, beneath, holder }
}

/// Whether a file lies on one of the file systems that are known to do without waiting what is asked for without waiting.
/// FUSE says that it does and does not; of those that nobody has tried, nobody knows.
fn keeps_from_waiting(file: &File) -> bool {
    const KNOWN: [libc::c_long; 6] = [
        libc::EXT4_SUPER_MAGIC,
        libc::XFS_SUPER_MAGIC,
        libc::BTRFS_SUPER_MAGIC,
        libc::F2FS_SUPER_MAGIC,
        libc::TMPFS_MAGIC,
        BCACHEFS_SUPER_MAGIC,
    ];
    let mut status = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the result has room for what the call fills.
    let answered = unsafe { libc::fstatfs(file.as_raw_fd(), status.as_mut_ptr()) } == 0;
    // SAFETY: all zeros is a valid value, so it was initialised from the start.
    answered && KNOWN.contains(&unsafe { status.assume_init() }.f_type)
}

/// "bcachefs" as the kernel shortens it; the libc crate does not name it.
const BCACHEFS_SUPER_MAGIC: libc::c_long = 0xca45_1a4e;

/// `_IOR(0x12, 114, size_t)`; the libc crate does not name it.
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272;
const BLKROGET: libc::Ioctl = 0x125e;

/// `_IOR(0x12, 128, __u64)`; since Linux 5.15.
const BLKGETDISKSEQ: libc::Ioctl = 0x8008_1280;
