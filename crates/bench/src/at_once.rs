//! A driver without a kernel: devices that carry out each operation at once, in this thread.

use cygnus_runtime::{
    Capabilities, Completion, DeviceClass, DeviceIx, Driver, Events, Halt, Message, Op, OpId, Outcome,
};
use cygnus_types::{Nanos, ReactorId};

/// What the devices hold, and by which clock they run.
pub trait Contents {
    /// The time.
    fn now(&self) -> Nanos;

    /// Carries out an operation; what is neither a read nor a write changes nothing.
    fn carry_out(&mut self, op: &Op);
}

/// See the module's text.
pub struct AtOnce<C> {
    contents: C,
    queue: Vec<(OpId, Op)>,
    messages: Vec<Message>,
}

impl<C> AtOnce<C> {
    /// Devices that hold this.
    pub fn new(contents: C) -> Self {
        Self { contents, queue: Vec::new(), messages: Vec::new() }
    }
}

impl<C: Contents> Driver for AtOnce<C> {
    fn now(&self) -> Nanos {
        self.contents.now()
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
            self.contents.carry_out(&op);
            events.done.push(Completion { id, result: Ok(Outcome::Done) });
        }
        events.messages.append(&mut self.messages);
        if events.is_empty() && until.is_none() { Err(Halt::Stalled) } else { Ok(()) }
    }
}
