//! A zoned device on one reactor, as whoever keeps its zones in order sees it.

use std::ops::Deref;
use std::sync::Arc;

use cygnus_runtime::{BufSlice, DeviceIx, Extra, IoError, Op, OpFuture, Runtime};
use cygnus_types::BLOCK;

use crate::ground::{Ground, told_in};
use crate::table::{Pointer, Zoned};

/// See the crate's text. Clones are the same device on the same reactor.
#[derive(Clone)]
pub struct ZonedDevice(Ground);

impl Deref for ZonedDevice {
    type Target = Ground;

    fn deref(&self) -> &Ground {
        &self.0
    }
}

impl ZonedDevice {
    /// The device that this reactor's driver has under the number `dev`.
    pub fn new(dev: DeviceIx, zoned: Arc<Zoned>) -> Self {
        Self(Ground::new(dev, zoned))
    }

    /// Has the device itself do something.
    pub(crate) fn ask(&self, rt: &Runtime, what: Extra) -> OpFuture {
        self.submit(rt, Op::Extra { dev: self.dev(), what })
    }

    pub(crate) fn write_beneath(&self, rt: &Runtime, block: u64, buf: BufSlice) -> OpFuture {
        self.submit(rt, Op::Write { dev: self.dev(), offset: block * BLOCK as u64, buf, transient: false })
    }

    pub(crate) fn read_beneath(&self, rt: &Runtime, block: u64, buf: BufSlice) -> OpFuture {
        self.submit(rt, Op::Read { dev: self.dev(), offset: block * BLOCK as u64, buf })
    }

    /// Where a zone goes on. Whoever asks has the turn, so nobody changes it meanwhile.
    pub(crate) async fn pointer(&self, rt: &Runtime, zone: u32) -> Result<Pointer, IoError> {
        let known = self.zoned().table().zone(zone).pointer;
        if known != Pointer::Unknown {
            return Ok(known);
        }
        let info = told_in(self.ask(rt, Extra::Report { zone }).await?);
        let found = info.pointer.map_or(Pointer::Anywhere, |at| Pointer::At(at / BLOCK as u64));
        self.zoned().table().zone(zone).pointer = found;
        Ok(found)
    }
}
