//! A zoned device on one reactor: takes the engine's operations apart.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_runtime::{
    BufSlice, Capabilities, DeviceIx, Event, Extra, Interposer, IoError, IoErrorKind, Op, OpFuture, OpId, Outcome,
    Resets, Runtime,
};
use cygnus_types::BLOCK;

use crate::table::{Pointer, Zoned};
use crate::turn::Turn;

struct Inner {
    dev: DeviceIx,
    zoned: Arc<Zoned>,
    /// Something changed here that others of this reactor may wait for.
    changed: Event,
}

/// See the crate's text. Clones are the same device on the same reactor.
#[derive(Clone)]
pub struct ZonedDevice(Rc<Inner>);

impl ZonedDevice {
    /// The device that this reactor's driver has under the number `dev`.
    pub fn new(dev: DeviceIx, zoned: Arc<Zoned>) -> Self {
        Self(Rc::new(Inner { dev, zoned, changed: Event::new() }))
    }

    /// From now on it stands between a reactor and the device.
    pub fn interpose(rt: &Runtime, dev: DeviceIx, zoned: Arc<Zoned>) {
        rt.interpose(dev, Rc::new(Self::new(dev, zoned)));
    }

    pub(crate) fn zoned(&self) -> &Zoned {
        &self.0.zoned
    }

    pub(crate) fn changed(&self) -> &Event {
        &self.0.changed
    }

    pub(crate) fn dev(&self) -> DeviceIx {
        self.0.dev
    }

    /// Has the device itself do something.
    pub(crate) fn ask(&self, rt: &Runtime, what: Extra) -> OpFuture {
        rt.submit_beneath(Op::Extra { dev: self.dev(), what })
    }

    pub(crate) fn write_beneath(&self, rt: &Runtime, block: u64, buf: BufSlice) -> OpFuture {
        rt.submit_beneath(Op::Write { dev: self.dev(), offset: block * BLOCK as u64, buf, transient: false })
    }

    pub(crate) fn read_beneath(&self, rt: &Runtime, block: u64, buf: BufSlice) -> OpFuture {
        rt.submit_beneath(Op::Read { dev: self.dev(), offset: block * BLOCK as u64, buf })
    }

    /// Where a zone goes on. Whoever asks has the turn, so nobody changes it meanwhile.
    pub(crate) async fn pointer(&self, rt: &Runtime, zone: u32) -> Result<Pointer, IoError> {
        let known = self.zoned().table().zone(zone).pointer;
        if known != Pointer::Unknown {
            return Ok(known);
        }
        let Outcome::Zone(info) = self.ask(rt, Extra::Report { zone }).await? else {
            unreachable!("a report tells of a zone")
        };
        let found = info.pointer.map_or(Pointer::Anywhere, |at| Pointer::At(at / BLOCK as u64));
        self.zoned().table().zone(zone).pointer = found;
        Ok(found)
    }

    /// The blocks of a range of bytes; `None`: it is none of the device's, and the device will say so.
    fn blocks(&self, offset: u64, len: u64) -> Option<Range<u64>> {
        let (block, end) = (BLOCK as u64, offset.checked_add(len)?);
        let fits = (offset | len).is_multiple_of(block) && len > 0 && end / block <= self.zoned().shape.size;
        fits.then_some(offset / block..end / block)
    }

    /// Zones of a range that are sequential and lie in it as a whole.
    fn whole_zones(&self, blocks: Range<u64>) -> Range<u32> {
        let shape = &self.zoned().shape;
        let first = blocks.start.max(shape.sequential).div_ceil(shape.zone);
        let end = if blocks.end == shape.size { shape.zones() } else { blocks.end / shape.zone };
        first.min(end) as u32..end as u32
    }

    /// Carries something out in a task of its own, and answers.
    fn later(&self, rt: &Runtime, id: OpId, work: impl Future<Output = Result<Outcome, IoError>> + 'static) {
        let answering = rt.clone();
        rt.spawn(async move {
            let result = work.await;
            answering.answer(id, result);
        });
    }

    fn refuse(&self, rt: &Runtime, id: OpId, kind: IoErrorKind) {
        self.later(rt, id, async move { Err(IoError::new(kind)) });
    }
}

impl Interposer for ZonedDevice {
    fn capabilities(&self, beneath: Capabilities) -> Capabilities {
        let shape = &self.zoned().shape;
        let resets = Resets { unit: shape.zone * BLOCK as u64, first: shape.lead() * BLOCK as u64 };
        Capabilities { trim: true, zones: None, resets: Some(resets), convert: false, oob_bytes: 0, ..beneath }
    }

    fn begin(&self, rt: &Runtime, id: OpId, op: Op) {
        let shape = &self.zoned().shape;
        let (device, to) = (self.clone(), rt.clone());
        match op {
            Op::Read { offset, ref buf, .. } => match self.blocks(offset, buf.len() as u64) {
                Some(blocks) if !self.zoned().is_plain(blocks.clone()) => {
                    let buf = buf.clone();
                    self.later(rt, id, async move { device.read(&to, blocks, buf).await });
                }
                _ => rt.pass_on(id, op),
            },
            Op::Write { offset, ref buf, .. } => match self.blocks(offset, buf.len() as u64) {
                Some(blocks) if blocks.start < shape.patches.end && shape.patches.start < blocks.end => {
                    self.refuse(rt, id, IoErrorKind::Range);
                }
                Some(blocks) if blocks.end > shape.sequential => {
                    let turns =
                        shape.pieces(blocks.clone()).map(|piece| Turn::join(self, rt, shape.zone_of(piece.start)));
                    let (turns, buf) = (turns.collect(), buf.clone());
                    self.later(rt, id, async move { device.write(&to, blocks, buf, turns).await });
                }
                _ => rt.pass_on(id, op),
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
                rt.pass_on(id, op);
            }
        }
    }
}
