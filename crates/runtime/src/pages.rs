//! Large pieces of zeroed memory in huge pages, where the system grants them: what is accessed at random costs a walk of
//! the page tables for each access otherwise, which in a virtual machine means both the guest's and the host's.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use cygnus_types::ByteSize;

/// The system has no more memory to give.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {source}; allow the process more address space and memory (ulimit -v, or the limit of its group)", Self::WORDS, ByteSize(*bytes as u64))]
pub struct NoMemory {
    /// How much was asked for.
    pub bytes: usize,
    /// The system's reason.
    pub source: io::Error,
}

impl NoMemory {
    const WORDS: &str = "no memory for ";

    /// Whether these are the words of a panic for want of memory, which is no fault of the program's.
    pub fn is_told_by(words: &str) -> bool {
        words.starts_with(Self::WORDS)
    }
}

/// A mapping. It takes memory as it is touched, and goes when this is dropped.
pub struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process and not to a thread, so any thread may unmap it. What is in it is touched only by
// unsafe code of the owner.
unsafe impl Send for Pages {}
// SAFETY: as above; through a shared reference only the address is to be had.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps `len` bytes (more than zero) of zeros. Aligned to 4 KiB at least; the kernel aligns what is as long as a huge
    /// page so that it can be one.
    ///
    /// # Panics
    /// When the system has no more memory to give, like any allocation.
    pub fn zeroed(len: usize) -> Self {
        Self::try_zeroed(len).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`Pages::zeroed`], for whoever can do without.
    ///
    /// # Errors
    /// When the system has no more memory to give.
    pub fn try_zeroed(len: usize) -> Result<Self, NoMemory> {
        Self::advised(len, libc::MADV_HUGEPAGE)
    }

    /// As [`Pages::zeroed`], for what will mostly be left untouched: in small pages, of which each takes memory only when
    /// it is written to.
    ///
    /// # Panics
    /// As [`Pages::zeroed`].
    pub fn sparse(len: usize) -> Self {
        Self::advised(len, libc::MADV_NOHUGEPAGE).unwrap_or_else(|error| panic!("{error}"))
    }

    fn advised(len: usize, advice: libc::c_int) -> Result<Self, NoMemory> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: without MAP_FIXED the kernel chooses an address where nothing is mapped, so no existing memory is touched; a
        // failure is an answer, looked at below.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(NoMemory { bytes: len, source: io::Error::last_os_error() });
        }
        // SAFETY: the range is the mapping just made. The callers' two advices, for huge pages and against them, change how it
        // is backed, never what it holds; they are wishes, so failure means nothing.
        unsafe { libc::madvise(start, len, advice) };
        Ok(Self { start: NonNull::new(start.cast()).expect("the kernel never maps the null page unasked"), len })
    }

    /// Maps bytes of a file that lies in memory. What is stored there outlasts this process.
    ///
    /// # Errors
    /// When the system does not map them.
    pub fn shared(file: &File, offset: u64, len: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: without MAP_FIXED the kernel chooses an address where nothing is mapped, so no existing memory is touched; the
        // descriptor is open as long as `file` is borrowed, and the mapping outlives it. A failure is an answer, looked at below.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), offset as i64)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: NonNull::new(start.cast()).expect("the kernel never maps the null page unasked"), len })
    }

    /// A mapping whose owner was forgotten and kept only the address.
    ///
    /// # Safety
    /// `start` is that of a mapping of `len` bytes made by [`Pages::zeroed`] or [`Pages::sparse`], and nobody else owns it.
    pub unsafe fn from_start(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len }
    }

    /// Bytes of it.
    #[allow(clippy::len_without_is_empty, reason = "a mapping is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `start` and `len` are those of one mapping, made by `advised` or `shared` and owned by this alone, so it is
        // unmapped once and whole. Pointers into it are only made by unsafe code of the owner, which must not use them any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_does_not_have_is_an_error_with_a_remedy() {
        // More than any address space.
        let refused = Pages::try_zeroed(1 << 60).err().expect("nobody has that much").to_string();
        assert!(
            NoMemory::is_told_by(&refused) && refused.contains("1 EiB") && refused.contains("ulimit -v"),
            "{refused}"
        );
        let panicked = std::panic::catch_unwind(|| Pages::sparse(1 << 60)).err().expect("it panics");
        assert!(NoMemory::is_told_by(panicked.downcast_ref::<String>().expect("with words")));
        assert_eq!(Pages::try_zeroed(4096).unwrap().len(), 4096);
    }
}
