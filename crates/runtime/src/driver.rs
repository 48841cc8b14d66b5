//! The one door through which time and I/O enter a reactor.

use cygnus_types::{Nanos, ReactorId};

use crate::{Capabilities, Completion, DeviceIx, Message, Op, OpId};

/// What [`Driver::park`] brings back: completions of this reactor's operations and messages from other reactors.
#[derive(Default)]
pub struct Events {
    /// Operations that have ended, in the order in which they ended.
    pub done: Vec<Completion>,
    /// Messages from other reactors; in order per sender.
    pub messages: Vec<Message>,
    /// How long the driver waited as it was meant to. Whatever else passed since the last park ended, the reactor was busy or
    /// kept from running, and did not see what devices did.
    pub waited: Nanos,
}

impl Events {
    /// True when nothing happened.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.messages.is_empty()
    }
}

/// Why a reactor's loop ended before its main task did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// Nothing is in flight, no timer is set and yet a task waits: it would wait for ever.
    #[error("the event queue ran dry with tasks still waiting")]
    Stalled,
    /// The (simulated) power was cut.
    #[error("power was cut")]
    PowerCut,
}

/// Production (io_uring), virtual time, or a test double.
///
/// Contract, checked by the conformance suite: `submit` never completes inline; a driver holds an operation's buffers
/// until its completion has been handed out; a flush covers exactly the writes whose completions were handed out before
/// it was submitted (it may cover more); completions of different operations may come in any order.
pub trait Driver {
    /// Monotonic time. Cheap; the executor still caches it once per turn.
    fn now(&self) -> Nanos;

    /// What a device is and what it can do, as it is open now; of one that there is not, nothing. Cheap.
    fn capabilities(&self, dev: DeviceIx) -> Capabilities;

    /// From now on, once a device turns out to be a file that is shorter than it was, each read and write of it ends with
    /// [`IoErrorKind::CutShort`](crate::IoErrorKind::CutShort). Otherwise only reads behind the end do: what is written behind it makes
    /// the file longer, and what was cut off reads as zeros then.
    fn guard_length(&mut self, _dev: DeviceIx) {}

    /// Takes an operation. It may be queued until the next [`Driver::park`].
    fn submit(&mut self, id: OpId, op: Op);

    /// Asks for the end of a receive that nothing has come for: it completes with [`Outcome::Done`](crate::Outcome::Done). If
    /// something comes first, it brings that, as ever. Of other operations, and of one that has ended, nothing is changed.
    fn end_receive(&mut self, id: OpId);

    /// Sends a message to another reactor (or to this one). Never blocks, never fails: a reactor that is gone drops it.
    fn post(&mut self, to: ReactorId, message: Message);

    /// Hands queued operations to the world and waits for events: until something happened, or `until` has come
    /// (`None`: for ever; a time not after now: only look). May return without events.
    fn park(&mut self, until: Option<Nanos>, events: &mut Events) -> Result<(), Halt>;
}
