//! I/O buffers: aligned, recycled, and counted so that an operation in flight keeps its memory.
//!
//! A pool takes its buffers from one arena, which a driver may register with the kernel once; beyond the arena from
//! mappings of its own. Freed buffers go to a free list of their size class, so the hot path never meets the allocator.
//!
//! What a load of another time has left on the free lists goes back to the system: [`BufPool::give_back`], called now and
//! then, has the kernel take the pages of every buffer that was not used since the last call. The address stays with the
//! buffer, which has zeros in it when it is used next. The arena keeps its pages, as the kernel may have them pinned, and
//! transfers would go to pages that nobody sees any more.
//!
//! # Blank buffers
//!
//! A pool made by [`BufPool::blank`] remembers of each buffer from which byte on it holds nothing but zeros. Views of
//! that part are views of [`cygnus_types::zeros`], which everybody recognises by its address, so that copying,
//! checksumming or adding it up costs nothing. This is how an array is simulated whose users only write zeros: the code
//! is the same, every byte is right, and headers and maps in front of the zeros are as real as ever. In other pools
//! nothing is known, and asking costs a comparison.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::LazyLock;

use cygnus_types::{BLOCK, zeros};

use crate::{NoMemory, Pages};

/// Size classes are powers of two from one block (4 KiB) to 64 MiB.
const CLASSES: usize = 15;
const ALIGN: usize = BLOCK;
/// Bytes that are copied at a time. Longer ones C libraries leave to one instruction (`rep movsb`). A Zen 5 begins that slowly, which
/// costs it 20 to 30 ns for each block of 4 KiB; an Intel of 2023 gains 60, and more where what is copied to is in no cache.
static PIECE: LazyLock<usize> = LazyLock::new(|| if is_of_intel() { usize::MAX } else { 512 });
/// The place behind which a buffer is blank, where none is known.
const NOWHERE: u32 = u32::MAX;

/// Where a buffer's memory comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Arena,
    Slab,
    /// It was adopted, and goes with the buffer.
    Own,
}

struct Chunk {
    memory: NonNull<u8>,
    class: u8,
    home: Home,
    refs: Cell<u32>,
    /// Everything from here on is zeros. Only ever wrong on the safe side.
    blank_from: Cell<u32>,
    /// The system has its pages back.
    given_back: Cell<bool>,
    /// The mapping of an adopted one.
    _own: Option<Pages>,
}

impl Chunk {
    /// Notes that bytes below `end` may be something else than zeros from now on.
    #[inline]
    fn touch(&self, end: usize) {
        if (self.blank_from.get() as usize) < end {
            self.blank_from.set(end as u32);
        }
    }

    /// The bytes of a range that lies within the buffer.
    #[inline]
    fn view(&self, from: usize, len: usize) -> &[u8] {
        if from >= self.blank_from.get() as usize
            && let Some(zeros) = zeros::of_len(len)
        {
            return zeros;
        }
        // SAFETY: the caller's range lies within the memory, which is initialised and lives as long as the pool; only
        // this thread's code writes to it.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(from), len) }
    }

    /// Makes a range that lies within the buffer zeros.
    fn zero(&self, from: usize, to: usize) {
        let blank_from = self.blank_from.get() as usize;
        if from >= blank_from {
            return;
        }
        // SAFETY: the caller's range lies within the memory, and no reference to it is alive, since borrows of a
        // buffer's bytes do not outlive the synchronous code using them.
        unsafe { std::ptr::write_bytes(self.memory.as_ptr().add(from), 0, to - from) };
        if to >= blank_from {
            self.blank_from.set(from as u32);
        }
    }

