//! How the outcome of a request is told and counted.

use cygnus_volume::{BlockVolume, VolumeError};

use crate::asked::Asked;
use crate::event::EndReason;
use crate::nbd::{self, Fault};
use crate::stats::OpClass;
use crate::transmission::Transmission;

impl<V: BlockVolume> Transmission<V> {
    pub(crate) fn succeed(&self, asked: &Asked) {
        let mut reply = [0; nbd::DONE_BYTES];
        let used = self.agreed.done(&mut reply, &asked.request);
        self.outbox.push_bytes(&reply[..used], asked.share.room);
        self.count(asked, false);
    }

    #[cold]
    pub(crate) fn fail(&self, asked: &Asked, fault: Fault) {
        let mut reply = [0; nbd::REPLY_BYTES];
        let used = self.agreed.fault(&mut reply, &asked.request, fault);
        self.outbox.push_bytes(&reply[..used], asked.share.room);
        self.count(asked, true);
        if fault == Fault::Volume(VolumeError::Gone) {
            self.end(EndReason::VolumeGone);
        }
    }

    pub(crate) fn count(&self, asked: &Asked, failed: bool) {
        let class = OpClass::of(asked.request.kind());
        let bytes = u64::from(asked.request.len());
        self.handle.counters.answered(class, bytes, failed);
        self.totals.answered(class, bytes, failed, self.rt.now().since(asked.started));
    }
}
