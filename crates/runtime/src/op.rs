//! Operations as plain data: what a reactor may ask of the world, and how the world answers.

use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;

use cygnus_types::Nanos;

use crate::{BufSlice, Extra, IoError, ZoneInfo};

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
        /// Whether it will soon be invalid, as a backup copy is (ScalaAFA, section 5.5). That is a hint: files and block devices do not
        /// hear of it.
        transient: bool,
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
    /// A command that not every device has.
    Extra {
        /// Which device.
        dev: DeviceIx,
        /// What it is to do.
        what: Extra,
    },
    /// Open the device anew by its path, under the same number: after its path was lost, or it was taken out and put back.
    /// Succeeds when it is there, at least as large as it was, and nobody else has claimed it; else everything stays as it
    /// was. What is there may be another device with that name: whoever asked looks what it holds. Not while operations of
    /// the old opening may still change the device ([`Runtime::changes_in_flight`](crate::Runtime::changes_in_flight)):
    /// that could be after operations of the new one.
    Reopen {
        /// Which device.
        dev: DeviceIx,
    },
    /// Take the next connection of a listener; answers [`Outcome::Socket`].
    Accept {
        /// Which listener.
        listener: ListenerId,
    },
    /// Receive at least one byte into `buf`; answers [`Outcome::Bytes`], 0 when the peer has closed. After
    /// [`OpFuture::end_receive`](crate::OpFuture::end_receive) it may answer [`Outcome::Done`] instead: nothing has come.
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

impl Op {
    /// The device that it is for, if it is for one.
    pub fn device(&self) -> Option<DeviceIx> {
        match self {
            Self::Read { dev, .. } | Self::Write { dev, .. } | Self::Flush { dev } | Self::Trim { dev, .. } => {
                Some(*dev)
            }
            Self::Extra { dev, .. } | Self::Reopen { dev } => Some(*dev),
            Self::Accept { .. } | Self::Recv { .. } | Self::Send { .. } | Self::Close { .. } => None,
        }
    }
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
    /// For zones, or inside the device: neither read nor write.
    Extra,
    /// Open anew.
    Reopen,
}

impl IoClass {
    /// With its article, as in "no answer to a read".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Read => "a read",
            Self::Write => "a write",
            Self::Flush => "a flush",
            Self::Trim => "a trim",
            Self::Extra => "a command of its kind",
            Self::Reopen => "opening it",
        }
    }
}

/// An operation of a device as those see it who watch over the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceIo {
    /// Which device.
    pub dev: DeviceIx,
    /// What sort of operation.
    pub class: IoClass,
    /// Bytes read, written or trimmed.
    pub bytes: u64,
    /// What the device had to do before it when it came.
    pub ahead: DeviceLoad,
}

/// What a device has been given by a reactor and has not answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceLoad {
    /// Operations of all sorts.
    pub requests: u32,
    /// Bytes to be read by these.
    pub reading: u64,
    /// Bytes to be written by these.
    pub writing: u64,
}

impl DeviceLoad {
    /// One operation more.
    pub(crate) fn add(&mut self, io: &DeviceIo) {
        self.requests += 1;
        if let Some(bytes) = self.bytes_of(io.class) {
            *bytes += io.bytes;
        }
    }

    /// One less, which was added before.
    pub(crate) fn remove(&mut self, io: &DeviceIo) {
        self.requests -= 1;
        if let Some(bytes) = self.bytes_of(io.class) {
            *bytes -= io.bytes;
        }
    }

    fn bytes_of(&mut self, class: IoClass) -> Option<&mut u64> {
        match class {
            IoClass::Read => Some(&mut self.reading),
            IoClass::Write => Some(&mut self.writing),
            IoClass::Flush | IoClass::Trim | IoClass::Extra | IoClass::Reopen => None,
        }
    }
}

impl DeviceIo {
    pub(crate) fn of(op: &Op) -> Option<Self> {
        let (dev, class, bytes) = match op {
            Op::Read { dev, buf, .. } => (dev, IoClass::Read, buf.len() as u64),
            Op::Write { dev, buf, .. } => (dev, IoClass::Write, buf.len() as u64),
            Op::Flush { dev } => (dev, IoClass::Flush, 0),
            Op::Trim { dev, len, .. } => (dev, IoClass::Trim, *len),
            Op::Extra { dev, what } => match what {
                Extra::Append { buf, .. } | Extra::WriteOob { buf, .. } => (dev, IoClass::Write, buf.len() as u64),
                Extra::ReadOob { into, .. } => (dev, IoClass::Read, into.len() as u64),
                Extra::Reset { .. } | Extra::Finish { .. } | Extra::Report { .. } | Extra::Convert(_) => {
                    (dev, IoClass::Extra, 0)
                }
            },
            Op::Reopen { dev } => (dev, IoClass::Reopen, 0),
            Op::Accept { .. } | Op::Recv { .. } | Op::Send { .. } | Op::Close { .. } => return None,
        };
        Some(Self { dev: *dev, class, bytes, ahead: DeviceLoad::default() })
    }
}

/// Whoever wants to know how the devices of a reactor keep pace.
pub trait DeviceWatch {
    /// An operation has ended, `took` after it was submitted; whether anybody still waited for it or not. Whoever waits
    /// for it hears of its end after this. Time in which the reactor itself was kept from running is no part of it.
    fn ended(self: Rc<Self>, io: DeviceIo, took: Nanos, result: Result<(), IoError>);

    /// The device gave no answer to this operation for as long as [`Runtime::set_patience`](crate::Runtime::set_patience)
    /// says, `waited`. Whoever waited for any of its operations is told so.
    fn hung(&self, io: DeviceIo, waited: Nanos);

    /// The reactor was kept from running during `span`. No deadline of a device counts this time.
    fn stalled(&self, span: Nanos);
}

/// What an operation that succeeded brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing beyond the fact.
    Done,
    /// Number of bytes received.
    Bytes(u32),
    /// Where an append went, in bytes of the device.
    At(u64),
    /// How a zone stands.
    Zone(ZoneInfo),
    /// A freshly accepted connection, and who is at its other end.
    Socket(SocketId, Peer),
}

/// Who is at the other end of a connection, as far as the system tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// A host, by its address.
    Address(IpAddr),
    /// A user of this machine, by number.
    User(u32),
    /// Nobody knows.
    Unknown,
}

impl Peer {
    /// Those that count as one: an IPv6 host has a whole /64 of addresses to choose from, and an IPv4 address may come in
    /// the clothes of IPv6.
    pub fn household(self) -> Peer {
        match self {
            Peer::Address(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
                Some(address) => Peer::Address(IpAddr::V4(address)),
                None => {
                    let prefix = address.to_bits() & !u128::from(u64::MAX);
                    Peer::Address(IpAddr::V6(prefix.into()))
                }
            },
            other => other,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Address(address) => write!(f, "{address}"),
            Peer::User(uid) => write!(f, "user {uid}"),
            Peer::Unknown => f.write_str("an unknown peer"),
        }
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