    /// Copies bytes from elsewhere to a range that lies within the buffer.
    #[inline]
    fn copy(&self, at: usize, src: &[u8]) {
        if zeros::are_known(src) {
            return self.zero(at, at + src.len());
        }
        self.touch(at + src.len());
        // SAFETY: only `Buf::write` and `BufSlice::copy_from` call this, and both have panicked by now if `at + src.len()` lies behind
        // the buffer's end. The memory, one mapping, is at least as long as the buffer.
        let to = unsafe { self.memory.as_ptr().add(at) };
        let is_elsewhere = to.addr().abs_diff(src.as_ptr().addr()) >= src.len();
        assert!(is_elsewhere, "bytes of a buffer are to be copied over themselves");
        let each = *PIECE;
        for (n, piece) in src.chunks(each).enumerate() {
            // SAFETY: piece `n` begins `n * each` bytes into `src` (which does not overflow: then there is a piece there), so its place ends within the `src.len()` bytes behind `to` that were
            // just found to be in the memory. `src` and these bytes do not overlap, as asserted. Nobody has a reference to them: a buffer
            // belongs to one thread, on which this runs, and borrows of its bytes do not outlive the synchronous code using them.
            unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), to.add(n * each), piece.len()) };
        }
    }
}

/// Whether the processor says that Intel made it.
fn is_of_intel() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // Until some version of Rust the function was unsafe.
        #[allow(unused_unsafe)]
        // SAFETY: every processor of this architecture has the instruction, and its leaf 0, which tells of the other leaves. It reads
        // and writes nothing but registers.
        let vendor = unsafe { std::arch::x86_64::__cpuid(0) };
        (vendor.ebx, vendor.edx, vendor.ecx) == (0x756e_6547, 0x4965_6e69, 0x6c65_746e)
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The free buffers of one size class, the one used last on top.
#[derive(Default)]
struct FreeList {
    chunks: Vec<NonNull<Chunk>>,
    /// The shortest length since [`BufPool::give_back`]: as many buffers at the bottom were not used since.
    unused: usize,
}

impl FreeList {
    #[inline]
    fn pop(&mut self) -> Option<NonNull<Chunk>> {
        let chunk = self.chunks.pop();
        self.unused = self.unused.min(self.chunks.len());
        chunk
    }
}

struct Pool {
    free: RefCell<[FreeList; CLASSES]>,
    slabs: RefCell<Slabs>,
    /// Bytes of buffers outside the arena that are not given back.
    beyond: Cell<usize>,
    arena: Option<Pages>,
    arena_len: usize,
    arena_used: Cell<usize>,
    /// Whether the kernel keeps all of the arena in memory, used or not.
    arena_pinned: Cell<bool>,
    /// Whether it is known where its buffers are blank.
    blank: bool,
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

/// Bytes mapped at a time for small buffers.
const SLAB: usize = 1 << 20;

/// Memory outside the arena. Mapped and not allocated: an allocator keeps a page of its own beside each aligned block, which
/// would stay when the block has gone.
#[derive(Default)]
struct Slabs {
    mappings: Vec<Pages>,
    /// What is left of the slab begun last.
    rest: Option<NonNull<u8>>,
    left: usize,
}

impl Slabs {
    /// The next `bytes`, which nobody has had yet.
    fn carve(&mut self, bytes: usize) -> NonNull<u8> {
        if bytes >= SLAB {
            self.mappings.push(Pages::sparse(bytes));
            return self.mappings.last().expect("just pushed").start();
        }
        let rest = match self.rest.filter(|_| bytes <= self.left) {
            Some(rest) => rest,
            None => {
                self.mappings.push(Pages::sparse(SLAB));
                self.left = SLAB;
                self.mappings.last().expect("just pushed").start()
            }
        };
        self.left -= bytes;
        // SAFETY: `left` bytes behind `rest` belong to the mapping begun last, of which at least `bytes` were left.
        self.rest = Some(unsafe { rest.add(bytes) });
        rest
    }
}

impl BufPool {
    /// A pool whose first `arena_bytes` come from one contiguous region (0: none).
    ///
    /// # Panics
    /// When the system has no more memory to give.
    pub fn new(arena_bytes: usize) -> Self {
        Self::try_new(arena_bytes).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`BufPool::new`].
    ///
    /// # Errors
    /// When the system has no more memory to give.
    pub fn try_new(arena_bytes: usize) -> Result<Self, NoMemory> {
        let arena_len = arena_bytes.next_multiple_of(BLOCK);
        let arena = (arena_len > 0).then(|| Pages::try_zeroed(arena_len)).transpose()?;
        Ok(Self::with(arena, arena_len, false))
    }

