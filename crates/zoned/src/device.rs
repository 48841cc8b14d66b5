//! A zoned device on one reactor: what is known of it, and what it can be asked for itself.

use std::rc::Rc;
use std::sync::Arc;

use cygnus_runtime::{BufSlice, DeviceIx, Event, Extra, IoError, Op, OpFuture, Outcome, Runtime};
use cygnus_types::BLOCK;

use crate::table::{Pointer, Zoned};

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
}
