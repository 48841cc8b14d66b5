//! Operations as plain data: what a reactor may ask of the world, and how the world answers.

use cygnus_types::Nanos;

use crate::BufSlice;

/// Names an operation in flight: an index into the executor's slab of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u32);

/// A device as this reactor's driver numbers it, dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceIx(pub u16);

/// A connected socket as the driver numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

/// A listening socket as the driver numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub u32);

/// What a driver knows of a device it has opened.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// The number under which operations address it.
    pub ix: DeviceIx,
    /// Path or other human name, for messages.
    pub name: String,
    /// Capacity in bytes.
    pub size: u64,
    /// Smallest unit of I/O in bytes (512 or 4096); the engine only ever uses multiples of 4096.
    pub logical_block: u32,
    /// Whether [`Op::Trim`] gives space back; where false it is accepted and does nothing.
    pub can_trim: bool,
}

/// One request to the world. Offsets and lengths are in bytes and multiples of 4096 for devices.
#[derive(Debug)]
pub enum Op {
    /// Fill `buf` from the device at `offset`.
    Read {
        /// Which device.
        dev: DeviceIx,
        /// Where, in bytes.
        offset: u64,
        /// Destination; its length is the length of the read.
        buf: BufSlice,
    },
    /// Write all of `buf` at `offset`. Durable only after a later [`Op::Flush`] of the same device.
    Write {
        /// Which device.
        dev: DeviceIx,
        /// Where, in bytes.
        offset: u64,
        /// Source.
        buf: BufSlice,
    },
    /// Make every write completed before this flush was submitted durable.
    Flush {
        /// Which device.
        dev: DeviceIx,
    },
    /// Tell the device that a range holds nothing of value; its contents are undefined afterwards.
    Trim {
        /// Which device.
        dev: DeviceIx,
        /// Start in bytes.
        offset: u64,
        /// Length in bytes.
        len: u64,
    },
    /// Take the next connection of a listener; answers [`Outcome::Socket`].
    Accept {
        /// Which listener.
        listener: ListenerId,
    },
    /// Receive at least one byte into `buf`; answers [`Outcome::Bytes`], 0 when the peer has closed.
    Recv {
        /// Which socket.
        sock: SocketId,
        /// Destination; a short receive fills a prefix.
        buf: BufSlice,
    },
    /// Send all of `bufs`, in order; completes when every byte has been handed to the transport.
    Send {
        /// Which socket.
        sock: SocketId,
        /// Sources, sent back to back.
        bufs: Vec<BufSlice>,
    },
    /// Shut a socket down and release it; pending operations on it fail.
    Close {
        /// Which socket.
        sock: SocketId,
    },
}

/// What a device is asked to do, without the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoClass {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Flush.
    Flush,
    /// Trim.
    Trim,
}

/// An operation of a device as those see it who watch over the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceIo {
    /// Which device.
    pub dev: DeviceIx,
    /// What sort of operation.
    pub class: IoClass,
    /// Bytes read or written.
    pub bytes: u32,
}

impl DeviceIo {
    pub(crate) fn of(op: &Op) -> Option<Self> {
        let (dev, class, bytes) = match op {
            Op::Read { dev, buf, .. } => (dev, IoClass::Read, buf.len()),
            Op::Write { dev, buf, .. } => (dev, IoClass::Write, buf.len()),
            Op::Flush { dev } => (dev, IoClass::Flush, 0),
            Op::Trim { dev, .. } => (dev, IoClass::Trim, 0),
            Op::Accept { .. } | Op::Recv { .. } | Op::Send { .. } | Op::Close { .. } => return None,
        };
        Some(Self { dev: *dev, class, bytes: bytes as u32 })
    }
}

/// Whoever wants to know how the devices of a reactor keep pace.
pub trait DeviceWatch {
    /// An operation has ended, `took` after it was submitted; whether anybody still waited for it or not.
    fn ended(&self, io: DeviceIo, took: Nanos, ok: bool);

    /// The device gave no answer for as long as [`Runtime::set_patience`](crate::Runtime::set_patience) says. Whoever
    /// waited for it is told so.
    fn hung(&self, dev: DeviceIx);
}

/// What an operation that succeeded brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing beyond the fact.
    Done,
    /// Number of bytes received.
    Bytes(u32),
    /// A freshly accepted connection.
    Socket(SocketId),
}

/// The kinds of failure the engine tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoErrorKind {
    /// The medium could not deliver this range; other ranges may work.
    Medium,
    /// The device is gone or refuses everything.
    Gone,
    /// The device gave no answer for so long that nobody waits for it any more.
    Hung,
    /// The range lies outside the device or breaks its alignment: a bug of the caller.
    Range,
    /// The transport of a socket broke or was closed.
    Closed,
    /// Space ran out below us (a sparse file on a full file system).
    NoSpace,
}

/// A failed operation. `errno` is the operating system's number where there is one, else 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind:?} (errno {errno})")]
pub struct IoError {
    /// What sort of failure.
    pub kind: IoErrorKind,
    /// Operating system error number, 0 if none applies.
    pub errno: i32,
}

impl IoError {
    /// An error that no operating system call caused.
    pub fn new(kind: IoErrorKind) -> Self {
        Self { kind, errno: 0 }
    }

    /// Classifies an operating system error number.
    pub fn from_errno(errno: i32) -> Self {
        let kind = match errno {
            libc::ENODEV | libc::ENXIO | libc::ENOENT | libc::ESHUTDOWN => IoErrorKind::Gone,
            libc::EINVAL | libc::EFBIG => IoErrorKind::Range,
            libc::ENOSPC | libc::EDQUOT => IoErrorKind::NoSpace,
            libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN | libc::ECONNABORTED | libc::ETIMEDOUT => {
                IoErrorKind::Closed
            }
            _ => IoErrorKind::Medium,
        };
        Self { kind, errno }
    }
}

/// The world's answer to the operation `id`.
#[derive(Debug)]
pub struct Completion {
    /// Which operation.
    pub id: OpId,
    /// How it ended.
    pub result: Result<Outcome, IoError>,
}