    /// A pool without an arena whose buffers know where they are blank; see the module's text. For drivers that fill buffers
    /// by [`BufSlice::copy_from`] and [`BufSlice::zero`]; with others it works, and knows nothing.
    pub fn blank() -> Self {
        Self::with(None, 0, true)
    }

    fn with(arena: Option<Pages>, arena_len: usize, blank: bool) -> Self {
        let (free, slabs) = (RefCell::default(), RefCell::default());
        let (beyond, arena_used, arena_pinned) = (Cell::new(0), Cell::new(0), Cell::new(false));
        Self(Rc::new(Pool { free, slabs, beyond, arena, arena_len, arena_used, arena_pinned, blank }))
    }

    /// Start and length in bytes of the arena, for registering it with a kernel. It lives as long as the pool.
    pub fn arena(&self) -> (*const u8, usize) {
        let start = self.0.arena.as_ref().map_or(NonNull::dangling(), Pages::start);
        (start.as_ptr(), self.0.arena_len)
    }

    /// The driver has registered the arena: from now on the kernel keeps every page of it in memory, and
    /// [`BufPool::resident`] counts them all.
    pub fn note_pinned(&self) {
        self.0.arena_pinned.set(true);
    }

    /// Bytes that a buffer of `len` bytes takes: sizes are rounded up to a power of two.
    pub fn footprint(len: usize) -> usize {
        class_bytes(class_of(len))
    }

    /// A buffer of `len` bytes (at most 64 MiB), 4096-aligned. Contents are whatever its last user left.
    pub fn alloc(&self, len: usize) -> Buf {
        let class = class_of(len);
        let recycled = self.0.free.borrow_mut()[class].pop();
        let chunk = recycled.unwrap_or_else(|| self.0.make(class));
        // SAFETY: chunks are only freed when the pool is dropped, and a chunk on the free list has no other holder.
        let fresh = unsafe { chunk.as_ref() };
        fresh.refs.set(1);
        if fresh.given_back.replace(false) {
            self.0.beyond.set(self.0.beyond.get() + class_bytes(class));
        }
        Buf { chunk, pool: self.0.clone(), len: len as u32 }
    }

    /// A buffer of all of a mapping, which goes with the last handle to it. The pool neither counts nor recycles it.
    pub fn adopt(&self, pages: Pages) -> Buf {
        let len = pages.len();
        let (memory, class) = (pages.start(), class_of(len) as u8);
        let (refs, blank_from, given_back) = (Cell::new(1), Cell::new(NOWHERE), Cell::new(false));
        let chunk = Chunk { memory, class, home: Home::Own, refs, blank_from, given_back, _own: Some(pages) };
        Buf { chunk: NonNull::from(Box::leak(Box::new(chunk))), pool: self.0.clone(), len: len as u32 }
    }

    /// Gives back to the system the memory of all buffers outside the arena that were not used since the last call.
    pub fn give_back(&self) {
        for (class, list) in self.0.free.borrow_mut().iter_mut().enumerate() {
            let bytes = class_bytes(class);
            for chunk in &list.chunks[..list.unused] {
                // SAFETY: as in `alloc`.
                let chunk = unsafe { chunk.as_ref() };
                if chunk.home == Home::Slab && !chunk.given_back.replace(true) {
                    self.0.beyond.set(self.0.beyond.get() - bytes);
                    // SAFETY: the range is the chunk's own memory, whole pages of it, which nobody looks at: it is on the free
                    // list, and an operation in flight would hold it. Only the arena is known to the kernel by its pages.
                    // Afterwards it reads as zeros. A failure leaves it as it was, which wastes memory and is no error;
                    // where a buffer is blank stays true either way.
                    unsafe { libc::madvise(chunk.memory.as_ptr().cast(), bytes, libc::MADV_DONTNEED) };
                }
            }
            list.unused = list.chunks.len();
        }
    }

