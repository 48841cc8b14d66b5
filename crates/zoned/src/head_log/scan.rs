//! Reads what the log's sides hold.

use std::ops::Range;

use cygnus_parity::checksum::crc32c;
use cygnus_runtime::{Buf, IoError, Runtime};
use cygnus_types::BLOCK;

use super::{COPIES, LogRecord, What};
use crate::ground::Ground;
use crate::logged::HeadLog;
use crate::pieces::{bytes, read_whatever};
use crate::shape::{LogShape, Shape};

/// Blocks that are read at once.
pub(super) const AT_ONCE: u64 = 256;
/// Pieces that are read at once.
const READS: usize = 16;

/// What was found so far of a side.
pub(super) struct Side {
    /// Its first block.
    start: u64,
    log: HeadLog,
    is_complete: bool,
}

/// A record of which the blocks are being looked at.
struct Open {
    first: u64,
    checksums: std::vec::IntoIter<u32>,
}

impl Side {
    /// Nothing was found yet.
    pub(super) fn new(shape: &Shape, log: LogShape, number: u32) -> Self {
        Self { start: u64::from(number * log.side) * shape.zone, log: HeadLog::default(), is_complete: false }
    }

    /// The newer one of those that are complete, or nothing.
    pub(super) fn newest(sides: [Self; 2]) -> HeadLog {
        let complete = sides.into_iter().filter(|side| side.is_complete).map(|side| side.log);
        complete.max_by_key(|log| log.generation).unwrap_or_default()
    }
}

/// What was found so far of a zone.
#[derive(Default)]
pub(super) struct Look {
    open: Option<Open>,
    /// There was something that is no record, where one should begin.
    is_odd: bool,
}

impl Look {
    /// Whether the log can go on right behind what was found.
    fn is_whole(&self) -> bool {
        self.open.is_none() && !self.is_odd
    }

    /// One block after the other.
    pub(super) fn at(&mut self, block: &[u8], at: u64, number: u32, side: &mut Side) {
        if let Some(open) = &mut self.open {
            if open.checksums.next() == Some(crc32c(block)) {
                side.log.places.insert(open.first, at);
            }
            open.first += 1;
            if open.checksums.len() == 0 {
                self.open = None;
            }
            return;
        }
        let Some(record) = LogRecord::decode(block, at) else {
            self.is_odd = true;
            return;
        };
        let is_ours =
            side.log.side.is_some() && (record.generation, record.secret) == (side.log.generation, side.log.secret);
        match record.what {
            What::Begins if side.log.side.is_none() && at < side.start + COPIES => {
                let (generation, secret) = (record.generation, record.secret);
                side.log = HeadLog { side: Some(number), generation, secret, ..HeadLog::default() };
            }
            What::Blocks { first, checksums } if is_ours => {
                self.open = Some(Open { first, checksums: checksums.into_iter() });
            }
            What::Complete if is_ours => side.is_complete = true,
            _ => self.is_odd |= !is_ours,
        }
    }
}

impl Ground {
    /// What the device has of a log: the newer one of the sides that are complete, or nothing.
    pub(super) async fn scan_log(&self, rt: &Runtime) -> Result<HeadLog, IoError> {
        let log = self.log_shape();
        Ok(Side::newest([self.scan_side(rt, log, 0).await?, self.scan_side(rt, log, 1).await?]))
    }

    async fn scan_side(&self, rt: &Runtime, log: LogShape, number: u32) -> Result<Side, IoError> {
        let (mut side, zones) =
            (Side::new(&self.zoned().shape, log, number), number * log.side..(number + 1) * log.side);
        let written = self.written_of_all(rt, zones.clone()).await?;
        let mut looks: Vec<Look> = written.iter().map(|_| Look::default()).collect();
        let all = (0..).zip(&written);
        let pieces: Vec<(usize, Range<u64>)> =
            all.flat_map(|(n, written)| cut(written.clone()).map(move |piece| (n, piece))).collect();
        for some in pieces.chunks(READS) {
            for ((n, piece), buf) in some.iter().zip(self.read_pieces(rt, some).await?) {
                for (block, at) in buf.bytes().chunks_exact(BLOCK).zip(piece.clone()) {
                    looks[*n].at(block, at, number, &mut side);
                }
            }
        }
        for ((zone, look), written) in zones.zip(looks).zip(written).filter(|(_, written)| !written.is_empty()) {
            side.log.at = written.end;
            if !look.is_whole() {
                side.log.at = written.start + self.zoned().shape.zone;
                side.log.left.push(zone);
            }
        }
        Ok(side)
    }

    /// Reads some pieces at once. A block that cannot be read is zeros.
    async fn read_pieces(&self, rt: &Runtime, pieces: &[(usize, Range<u64>)]) -> Result<Vec<Buf>, IoError> {
        let begin = |(_, piece): &(usize, Range<u64>)| {
            let buf = rt.alloc(bytes(piece.end - piece.start));
            let read = self.read_place(rt, piece.start, buf.full());
            (buf, read)
        };
        let begun: Vec<_> = pieces.iter().map(begin).collect();
        let mut bufs = Vec::new();
        for ((buf, read), (_, piece)) in begun.into_iter().zip(pieces) {
            bufs.push(match read.await {
                Ok(_) => buf,
                Err(error) if error.kind.is_of_range() => {
                    read_whatever(rt, piece.clone(), |at, buf| self.read_place(rt, at, buf)).await?
                }
                Err(error) => return Err(error),
            });
        }
        Ok(bufs)
    }
}

/// A range in pieces that are read at once.
fn cut(blocks: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    blocks.clone().step_by(AT_ONCE as usize).map(move |first| first..blocks.end.min(first + AT_ONCE))
}
