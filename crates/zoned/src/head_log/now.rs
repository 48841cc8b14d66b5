//! Looks at a device outside any reactor: tools that ask what is there, and do not open an array.

use std::ops::Range;

use cygnus_runtime::ZoneInfo;
use cygnus_types::BLOCK;

use super::scan::{AT_ONCE, Look, Side};
use crate::logged::HeadLog;
use crate::shape::{LogShape, Shape};

impl Shape {
    /// Reads blocks, blocking. `report` tells how a zone of the device stands, `read` gives its bytes from an offset on. Patches are not
    /// looked at.
    ///
    /// # Errors
    /// Those of the functions.
    pub fn read_now<E>(
        &self,
        blocks: Range<u64>,
        report: impl Fn(u32) -> Result<ZoneInfo, E>,
        read: impl Fn(u64, usize) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let beneath = |range: Range<u64>| {
            read(self.offset(range.start * BLOCK as u64), (range.end - range.start) as usize * BLOCK)
        };
        let logged = self.beneath.as_ref().and_then(|beneath| Some((beneath.skipped, beneath.log?)));
        match logged.filter(|_| blocks.start < self.sequential) {
            None => {
                let pieces: Result<Vec<_>, E> = self.pieces(blocks).map(beneath).collect();
                Ok(pieces?.concat())
            }
            Some((skipped, log)) => {
                let log = self.scan_now(log, |zone| report(zone + skipped), beneath)?;
                if log.side.is_none() {
                    return read(blocks.start * BLOCK as u64, (blocks.end - blocks.start) as usize * BLOCK);
                }
                let mut bytes = vec![0; (blocks.end - blocks.start) as usize * BLOCK];
                for (run, at) in log.runs(self, blocks.clone()) {
                    let to = (run.start - blocks.start) as usize * BLOCK;
                    let new = beneath(at..at + run.end - run.start)?;
                    bytes[to..to + new.len()].copy_from_slice(&new);
                }
                Ok(bytes)
            }
        }
    }

    fn scan_now<E>(
        &self,
        log: LogShape,
        report: impl Fn(u32) -> Result<ZoneInfo, E>,
        read: impl Fn(Range<u64>) -> Result<Vec<u8>, E>,
    ) -> Result<HeadLog, E> {
        let mut sides = [Side::new(self, log, 0), Side::new(self, log, 1)];
        for (number, side) in (0..).zip(&mut sides) {
            for zone in number * log.side..(number + 1) * log.side {
                let (info, start) = (report(zone)?, u64::from(zone) * self.zone);
                let written = info.pointer.map_or(0, |at| at.saturating_sub(info.start) / BLOCK as u64);
                let mut look = Look::default();
                let end = start + written.min(self.zone);
                for first in (start..end).step_by(AT_ONCE as usize) {
                    let bytes = read(first..end.min(first + AT_ONCE))?;
                    bytes.chunks_exact(BLOCK).zip(first..).for_each(|(block, at)| look.at(block, at, number, side));
                }
            }
        }
        Ok(Side::newest(sides))
    }
}