    /// Bytes of memory that the pool holds: what of the arena was ever used, or all of it once it is pinned, and buffers
    /// outside that are not given back.
    pub fn resident(&self) -> usize {
        let arena = if self.0.arena_pinned.get() { self.0.arena_len } else { self.0.arena_used.get() };
        arena + self.0.beyond.get()
    }
}

impl Pool {
    fn make(&self, class: usize) -> NonNull<Chunk> {
        let bytes = class_bytes(class);
        let used = self.arena_used.get();
        let arena = self.arena.as_ref().filter(|_| used + bytes <= self.arena_len);
        let (memory, home) = match arena {
            Some(arena) => {
                self.arena_used.set(used + bytes);
                // SAFETY: `used + bytes` was just checked to stay within the arena, which is one mapping that the pool owns for
                // as long as any buffer lives. `arena_used` only grows, so no other buffer gets this range.
                (unsafe { arena.start().add(used) }, Home::Arena)
            }
            None => (self.slabs.borrow_mut().carve(bytes), Home::Slab),
        };
        // Fresh memory is zeros.
        let blank_from = Cell::new(if self.blank { 0 } else { NOWHERE });
        if home != Home::Arena {
            self.beyond.set(self.beyond.get() + bytes);
        }
        let given_back = Cell::new(false);
        let refs = Cell::new(0);
        let chunk = Chunk { memory, class: class as u8, home, refs, blank_from, given_back, _own: None };
        NonNull::from(Box::leak(Box::new(chunk)))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Every Buf holds the pool, so here all chunks are back on their free lists.
        for chunk in self.free.get_mut().iter().flat_map(|list| &list.chunks) {
            // SAFETY: made by Box::leak in `make`, and on a free list exactly once. Its memory goes with the arena or its slab.
            drop(unsafe { Box::from_raw(chunk.as_ptr()) });
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
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.chunk().view(0, self.len())
    }

    /// Part of the bytes; of a blank part it is known that they are zeros.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> &[u8] {
        self.check(&range);
        self.chunk().view(range.start, range.len())
    }

    /// The bytes, writable. Panics if any slice of this buffer is alive, since an operation might be using it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.part_mut(0..self.len())
    }

    /// Part of the bytes, writable; what lies behind the part stays as blank as it was. Panics as [`Buf::bytes_mut`].
    #[inline]
    pub fn part_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.check(&range);
        let chunk = self.exclusive();
        chunk.touch(range.end);
        // SAFETY: the range lies within the memory, which is initialised, and we are the only holder.
        unsafe { std::slice::from_raw_parts_mut(chunk.memory.as_ptr().add(range.start), range.len()) }
    }

    /// Copies `src` to `at`. Panics as [`Buf::bytes_mut`].
    #[inline]
    pub fn write(&mut self, at: usize, src: &[u8]) {
        self.check(&(at..at + src.len()));
        self.exclusive().copy(at, src);
    }

    /// Writes zeros over a range. Panics as [`Buf::bytes_mut`].
    pub fn zero(&mut self, range: Range<usize>) {
        self.check(&range);
        self.exclusive().zero(range.start, range.end);
    }

    #[inline]
    fn exclusive(&mut self) -> &Chunk {
        let chunk = self.chunk();
        assert_eq!(chunk.refs.get(), 1, "a buffer is written while an operation holds it");
        chunk
    }

    #[inline]
    fn check(&self, range: &Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len(), "part {range:?} of {} bytes", self.len);
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
        if refs > 0 {
            return;
        }
        if chunk.home == Home::Own {
            // SAFETY: a chunk with memory of its own is made by Box::leak in `adopt` alone, and never comes to a free list, so the
            // pool does not free it too. The count says that no other handle is left, and this one does not look at it again.
            drop(unsafe { Box::from_raw(self.chunk.as_ptr()) });
        } else {
            self.pool.free.borrow_mut()[chunk.class as usize].chunks.push(self.chunk);
        }
    }
}

impl std::fmt::Debug for Buf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buf({} B)", self.len)
    }
}

