//! I/O buffers: aligned, recycled, and counted so that an operation in flight keeps its memory.
//!
//! A pool takes its buffers from one arena, which a driver may register with the kernel once; beyond the arena it falls
//! back to the heap. Freed buffers go to a free list of their size class, so the hot path never meets the allocator.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::ptr::NonNull;
use std::rc::Rc;

use cygnus_types::BLOCK;

/// Size classes are powers of two from one block (4 KiB) to 64 MiB.
const CLASSES: usize = 15;
const ALIGN: usize = BLOCK;

struct Chunk {
    memory: NonNull<u8>,
    class: u8,
    in_arena: bool,
    refs: Cell<u32>,
}

struct Pool {
    free: RefCell<[Vec<NonNull<Chunk>>; CLASSES]>,
    arena: NonNull<u8>,
    arena_len: usize,
    arena_used: Cell<usize>,
}

/// A reactor's buffers. Cloning gives another handle to the same pool.
#[derive(Clone)]
pub struct BufPool(Rc<Pool>);

fn class_of(len: usize) -> usize {
    let blocks = len.div_ceil(BLOCK).max(1).next_power_of_two();
    let class = blocks.trailing_zeros() as usize;
    assert!(class < CLASSES, "a buffer of {len} bytes is beyond the largest size class");
    class
}

fn class_bytes(class: usize) -> usize {
    BLOCK << class
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, ALIGN).expect("size classes are small multiples of the alignment")
}

impl BufPool {
    /// A pool whose first `arena_bytes` come from one contiguous region (0: heap only).
    pub fn new(arena_bytes: usize) -> Self {
        let arena_len = arena_bytes.next_multiple_of(BLOCK);
        let arena = if arena_len == 0 { NonNull::dangling() } else { allocate(arena_len) };
        Self(Rc::new(Pool { free: RefCell::default(), arena, arena_len, arena_used: Cell::new(0) }))
    }

    /// Start and length in bytes of the arena, for registering it with a kernel. It lives as long as the pool.
    pub fn arena(&self) -> (*const u8, usize) {
        (self.0.arena.as_ptr(), self.0.arena_len)
    }

    /// A buffer of `len` bytes (at most 64 MiB), 4096-aligned. Contents are whatever its last user left.
    pub fn alloc(&self, len: usize) -> Buf {
        let class = class_of(len);
        let recycled = self.0.free.borrow_mut()[class].pop();
        let chunk = recycled.unwrap_or_else(|| self.0.make(class));
        // SAFETY: chunks are only freed when the pool is dropped, and a chunk on the free list has no other holder.
        unsafe { chunk.as_ref() }.refs.set(1);
        Buf { chunk, pool: self.0.clone(), len: len as u32 }
    }
}

fn allocate(bytes: usize) -> NonNull<u8> {
    // SAFETY: the layout has a non-zero size. Zeroed, because reading uninitialised memory would be undefined.
    let memory = unsafe { alloc_zeroed(layout(bytes)) };
    NonNull::new(memory).unwrap_or_else(|| std::alloc::handle_alloc_error(layout(bytes)))
}

impl Pool {
    fn make(&self, class: usize) -> NonNull<Chunk> {
        let bytes = class_bytes(class);
        let used = self.arena_used.get();
        let in_arena = used + bytes <= self.arena_len;
        let memory = if in_arena {
            self.arena_used.set(used + bytes);
            // SAFETY: the sum was just checked to stay within the arena's allocation.
            unsafe { self.arena.add(used) }
        } else {
            allocate(bytes)
        };
        NonNull::from(Box::leak(Box::new(Chunk { memory, class: class as u8, in_arena, refs: Cell::new(0) })))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Every Buf holds the pool, so here all chunks are back on their free lists.
        for chunk in self.free.get_mut().iter().flatten() {
            // SAFETY: made by Box::leak in `make`, and on a free list exactly once.
            let chunk = unsafe { Box::from_raw(chunk.as_ptr()) };
            if !chunk.in_arena {
                // SAFETY: allocated in `allocate` with this very layout.
                unsafe { dealloc(chunk.memory.as_ptr(), layout(class_bytes(chunk.class as usize))) };
            }
        }
        if self.arena_len > 0 {
            // SAFETY: as above, for the arena.
            unsafe { dealloc(self.arena.as_ptr(), layout(self.arena_len)) };
        }
    }
}

/// A buffer. The last handle ([`Buf`] or [`BufSlice`]) to go returns it to its pool.
pub struct Buf {
    chunk: NonNull<Chunk>,
    pool: Rc<Pool>,
    len: u32,
}

impl Buf {
    fn chunk(&self) -> &Chunk {
        // SAFETY: the pool is alive as long as we hold it, and frees chunks only when dropped.
        unsafe { self.chunk.as_ref() }
    }

    fn share(&self) -> Buf {
        let refs = &self.chunk().refs;
        refs.set(refs.get() + 1);
        Buf { chunk: self.chunk, pool: self.pool.clone(), len: self.len }
    }

