//! Takes the engine's operations apart.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_runtime::{Capabilities, DeviceIx, Interposer, IoErrorKind, Op, OpId, Resets, Runtime, ZoneCounts};
use cygnus_types::BLOCK;

use crate::device::ZonedDevice;
use crate::table::Zoned;
use crate::turn::Turn;

impl ZonedDevice {
    /// From now on it stands between a reactor and the device.
    pub fn interpose(rt: &Runtime, dev: DeviceIx, zoned: Arc<Zoned>) {
        rt.interpose(dev, Rc::new(Self::new(dev, zoned)));
    }

    /// Zones of a range that are sequential and lie in it as a whole.
    fn whole_zones(&self, blocks: Range<u64>) -> Range<u32> {
        let shape = &self.zoned().shape;
        let first = blocks.start.max(shape.sequential).max(shape.lead()).div_ceil(shape.zone);
        let end = if blocks.end == shape.size { shape.zones() } else { blocks.end / shape.zone };
        first.min(end) as u32..end as u32
    }
}

impl Interposer for ZonedDevice {
    fn capabilities(&self, beneath: Capabilities) -> Capabilities {
        let shape = &self.zoned().shape;
        let active = shape.active_for_segments();
        let resets = Resets { unit: shape.zone * BLOCK as u64, first: shape.lead() * BLOCK as u64, active };
        Capabilities { trim: true, zones: None, resets: Some(resets), convert: false, oob_bytes: 0, ..beneath }
    }

    fn zone_counts(&self) -> ZoneCounts {
        self.zoned().counts()
    }

    fn begin(&self, rt: &Runtime, id: OpId, op: Op) {
        let shape = &self.zoned().shape;
        let (device, to) = (self.clone(), rt.clone());
        match op {
            Op::Read { offset, ref buf, .. } => match self.blocks(offset, buf.len() as u64) {
                Some(blocks) if blocks.end > shape.sequential => {
                    let buf = buf.clone();
                    self.later(rt, id, async move { device.read_anywhere(&to, blocks, buf).await });
                }
                _ => self.pass(rt, id, op),
            },
            Op::Write { offset, ref buf, .. } => match self.blocks(offset, buf.len() as u64) {
                Some(blocks) if blocks.start < shape.swap.end && shape.patches.start < blocks.end => {
                    self.refuse(rt, id, IoErrorKind::Range);
                }
                Some(blocks) if blocks.end > shape.sequential => {
                    let turns =
                        shape.pieces(blocks.clone()).map(|piece| Turn::join(self, rt, shape.zone_of(piece.start)));
                    let (turns, buf) = (turns.collect(), buf.clone());
                    self.later(rt, id, async move { device.write_anywhere(&to, blocks, buf, turns).await });
                }
                _ => self.pass(rt, id, op),
            },
            Op::Trim { offset, len, .. } => match self.blocks(offset, len) {
                Some(blocks) => {
                    let turns = self.whole_zones(blocks).map(|zone| Turn::join(self, rt, zone)).collect();
                    self.later(rt, id, async move { device.reset(&to, turns).await });
                }
                None => self.refuse(rt, id, IoErrorKind::Range),
            },
            Op::Reopen { .. } => self.later(rt, id, async move {
                let opened = to.submit_beneath(op).await?;
                device.zoned().forget();
                Ok(opened)
            }),
            Op::Extra { .. } => self.refuse(rt, id, IoErrorKind::Unsupported),
            Op::Flush { .. } | Op::Accept { .. } | Op::Recv { .. } | Op::Send { .. } | Op::Close { .. } => {
                self.pass(rt, id, op);
            }
        }
    }
}
