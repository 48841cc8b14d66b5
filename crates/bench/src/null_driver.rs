//! A driver that does nothing: devices that keep only their first bytes, and no kernel. What is left is the engine.

use std::time::Instant;

use cygnus_format::DATA_START;
use cygnus_runtime::{
    Capabilities, Completion, DeviceClass, DeviceInfo, DeviceIx, Driver, Events, Halt, Message, Op, OpId, Outcome,
};
use cygnus_types::{Nanos, ReactorId};

/// Bytes that each device keeps: the superblocks.
const KEPT: usize = DATA_START as usize;

pub(crate) struct NullDriver {
    epoch: Instant,
    kept: Vec<Vec<u8>>,
    queue: Vec<(OpId, Op)>,
    messages: Vec<Message>,
}

impl NullDriver {
    /// A driver of `devices` devices of `size` bytes, and their descriptions.
    pub(crate) fn new(devices: usize, size: u64) -> (Self, Vec<DeviceInfo>) {
        let info = |n| DeviceInfo { ix: DeviceIx(n as u16), name: format!("null{n}"), size, logical_block: 4096 };
        let kept = vec![vec![0; KEPT]; devices];
        let driver = Self { epoch: Instant::now(), kept, queue: Vec::new(), messages: Vec::new() };
        (driver, (0..devices).map(info).collect())
    }

    fn carry_out(&mut self, op: &Op) {
        match op {
            Op::Read { dev, offset, buf } => match self.kept(*dev, *offset, buf.len()) {
                Some(kept) => buf.copy_from(0, kept),
                None => buf.zero(0..buf.len()),
            },
            Op::Write { dev, offset, buf } => {
                if let Some(kept) = self.kept(*dev, *offset, buf.len()) {
                    kept.copy_from_slice(buf.bytes());
                }
            }
            _ => {}
        }
    }

    fn kept(&mut self, dev: DeviceIx, offset: u64, len: usize) -> Option<&mut [u8]> {
        self.kept[usize::from(dev.0)].get_mut(offset as usize..)?.get_mut(..len)
    }
}

impl Driver for NullDriver {
    fn now(&self) -> Nanos {
        Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    fn capabilities(&self, _: DeviceIx) -> Capabilities {
        Capabilities { class: DeviceClass::Memory, ..Capabilities::default() }
    }

    fn submit(&mut self, id: OpId, op: Op) {
        self.queue.push((id, op));
    }

    /// It has no sockets.
    fn end_receive(&mut self, _: OpId) {}

    fn post(&mut self, _: ReactorId, message: Message) {
        self.messages.push(message);
    }

    /// Whoever waits for a time spins until it has come.
    fn park(&mut self, until: Option<Nanos>, events: &mut Events) -> Result<(), Halt> {
        for (id, op) in std::mem::take(&mut self.queue) {
            self.carry_out(&op);
            events.done.push(Completion { id, result: Ok(Outcome::Done) });
        }
        events.messages.append(&mut self.messages);
        if events.is_empty() && until.is_none() { Err(Halt::Stalled) } else { Ok(()) }
    }
}
