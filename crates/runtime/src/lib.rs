//! The reactor's inside: a single-threaded executor, plain-data operations and the [`Driver`] they go through.
//!
//! Time and I/O enter a reactor only by its [`Driver`], so the same `async fn`s run on io_uring in production and on
//! modelled devices in virtual time. The rules that keep this true:
//!
//! * An operation is plain data ([`Op`]); it is submitted when it is *created*, not when it is first polled, so several
//!   can be started in a loop and awaited afterwards in any order, without a join combinator.
//! * An operation owns its buffers (by reference count) until it completes, so dropping a future never frees memory
//!   that a device may still write to.
//! * A driver never completes an operation inside [`Driver::submit`]; completions come out of [`Driver::park`].
//! * No lock, allocation or system call per I/O: buffers, operation slots and task slots are recycled.

mod buf;
mod capabilities;
mod claims;
#[cfg(feature = "conformance")]
pub mod conformance;
mod driver;
mod executor;
mod extra;
mod fault;
mod interposer;
mod kept;
mod mailbox;
mod memory;
mod op;
mod pages;
mod patience;
mod rounds;
mod slab;
mod sync;
mod task;

pub use buf::{Buf, BufPool, BufSlice};
pub use capabilities::{Capabilities, DeviceClass, Resets, ZoneCounts, Zones};
pub use claims::Claim;
pub use cygnus_types::Rng;
pub use driver::{Driver, Events, Halt};
pub use executor::{OpFuture, Runtime, Sleep};
pub use extra::{Conversion, Extra, ZoneInfo};
pub use fault::{IoError, IoErrorKind};
pub use interposer::Interposer;
pub use kept::{Keeper, KeptFile, KeptNumbers};
pub use mailbox::Message;
pub use memory::{MemoryPart, MemoryUse};
pub use op::{
    Completion, DeviceInfo, DeviceIo, DeviceIx, DeviceLoad, DeviceWatch, IoClass, ListenerId, Op, OpId, Outcome, Peer,
    SocketId,
};
pub use pages::{NoMemory, Pages};
pub use rounds::Rounds;
pub use sync::{Event, EventWait, OneshotReceiver, OneshotSender, Raced, either, oneshot, race};