/// A counted view of a range of a [`Buf`].
#[must_use = "whoever gives back a view may have put the data into another one than was handed in"]
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

    /// Address of the first byte, for the kernel, which may write there.
    pub fn as_ptr(&self) -> *mut u8 {
        let chunk = self.buf.chunk();
        chunk.touch(self.off as usize + self.len());
        // SAFETY: the offset lies within the buffer's allocation.
        unsafe { chunk.memory.as_ptr().add(self.off as usize) }
    }

    /// Whether the first byte lies at an address that is a multiple of 4096.
    pub fn is_block_aligned(&self) -> bool {
        // Buffers are.
        (self.off as usize).is_multiple_of(ALIGN)
    }

    /// The bytes; see [`Buf::bytes`] about reads in flight.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.buf.chunk().view(self.off as usize, self.len())
    }

    /// Part of the bytes; of a blank part it is known that they are zeros.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> &[u8] {
        self.check(&range);
        self.buf.chunk().view(self.off as usize + range.start, range.len())
    }

    /// From where on this view is known to be zeros; its length if that is nowhere.
    pub fn blank_from(&self) -> usize {
        (self.buf.chunk().blank_from.get() as usize).saturating_sub(self.off as usize).min(self.len())
    }

    /// Copies `src` to `at` within this view. Ranges that a device is reading into must be left alone. Panics when `src` is where
    /// it is to be copied to.
    #[inline]
    pub fn copy_from(&self, at: usize, src: &[u8]) {
        self.check(&(at..at + src.len()));
        self.buf.chunk().copy(self.off as usize + at, src);
    }

    /// Writes zeros over a range of this view.
    pub fn zero(&self, range: Range<usize>) {
        self.check(&range);
        self.buf.chunk().zero(self.off as usize + range.start, self.off as usize + range.end);
    }

    #[inline]
    fn check(&self, range: &Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len(), "part {range:?} of {} bytes", self.len);
    }

    /// Whether this is a view of that buffer.
    pub fn is_within(&self, buf: &Buf) -> bool {
        self.buf.chunk == buf.chunk
    }

    /// Whether this memory lies in the pool's arena (the region a driver may have registered).
    pub fn in_arena(&self) -> bool {
        self.buf.chunk().home == Home::Arena
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
    fn what_is_copied_within_a_buffer_arrives_as_it_was() {
        for by in [BLOCK, BLOCK + 1, 3 * BLOCK] {
            let mut buf = BufPool::new(0).alloc(4 * BLOCK);
            buf.bytes_mut().iter_mut().zip(0..).for_each(|(byte, n)| *byte = (n % 251) as u8);
            let before = buf.bytes()[..BLOCK].to_vec();
            let view = buf.full();
            view.copy_from(by, &view.bytes()[..BLOCK]);
            assert!(view.bytes()[by..by + BLOCK] == before, "by {by}");
        }
    }

    #[test]
    #[should_panic(expected = "copied over themselves")]
    fn bytes_are_not_copied_over_themselves() {
        let mut buf = BufPool::new(0).alloc(4 * BLOCK);
        buf.write(0, &[1; 2 * BLOCK]);
        let view = buf.full();
        view.copy_from(BLOCK / 8, &view.bytes()[..BLOCK]);
    }

    /// Pages of a range that are in memory.
    fn pages_in_memory(bytes: &[u8]) -> usize {
        let mut there = vec![0u8; bytes.len() / BLOCK];
        // SAFETY: the range is mapped, and the answer has a byte for each of its pages.
        let asked = unsafe { libc::mincore(bytes.as_ptr().cast_mut().cast(), bytes.len(), there.as_mut_ptr()) };
        assert_eq!(asked, 0);
        there.iter().filter(|&&page| page & 1 == 1).count()
    }

    #[test]
    fn a_load_that_is_over_leaves_nothing() {
        const LEN: usize = 1 << 20;
        let pool = BufPool::new(LEN);
        let mut bufs: Vec<Buf> = (0..5).map(|_| pool.alloc(LEN)).collect();
        bufs.iter_mut().for_each(|buf| buf.bytes_mut().fill(7));
        let places: Vec<*const u8> = bufs.iter().map(|buf| buf.bytes().as_ptr()).collect();
        let there = |place: &*const u8| {
            // SAFETY: the pool keeps all memory it ever had mapped, and nothing writes to it meanwhile.
            pages_in_memory(unsafe { std::slice::from_raw_parts(*place, LEN) }) * BLOCK
        };
        assert_eq!(pool.resident(), 5 * LEN);
        // All are free, and one at a time is used again.
        drop(bufs);
        pool.give_back();
        drop(pool.alloc(LEN));
        assert_eq!(pool.resident(), 5 * LEN, "nothing was unused for a whole round yet");
        pool.give_back();
        let kept = places.iter().map(there).sum::<usize>();
        assert_eq!((pool.resident(), kept), (2 * LEN, 2 * LEN), "the arena and the one in use");
        let again: Vec<Buf> = (0..5).map(|_| pool.alloc(LEN)).collect();
        assert!(again.iter().all(|buf| places.contains(&buf.bytes().as_ptr())), "the same places");
        assert_eq!(again.iter().filter(|buf| buf.bytes()[LEN - 1] == 7).count(), 2, "the others are zeros");
        assert_eq!(pool.resident(), 5 * LEN);
    }

    #[test]
    fn an_arena_that_is_pinned_counts_as_a_whole() {
        let pool = BufPool::new(8 * BLOCK);
        let small = pool.alloc(BLOCK);
        assert_eq!(pool.resident(), BLOCK);
        pool.note_pinned();
        assert_eq!(pool.resident(), 8 * BLOCK);
        let (rest, beyond) = (pool.alloc(4 * BLOCK), pool.alloc(8 * BLOCK));
        assert!(small.full().in_arena() && rest.full().in_arena() && !beyond.full().in_arena());
        assert_eq!(pool.resident(), 16 * BLOCK, "the arena once, and what lies beyond it");
    }

    #[test]
    fn arena_then_slabs_all_aligned() {
        let pool = BufPool::new(8192);
        let bufs: Vec<Buf> = (0..4).map(|_| pool.alloc(4096)).collect();
        assert_eq!(bufs.iter().filter(|b| b.full().in_arena()).count(), 2);
        assert!(bufs.iter().all(|b| (b.bytes().as_ptr() as usize).is_multiple_of(ALIGN)));
    }

    /// The rule of blank buffers against the bytes themselves, over random writes.
    #[test]
    fn what_is_known_to_be_zeros_is_zeros() {
        let pool = BufPool::blank();
        let mut rng = crate::Rng::new(3);
        for _ in 0..50 {
            let mut buf = pool.alloc(16 * BLOCK);
            let mut expected = buf.bytes().to_vec();
            for _ in 0..100 {
                let from = rng.below(16 * BLOCK as u64) as usize;
                let range = from..from + rng.below((16 * BLOCK - from) as u64 + 1) as usize;
                let way = rng.below(5);
                let byte = if way < 2 { 7 } else { 0 };
                expected[range.clone()].fill(byte);
                match way {
                    0 => buf.part_mut(range.clone()).fill(byte),
                    1 => buf.full().copy_from(range.start, &vec![byte; range.len()]),
                    2 => buf.write(range.start, zeros::of_len(range.len()).expect("there are enough")),
                    3 => buf.full().slice(range.clone()).zero(0..range.len()),
                    _ => buf.zero(range.clone()),
                }
                assert!(buf.bytes() == expected && buf.part(range.clone()) == &expected[range]);
            }
        }
    }

    #[test]
    fn a_header_does_not_make_the_zeros_behind_it_unknown() {
        let mut buf = BufPool::blank().alloc(4 * BLOCK);
        buf.part_mut(0..BLOCK).fill(1);
        assert!(zeros::are_known(buf.part(BLOCK..4 * BLOCK)) && !zeros::are_known(buf.part(0..BLOCK)));
        let places = [buf.full(), buf.slice(BLOCK / 2..2 * BLOCK), buf.slice(2 * BLOCK..3 * BLOCK)];
        assert_eq!(places.map(|view| view.blank_from()), [BLOCK, BLOCK / 2, 0]);
        buf.full().as_ptr();
        assert!(!zeros::are_known(buf.part(BLOCK..4 * BLOCK)), "the kernel may have written");
        assert!(!zeros::are_known(BufPool::new(0).alloc(BLOCK).bytes()));
    }

    #[test]
    #[should_panic(expected = "written while an operation holds it")]
    fn no_writing_under_an_operation() {
        let mut buf = BufPool::new(0).alloc(4096);
        let _op = buf.full();
        buf.bytes_mut()[0] = 1;
    }
}
