//! The device itself, where it lacks something that a shingled disk has ([`Beneath`]): its addresses, and who answers what.
//!
//! The engine's addresses, and those in all other files here, have no holes: where less of a zone can be written than it is long, the
//! next one follows right behind what can be.

use cygnus_runtime::{BufSlice, Extra, IoError, IoErrorKind, Op, OpFuture, OpId, Outcome, Runtime, ZoneInfo};
use cygnus_types::BLOCK;

use crate::ground::Ground;
use crate::shape::Beneath;

impl Ground {
    /// Has the device do something for an end of ours.
    pub(crate) fn submit(&self, rt: &Runtime, op: Op) -> OpFuture {
        rt.submit_through(|id| self.pass(rt, id, op))
    }

    /// Gives an operation to the device, or to the log that holds its head.
    pub(crate) fn pass(&self, rt: &Runtime, id: OpId, op: Op) {
        let Some(beneath) = &self.zoned().shape.beneath else { return rt.pass_on(id, op) };
        match op {
            Op::Read { offset, buf, .. } => self.pass_read(rt, id, beneath, offset, buf),
            Op::Write { offset, buf, transient, .. } => self.pass_write(rt, id, beneath, offset, buf, transient),
            Op::Extra { what: Extra::Report { zone }, .. } => {
                let (device, to) = (self.clone(), rt.clone());
                self.later(rt, id, async move { device.report(&to, zone).await.map(Outcome::Zone) });
            }
            Op::Extra { what: Extra::Reset { zone }, .. } => {
                let (device, to) = (self.clone(), rt.clone());
                self.later(rt, id, async move {
                    let done = device.command(&to, Extra::Reset { zone }).await?;
                    device.was_reset(zone);
                    Ok(done)
                });
            }
            other => rt.pass_on(id, other),
        }
    }

    fn pass_read(&self, rt: &Runtime, id: OpId, beneath: &Beneath, offset: u64, buf: BufSlice) {
        let Some(blocks) = self.blocks(offset, buf.len() as u64) else {
            return self.refuse(rt, id, IoErrorKind::Range);
        };
        match beneath.log.filter(|_| blocks.start < self.zoned().shape.sequential) {
            None => rt.pass_on(id, Op::Read { dev: self.dev(), offset: self.zoned().shape.offset(offset), buf }),
            Some(log) if blocks.end > log.head => self.refuse(rt, id, IoErrorKind::Range),
            Some(_) => {
                let (device, to) = (self.clone(), rt.clone());
                self.later(rt, id, async move { device.read_head(&to, blocks, buf).await });
            }
        }
    }

    fn pass_write(&self, rt: &Runtime, id: OpId, beneath: &Beneath, offset: u64, buf: BufSlice, transient: bool) {
        let Some(blocks) = self.blocks(offset, buf.len() as u64) else {
            return self.refuse(rt, id, IoErrorKind::Range);
        };
        let (device, to) = (self.clone(), rt.clone());
        match beneath.log.filter(|_| blocks.start < self.zoned().shape.sequential) {
            Some(log) if blocks.end > log.head => return self.refuse(rt, id, IoErrorKind::Range),
            Some(_) => return self.later(rt, id, async move { device.write_head(&to, blocks, buf).await }),
            None => {}
        }
        let zone = self.zoned().shape.zone_of(blocks.start);
        let write = Op::Write { dev: self.dev(), offset: self.zoned().shape.offset(offset), buf, transient };
        if blocks.start < self.zoned().shape.sequential || self.may_be_written(zone) {
            return rt.pass_on(id, write);
        }
        let opening = self.zoned().table().opening;
        self.later(rt, id, async move {
            device.activate(&to, zone).await?;
            device.is_still(opening)?;
            to.submit_beneath(write).await
        });
    }

    /// How a zone stands, in the engine's addresses. Those of the head log are conventional to everybody else.
    async fn report(&self, rt: &Runtime, zone: u32) -> Result<ZoneInfo, IoError> {
        let shape = &self.zoned().shape;
        let start = u64::from(zone) * shape.zone;
        let is_logged = shape.beneath.as_ref().is_some_and(|beneath| beneath.log.is_some()) && start < shape.sequential;
        let pointer = if is_logged { None } else { self.pointer_beneath(rt, zone).await? };
        let bytes = |blocks: u64| blocks * BLOCK as u64;
        let blocks = shape.blocks_of(zone);
        Ok(ZoneInfo { start: bytes(start), capacity: bytes(blocks.end - start), pointer: pointer.map(bytes) })
    }
}
