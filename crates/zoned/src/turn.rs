//! Turns: what changes a zone goes one after the other, in the order in which it was submitted.

use std::cell::Cell;

use cygnus_runtime::{Runtime, either};
use cygnus_types::Nanos;

use crate::ground::Ground;
use crate::table::{Pointer, Standing};

/// How often somebody who waits for another reactor looks whether that is done. Two reactors rarely write to one zone.
pub(crate) const POLL: Nanos = Nanos::micros(100);

/// A place in the queue of a zone, until it is dropped.
pub(crate) struct Turn {
    device: Ground,
    pub(crate) zone: u32,
    number: u64,
    /// What is being done may have come to any part of it.
    is_open: Cell<bool>,
}

impl Turn {
    /// Joins the queue of a zone, now.
    pub(crate) fn join(device: &Ground, rt: &Runtime, zone: u32) -> Self {
        let number = device.zoned().table().join(zone, rt.id());
        Self::joined(device, zone, number)
    }

    /// A place in the queue of a zone that was taken already.
    pub(crate) fn joined(device: &Ground, zone: u32, number: u64) -> Self {
        Self { device: device.clone(), zone, number, is_open: Cell::new(false) }
    }

    /// Waits for its turn. Until it is [`Turn::close`]d the zone counts as half changed.
    pub(crate) async fn come(&self, rt: &Runtime) {
        loop {
            let changed = self.device.changed().wait();
            let standing = self.device.zoned().table().standing(self.zone, self.number);
            match standing {
                Standing::First => break,
                Standing::BehindOwn => changed.await,
                Standing::BehindOthers => either(changed, rt.sleep(POLL)).await,
            }
        }
        self.is_open.set(true);
    }

    /// The zone's pointer is what the table says.
    pub(crate) fn close(self) {
        self.is_open.set(false);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut table = self.device.zoned().table();
        if self.is_open.get() {
            table.zone(self.zone).pointer = Pointer::Unknown;
        }
        table.leave(self.zone, self.number);
        drop(table);
        self.device.changed().notify();
    }
}
