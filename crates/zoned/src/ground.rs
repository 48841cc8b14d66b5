//! A zoned device on one reactor, as it is: what is known of it, and its own addresses and commands.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_runtime::{
    BufSlice, DeviceIx, Event, Extra, IoError, IoErrorKind, Op, OpFuture, OpId, Outcome, Runtime, ZoneInfo,
};
use cygnus_types::BLOCK;

use crate::shape::LogShape;
use crate::table::Zoned;

/// Zones of which the state is asked for at once.
const REPORTS: usize = 64;

/// What a report tells of.
pub(crate) fn told_in(report: Outcome) -> ZoneInfo {
    let Outcome::Zone(info) = report else { unreachable!("a report tells of a zone") };
    info
}

struct Inner {
    dev: DeviceIx,
    zoned: Arc<Zoned>,
    /// Something changed here that others of this reactor may wait for.
    changed: Event,
}

/// See the module's text. Clones are the same device on the same reactor.
#[derive(Clone)]
pub struct Ground(Rc<Inner>);

impl Ground {
    /// The device that this reactor's driver has under the number `dev`.
    pub(crate) fn new(dev: DeviceIx, zoned: Arc<Zoned>) -> Self {
        Self(Rc::new(Inner { dev, zoned, changed: Event::new() }))
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

    /// The blocks of a range of bytes; `None`: it is none of the device's, and the device will say so.
    pub(crate) fn blocks(&self, offset: u64, len: u64) -> Option<Range<u64>> {
        let (block, end) = (BLOCK as u64, offset.checked_add(len)?);
        let fits = (offset | len).is_multiple_of(block) && len > 0 && end / block <= self.zoned().shape.size;
        fits.then_some(offset / block..end / block)
    }

    /// Carries something out in a task of its own, and answers.
    pub(crate) fn later(&self, rt: &Runtime, id: OpId, work: impl Future<Output = Result<Outcome, IoError>> + 'static) {
        let answering = rt.clone();
        rt.spawn(async move {
            let result = work.await;
            answering.answer(id, result);
        });
    }

    pub(crate) fn refuse(&self, rt: &Runtime, id: OpId, kind: IoErrorKind) {
        self.later(rt, id, async move { Err(IoError::new(kind)) });
    }

    /// Whether the device is open as it was.
    pub(crate) fn is_still(&self, opening: u64) -> Result<(), IoError> {
        if self.zoned().table().opening == opening { Ok(()) } else { Err(IoError::new(IoErrorKind::Gone)) }
    }

    pub(crate) async fn flush_beneath(&self, rt: &Runtime) -> Result<(), IoError> {
        rt.submit_beneath(Op::Flush { dev: self.dev() }).await.map(drop)
    }

    /// Where the head log lies, on a device that has one.
    pub(crate) fn log_shape(&self) -> LogShape {
        self.zoned().shape.beneath.as_ref().and_then(|beneath| beneath.log).expect("its head lies in a log")
    }

    /// What of each of some zones is written; nothing of conventional ones.
    pub(crate) async fn written_of_all(&self, rt: &Runtime, zones: Range<u32>) -> Result<Vec<Range<u64>>, IoError> {
        let mut all = Vec::new();
        for some in zones.clone().step_by(REPORTS).map(|first| first..zones.end.min(first + REPORTS as u32)) {
            let reports: Vec<_> = some.clone().map(|zone| self.command(rt, Extra::Report { zone })).collect();
            for (zone, report) in some.zip(reports) {
                let start = u64::from(zone) * self.zoned().shape.zone;
                all.push(start..self.pointer_in(zone, report.await?).unwrap_or(start));
            }
        }
        Ok(all)
    }

    /// What of a sequential zone is written; nothing of a conventional one.
    pub(crate) async fn written_of(&self, rt: &Runtime, zone: u32) -> Result<Range<u64>, IoError> {
        let start = u64::from(zone) * self.zoned().shape.zone;
        Ok(start..self.pointer_beneath(rt, zone).await?.unwrap_or(start))
    }

    /// Where a zone goes on, as the device says; `None`: anywhere.
    pub(crate) async fn pointer_beneath(&self, rt: &Runtime, zone: u32) -> Result<Option<u64>, IoError> {
        Ok(self.pointer_in(zone, self.command(rt, Extra::Report { zone }).await?))
    }

    /// Where a zone goes on, as a report says.
    fn pointer_in(&self, zone: u32, report: Outcome) -> Option<u64> {
        let info = told_in(report);
        let blocks = self.zoned().shape.blocks_of(zone);
        info.pointer.map(|at| (blocks.start + at.saturating_sub(info.start) / BLOCK as u64).min(blocks.end))
    }

    /// A command for a zone of the device itself.
    pub(crate) fn command(&self, rt: &Runtime, what: Extra) -> OpFuture {
        let skipped = self.zoned().shape.beneath.as_ref().map_or(0, |beneath| beneath.skipped);
        let what = match what {
            Extra::Report { zone } => Extra::Report { zone: zone + skipped },
            Extra::Reset { zone } => Extra::Reset { zone: zone + skipped },
            Extra::Finish { zone } => Extra::Finish { zone: zone + skipped },
            other => other,
        };
        rt.submit_beneath(Op::Extra { dev: self.dev(), what })
    }

    /// Reads the device where the head log lies.
    pub(crate) fn read_place(&self, rt: &Runtime, at: u64, buf: BufSlice) -> OpFuture {
        let offset = self.zoned().shape.offset(at * BLOCK as u64);
        rt.submit_beneath(Op::Read { dev: self.dev(), offset, buf })
    }
}