    /// Length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "a buffer is never empty")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// A counted view of part of the buffer, to hand to an operation.
    pub fn slice(&self, range: Range<usize>) -> BufSlice {
        assert!(range.start <= range.end && range.end <= self.len(), "slice {range:?} of {} bytes", self.len);
        BufSlice { off: range.start as u32, len: (range.end - range.start) as u32, buf: self.share() }
    }

    /// A counted view of all of it.
    pub fn full(&self) -> BufSlice {
        self.slice(0..self.len())
    }

    /// The bytes. Parts that a device is reading into change underneath: look at them only after that completed.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the memory is valid for `len` bytes and initialised; only this thread's code writes to it.
        unsafe { std::slice::from_raw_parts(self.chunk().memory.as_ptr(), self.len()) }
    }

    /// The bytes, writable. Panics if any slice of this buffer is alive, since an operation might be using it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        assert_eq!(self.chunk().refs.get(), 1, "a buffer is written while an operation holds it");
        // SAFETY: as in `bytes`, and the count just proved that we are the only holder.
        unsafe { std::slice::from_raw_parts_mut(self.chunk().memory.as_ptr(), self.len()) }
    }

    /// Whether no slice of this buffer is alive.
    pub fn is_unshared(&self) -> bool {
        self.chunk().refs.get() == 1
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        let chunk = self.chunk();
        let refs = chunk.refs.get() - 1;
        chunk.refs.set(refs);
        if refs == 0 {
            self.pool.free.borrow_mut()[chunk.class as usize].push(self.chunk);
        }
    }
}

impl std::fmt::Debug for Buf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buf({} B)", self.len)
    }
}

/// A counted view of a range of a [`Buf`].
pub struct BufSlice {
    buf: Buf,
    off: u32,
    len: u32,
}

impl BufSlice {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the view is of nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A view of part of this view.
    pub fn slice(&self, range: Range<usize>) -> BufSlice {
        assert!(range.start <= range.end && range.end <= self.len(), "slice {range:?} of {} bytes", self.len);
        let len = (range.end - range.start) as u32;
        BufSlice { off: self.off + range.start as u32, len, buf: self.buf.share() }
    }

    /// Address of the first byte, for the kernel.
    pub fn as_ptr(&self) -> *mut u8 {
        // SAFETY: the offset lies within the buffer's allocation.
        unsafe { self.buf.chunk().memory.as_ptr().add(self.off as usize) }
    }

    /// The bytes; see [`Buf::bytes`] about reads in flight.
    pub fn bytes(&self) -> &[u8] {
        &self.buf.bytes()[self.off as usize..][..self.len()]
    }

    /// Copies `src` to `at` within this view. Ranges that a device is reading into must be left alone.
    pub fn copy_from(&self, at: usize, src: &[u8]) {
        assert!(at + src.len() <= self.len(), "copy of {} bytes at {at} into {}", src.len(), self.len);
        // SAFETY: the destination was just checked to lie inside the view; `copy` allows the two to overlap; no
        // reference to the destination is alive, since `bytes` borrows do not outlive the synchronous code using them.
        unsafe { std::ptr::copy(src.as_ptr(), self.as_ptr().add(at), src.len()) };
    }

    /// Writes zeros over a range of this view.
    pub fn zero(&self, range: Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len(), "zero {range:?} of {}", self.len);
        // SAFETY: as in `copy_from`.
        unsafe { std::ptr::write_bytes(self.as_ptr().add(range.start), 0, range.end - range.start) };
    }

    /// Whether this memory lies in the pool's arena (the region a driver may have registered).
    pub fn in_arena(&self) -> bool {
        self.buf.chunk().in_arena
    }
}

impl Clone for BufSlice {
    fn clone(&self) -> Self {
        self.slice(0..self.len())
    }
}

impl std::fmt::Debug for BufSlice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BufSlice({} B at {})", self.len, self.off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycles_only_after_the_last_handle() {
        let pool = BufPool::new(1 << 20);
        let buf = pool.alloc(5000);
        let address = buf.bytes().as_ptr();
        let slice = buf.slice(4096..5000);
        drop(buf);
        assert_ne!(pool.alloc(5000).bytes().as_ptr(), address, "a slice still holds it");
        drop(slice);
        let (a, b) = (pool.alloc(8192), pool.alloc(8192));
        assert!(a.bytes().as_ptr() == address || b.bytes().as_ptr() == address);
    }

    #[test]
    fn arena_then_heap_all_aligned() {
        let pool = BufPool::new(8192);
        let bufs: Vec<Buf> = (0..4).map(|_| pool.alloc(4096)).collect();
        assert_eq!(bufs.iter().filter(|b| b.full().in_arena()).count(), 2);
        assert!(bufs.iter().all(|b| (b.bytes().as_ptr() as usize).is_multiple_of(ALIGN)));
    }

    #[test]
    #[should_panic(expected = "written while an operation holds it")]
    fn no_writing_under_an_operation() {
        let mut buf = BufPool::new(0).alloc(4096);
        let _op = buf.full();
        buf.bytes_mut()[0] = 1;
    }
}
