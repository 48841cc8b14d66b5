//! Devices that cannot do by themselves what the engine asks of every device: somebody stands between, and does it with
//! other operations of the same device.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::{Capabilities, DeviceIx, Op, OpId, Runtime, ZoneCounts};

/// Carries out the operations of one device, on one reactor.
pub trait Interposer {
    /// What the device can do with its help; `beneath` is what it can do by itself.
    fn capabilities(&self, beneath: Capabilities) -> Capabilities;

    /// How far the device's zones are written, as far as that is known.
    fn zone_counts(&self) -> ZoneCounts;

    /// Takes an operation of the device. Either it goes to the device as it is ([`Runtime::pass_on`]), or it is answered later
    /// ([`Runtime::answer`]) and never within this call: whoever submits may hold what the answer's hearers need.
    fn begin(&self, rt: &Runtime, id: OpId, op: Op);
}

/// Which devices of a reactor have one.
#[derive(Default)]
pub(crate) struct Interposers {
    any: Cell<bool>,
    by_device: RefCell<Vec<Option<Rc<dyn Interposer>>>>,
}

impl Interposers {
    pub(crate) fn put(&self, dev: DeviceIx, interposer: Rc<dyn Interposer>) {
        let (mut all, at) = (self.by_device.borrow_mut(), usize::from(dev.0));
        if all.len() <= at {
            all.resize_with(at + 1, || None);
        }
        all[at] = Some(interposer);
        self.any.set(true);
    }

    /// Most reactors have none, and find that out by a look at a flag.
    #[inline]
    pub(crate) fn of(&self, dev: DeviceIx) -> Option<Rc<dyn Interposer>> {
        if !self.any.get() {
            return None;
        }
        self.by_device.borrow().get(usize::from(dev.0)).cloned().flatten()
    }
}
