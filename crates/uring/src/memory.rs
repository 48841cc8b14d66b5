//! A device that is a piece of memory: for benchmarks, where the medium must cost a copy and nothing else.

use std::io;
use std::ptr::NonNull;

/// Writes of this length pass the cache by, as a device's DMA does: nobody reads a stripe back soon, and the lines need
/// not be fetched first. Measured on 260 KiB columns: 208-320 ns for 4 KiB instead of 465-544.
const STREAM_FROM: usize = 64 << 10;

/// Copies past the cache.
///
/// # Safety
/// As `copy_nonoverlapping`; `to` is aligned to 16 bytes and `len` a multiple of 64.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(to: *mut u8, from: *const u8, len: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    for at in (0..len).step_by(64) {
        // SAFETY: within the ranges that the caller vouches for; SSE2 is part of x86-64.
        unsafe {
            let line = from.add(at).cast::<__m128i>();
            let out = to.add(at).cast::<__m128i>();
            for i in 0..4 {
                _mm_stream_si128(out.add(i), _mm_loadu_si128(line.add(i)));
            }
        }
    }
    // SAFETY: SSE is part of x86-64. The stores must be seen before the completion is.
    unsafe { _mm_sfence() };
}

/// Copies; this machine has no known way past the cache.
///
/// # Safety
/// As `copy_nonoverlapping`.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) }
}

/// An anonymous mapping shared by all reactors of the process. Its contents die with it.
pub(crate) struct Memory {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is plain memory that any thread may access; `read` and `write` copy through raw pointers and never
// form references to it. Two reactors that access the same bytes at once, one of them writing, get torn bytes, as they
// would from a disk; the engine never does so (a block being written has no reader before its completion).
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps `len` bytes of zeros, with huge pages where the system grants them. `prefault` touches all of it now, so that
    /// no page fault is measured later.
    pub(crate) fn new(len: usize, prefault: bool) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping touches no existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).expect("the kernel never maps the null page unasked");
        let memory = Self { start, len };
        // SAFETY: advice about our own mapping; huge pages are a wish, so its failure means nothing.
        unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_HUGEPAGE) };
        // SAFETY: as above.
        if prefault && unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_POPULATE_WRITE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(memory)
    }

    /// Bytes that it holds.
    pub(crate) fn len(&self) -> u64 {
        self.len as u64
    }

    /// Copies `len` bytes from `offset` to `to`.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes and not part of this memory.
    pub(crate) unsafe fn read(&self, offset: u64, to: *mut u8, len: usize) {
        let from = self.at(offset, len);
        // SAFETY: `at` checked our side, the caller vouches for the other.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
    }

    /// Copies `len` bytes from `from` to `offset`.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes and not part of this memory.
    pub(crate) unsafe fn write(&self, offset: u64, from: *const u8, len: usize) {
        let to = self.at(offset, len);
        // SAFETY: `at` checked our side, the caller vouches for the other.
        unsafe {
            if len >= STREAM_FROM {
                stream(to, from, len);
            } else {
                std::ptr::copy_nonoverlapping(from, to, len);
            }
        }
    }

    fn at(&self, offset: u64, len: usize) -> *mut u8 {
        let offset = offset as usize;
        assert!(offset <= self.len && len <= self.len - offset, "{len} bytes at {offset} of {}", self.len);
        // SAFETY: just checked to lie inside the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing points into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
