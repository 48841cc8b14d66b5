//! Parts of buffers, and several operations at once.

use std::ops::Range;

use cygnus_runtime::{Buf, BufSlice, IoError, OpFuture, Runtime};
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

/// Reads a range of the area, or of the head log. A block that cannot be read is zeros: what it held is lost, and found to be so by whoever reads
/// what it replaced.
pub(crate) async fn read_whatever(
    rt: &Runtime,
    blocks: Range<u64>,
    read: impl Fn(u64, BufSlice) -> OpFuture,
) -> Result<Buf, IoError> {
    let buf = rt.alloc(bytes(blocks.end - blocks.start));
    match read(blocks.start, buf.full()).await {
        Ok(_) => return Ok(buf),
        Err(error) if error.kind.is_of_range() => {}
        Err(error) => return Err(error),
    }
    for (at, n) in blocks.zip(0..) {
        let block = buf.slice(bytes(n)..bytes(n + 1));
        match read(at, block.clone()).await {
            Ok(_) => {}
            Err(error) if error.kind.is_of_range() => block.zero(0..BLOCK),
            Err(error) => return Err(error),
        }
    }
    Ok(buf)
}
