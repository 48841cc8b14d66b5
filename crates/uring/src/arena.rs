//! The buffer pool's arena, registered with the ring so that the kernel need not pin pages for each transfer.

use cygnus_runtime::{BufPool, BufSlice};

use crate::ring::Ring;

/// The kernel takes at most 1 GiB per registered buffer.
const PIECE: usize = 1 << 30;

/// Knows which registered buffer, if any, a slice lies in. Holds the pool, since the kernel holds its pages.
pub(crate) struct Arena {
    start: usize,
    len: usize,
    note: Option<String>,
    pool: BufPool,
}

impl Arena {
    /// Registers the pool's arena. If the kernel refuses, transfers work without, a little slower, and a note says why.
    pub(crate) fn register(ring: &Ring, pool: BufPool) -> Self {
        let (start, len) = pool.arena();
        let mut arena = Self { start: start as usize, len, note: None, pool };
        let pieces: Vec<libc::iovec> = (0..len)
            .step_by(PIECE)
            .map(|at| libc::iovec { iov_base: start.wrapping_add(at).cast_mut().cast(), iov_len: PIECE.min(len - at) })
            .collect();
        if pieces.is_empty() {
            return arena;
        }
        // SAFETY: the pool, which we hold, keeps the arena for as long as the ring that is dropped before us.
        if let Err(error) = unsafe { ring.uring().submitter().register_buffers(&pieces) } {
            arena.note = Some(format!("buffers are not registered with the kernel ({error}); raise `ulimit -l`"));
            arena.len = 0;
        } else {
            arena.pool.note_pinned();
        }
        arena
    }

    /// Why buffers are not registered, if they should be.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The registered buffer that all of the slice lies in.
    pub(crate) fn index_of(&self, slice: &BufSlice) -> Option<u16> {
        let at = (slice.as_ptr() as usize).wrapping_sub(self.start);
        if at >= self.len {
            return None;
        }
        let (first, last) = (at / PIECE, (at + slice.len() - 1) / PIECE);
        (first == last).then_some(first as u16)
    }
}
