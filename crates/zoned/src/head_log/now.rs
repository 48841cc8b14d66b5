//! Looks at a device outside any reactor: tools that ask what is there, and do not open an array.

use std::ops::Range;

use cygnus_runtime::ZoneInfo;
use cygnus_types::BLOCK;

use super::scan::{AT_ONCE, Look, Side};
use crate::logged::HeadLog;
use crate::shape::{LogShape, Shape, written};

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
        let own = |range: Range<u64>| self.written_now(range, &report, &read);
        let beneath = |range: Range<u64>| {
            let first = self.offset(range.start * BLOCK as u64) / BLOCK as u64;
            own(first..first + range.end - range.start)
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
                    return own(blocks);
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

    /// Reads the device's own blocks: what was never written is zeros.
    fn written_now<E>(
        &self,
        blocks: Range<u64>,
        report: impl Fn(u32) -> Result<ZoneInfo, E>,
        read: impl Fn(u64, usize) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let bytes = |blocks: &Range<u64>| (blocks.end - blocks.start) as usize * BLOCK;
        let mut all = Vec::with_capacity(bytes(&blocks));
        for (zone, piece) in self.pieces_beneath(blocks) {
            let (there, end) = (written(&piece, &report(zone)?), all.len() + bytes(&piece));
            if !there.is_empty() {
                all.extend(read(there.start * BLOCK as u64, bytes(&there))?);
            }
            all.resize(end, 0);
        }
        Ok(all)
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

#[cfg(test)]
mod tests {
    use cygnus_runtime::Zones;

    use super::*;

    const B: u64 = BLOCK as u64;

    /// Whatever a drive gives where nothing is written, nobody takes it for somebody's data.
    #[test]
    fn what_was_never_written_is_zeros() {
        let zones = Zones { bytes: 1 << 20, capacity: 1 << 20, conventional: Some(8), active_limit: 0, commands: true };
        for zones in [zones, Zones { conventional: Some(1), ..zones }, Zones { capacity: 700 << 10, ..zones }] {
            let shape = Shape::of(&zones, 64 << 20).unwrap();
            let report = |zone: u32| {
                let start = u64::from(zone) << 20;
                let pointer = (Some(zone) >= zones.conventional).then_some(start + 3 * B);
                Ok::<_, ()>(ZoneInfo { start, capacity: zones.capacity, pointer })
            };
            let read = |at: u64, len: usize| {
                let is_written =
                    |at: u64| at >> 20 < 8 && Some((at >> 20) as u32) < zones.conventional || at % (1 << 20) < 3 * B;
                let blocks = (at..at + len as u64).step_by(BLOCK);
                Ok(blocks.flat_map(|at| [if is_written(at) { 7 } else { 0xff }; BLOCK]).collect())
            };
            let ends = shape.size - shape.size % shape.zone;
            let last = shape.read_now(ends - shape.zone - 5..ends - shape.zone + 5, report, read).unwrap();
            let blocks: Vec<u8> = last.chunks_exact(BLOCK).map(|block| block[0]).collect();
            assert_eq!(blocks, [0, 0, 0, 0, 0, 7, 7, 7, 0, 0]);
            let head = shape.read_now(0..512, report, read).unwrap();
            assert!(head.len() == 512 * BLOCK && head.iter().all(|&byte| byte == 0 || byte == 7));
        }
    }
}
