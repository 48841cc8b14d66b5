//! Parts of buffers, and several operations at once.

use std::ops::Range;

use cygnus_runtime::{BufSlice, IoError, OpFuture};
use cygnus_types::BLOCK;

/// The part of a buffer that belongs to a part of the blocks that it is for.
pub(crate) fn part(buf: &BufSlice, of: &Range<u64>, part: &Range<u64>) -> BufSlice {
    let at = |block: u64| (block - of.start) as usize * BLOCK;
    buf.slice(at(part.start)..at(part.end))
}

/// Waits for all of them; the first error counts.
pub(crate) async fn all(ops: Vec<OpFuture>) -> Result<(), IoError> {
    let mut result = Ok(());
    for op in ops {
        result = result.and(op.await.map(drop));
    }
    result
}

/// Bytes of so many blocks.
pub(crate) const fn bytes(blocks: u64) -> usize {
    blocks as usize * BLOCK
}
