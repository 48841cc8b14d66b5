//! Memory that outlasts the process: a file in memory (tmpfs, memfd) that processes map, and that a killed one leaves as it
//! was at that moment.
//!
//! A process that is killed stops between two instructions. What its stores before that have put into shared memory is there,
//! in the order of the program, as long as the compiler does not exchange them: [`KeptFile::barrier`] keeps it from that.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use cygnus_types::BLOCK;

use crate::Pages;

/// See the module's text.
#[derive(Debug)]
pub struct KeptFile {
    file: File,
}

impl KeptFile {
    /// A file that is open for reading and writing, and lies in memory.
    pub fn new(file: File) -> Self {
        Self { file }
    }

    /// A file that no path leads to; it goes with its last handle.
    ///
    /// # Errors
    /// When the system has none to give.
    pub fn anonymous() -> io::Result<Self> {
        // SAFETY: the call reads the name, a literal that ends with a zero and lives for ever, and no other memory.
        let fd = unsafe { libc::memfd_create(c"cygnus-kept".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given the descriptor to this call, so nobody else has it or will close it.
        Ok(Self { file: unsafe { File::from_raw_fd(fd) } })
    }

    /// Another handle to the same file.
    ///
    /// # Errors
    /// When the process has too many files.
    pub fn another(&self) -> io::Result<Self> {
        self.file.try_clone().map(Self::new)
    }

    /// Bytes that it has.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|metadata| metadata.len())
    }

    /// What tells it from every other file.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        self.file.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    /// Whether it has none.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Sees to it that there is memory for these bytes, so that whoever touches them later does not find that there is none,
    /// which would end the process. They are zeros if they are new.
    ///
    /// # Errors
    /// When there is too little memory.
    pub fn reserve(&self, offset: u64, len: u64) -> io::Result<()> {
        // SAFETY: the call takes three numbers and touches no memory of this process; `self.file` keeps the descriptor open. An
        // offset or length that is none is an error that it returns.
        match unsafe { libc::posix_fallocate(self.file.as_raw_fd(), offset as i64, len as i64) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Fills `into` with what is there from `offset` on.
    ///
    /// # Errors
    /// When it ends before, or cannot be read.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    /// Puts bytes there.
    ///
    /// # Errors
    /// When there is too little memory.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Maps bytes that are reserved.
    ///
    /// # Errors
    /// When the system does not map them.
    pub fn map(&self, offset: u64, len: usize) -> io::Result<Pages> {
        Pages::shared(&self.file, offset, len)
    }

    /// Maps a block that is reserved, as numbers that all threads may set.
    ///
    /// # Errors
    /// When the system does not map it.
    pub fn numbers(&self, offset: u64) -> io::Result<KeptNumbers> {
        self.map(offset, BLOCK).map(|pages| KeptNumbers { pages })
    }

    /// What this thread stored to kept memory before is there before what it stores afterwards, whenever it is killed.
    #[inline]
    pub fn barrier() {
        compiler_fence(Ordering::SeqCst);
    }
}

/// A block of numbers that outlast the process.
pub struct KeptNumbers {
    pages: Pages,
}

impl KeptNumbers {
    /// How many there are.
    pub const LEN: usize = BLOCK / size_of::<u64>();

    /// Sets a number.
    ///
    /// # Panics
    /// When there is none at this index.
    #[inline]
    pub fn set(&self, index: usize, value: u64) {
        assert!(index < Self::LEN, "number {index} of {}", Self::LEN);
        // SAFETY: the mapping is one block, made by `KeptFile::numbers` and alive as long as `self`; it begins at a page, so each of its
        // words is aligned, and the index was just checked. All access through a mapping is atomic and by this function; other
        // processes read the file only when this one is dead.
        let word = unsafe { &*self.pages.start().as_ptr().cast::<AtomicU64>().add(index) };
        word.store(value.to_le(), Ordering::Release);
    }
}

/// Who has kept memory: finds what the session before has left, and gives room for what this one will leave.
pub trait Keeper: Send + Sync {
    /// What was left, if anything was.
    ///
    /// # Errors
    /// When there is something that cannot be had; [`io::ErrorKind::PermissionDenied`] if it is somebody else's.
    fn left(&self) -> io::Result<Option<KeptFile>>;

    /// An empty file. What was left is not needed any more.
    ///
    /// # Errors
    /// When there is none to be had.
    fn begin(&self) -> io::Result<KeptFile>;

    /// Nothing is to be left: the array was closed.
    fn end(&self);

    /// Whether the next one would find this file, which [`Self::begin`] gave: nobody has removed it.
    fn is_there(&self, file: &KeptFile) -> bool;

    /// Where it is, for people.
    fn place(&self) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_there_without_the_mapping() {
        let kept = KeptFile::anonymous().unwrap();
        kept.reserve(0, 3 * BLOCK as u64).unwrap();
        kept.numbers(0).unwrap().set(3, 77);
        let buf = crate::BufPool::new(0).adopt(kept.map(BLOCK as u64, 2 * BLOCK).unwrap());
        buf.full().copy_from(100, b"left");
        drop(buf);
        let mut block = [0; BLOCK];
        kept.read(0, &mut block).unwrap();
        assert_eq!(block[24..32], 77_u64.to_le_bytes());
        kept.another().unwrap().read(BLOCK as u64, &mut block).unwrap();
        assert_eq!(&block[100..104], b"left");
        assert!(kept.read(3 * BLOCK as u64, &mut block).is_err(), "nothing is there");
    }

    #[test]
    fn adopted_memory_goes_with_its_last_holder() {
        let (kept, pool) = (KeptFile::anonymous().unwrap(), crate::BufPool::new(0));
        kept.reserve(0, BLOCK as u64).unwrap();
        let buf = pool.adopt(kept.map(0, BLOCK).unwrap());
        let view = buf.full();
        drop(buf);
        view.copy_from(0, b"still mapped");
        drop(view);
        assert!(pool.resident() == 0 && !pool.alloc(BLOCK).bytes().starts_with(b"still"), "the pool never gets it");
    }
}
