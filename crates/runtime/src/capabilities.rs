//! What a device is and what it can do, as its driver says. It is asked, and never taken from what the device is called.

use std::fmt;

/// What sort of medium a device stores on, as far as anybody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DeviceClass {
    /// Flash, or something as indifferent to where it is read.
    Flash,
    /// A disk: it has an arm to move.
    Disk,
    /// Somewhere else, by way of a network.
    Remote,
    /// Memory of this machine, for benchmarks and tests.
    Memory,
    /// Nobody says.
    #[default]
    Unknown,
}

impl DeviceClass {
    /// One word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flash => "flash",
            Self::Disk => "disk",
            Self::Remote => "remote",
            Self::Memory => "memory",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for DeviceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The zones of a device that is to be written in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    /// Bytes from the start of one zone to that of the next.
    pub bytes: u64,
    /// Bytes of each sequential zone that can be written, from its start on; zoned flash often has less of them.
    pub capacity: u64,
    /// Zones at the start of the device that may be written anywhere; `None`: nobody says how many.
    pub conventional: Option<u32>,
    /// Zones that can be partly written at a time (*active*); the device refuses to begin one more. 0: as many as there are.
    pub active_limit: u32,
    /// Whether [`Extra::Append`](crate::Extra::Append), [`Extra::Reset`](crate::Extra::Reset),
    /// [`Extra::Finish`](crate::Extra::Finish) and [`Extra::Report`](crate::Extra::Report) are carried out. A driver may know of zones and have no way to them.
    pub commands: bool,
}

/// How a device whose zones are kept in order by somebody else is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resets {
    /// Bytes that a trim gives back together, from a multiple of that many on: a zone.
    pub unit: u64,
    /// The first byte behind what is kept in conventional zones, a multiple of the unit.
    pub first: u64,
    /// How many zones behind that can be partly written at a time before some of them are ended early; `None`: as many as there are.
    pub active: Option<u32>,
}

/// How far the zones of a device are written that somebody else keeps in order, as far as that is known without asking the device: a
/// zone is asked about when it is first read or written. Conventional zones, and those that hold superblocks and patches, do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ZoneCounts {
    /// Zones of which nothing is written.
    pub empty: u32,
    /// Zones that are written up to somewhere before their end.
    pub partly_written: u32,
    /// Zones that are written, or count as written, up to their end.
    pub full: u32,
    /// Zones that nobody has asked about since the device was opened.
    pub not_asked: u32,
}

/// See the module's text. The default is a device of which nothing is known but that it reads, writes and flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// What it stores on.
    pub class: DeviceClass,
    /// Whether [`Op::Trim`](crate::Op::Trim) gives space back; where false it is accepted and does nothing.
    pub trim: bool,
    /// Its zones, if it is to be written in order.
    pub zones: Option<Zones>,
    /// What is to be trimmed before it is written anew, on a device whose zones somebody else keeps in order
    /// ([`Interposer`](crate::Interposer)): writing anew without that costs much. `None`: nothing.
    pub resets: Option<Resets>,
    /// Whether it computes parity inside: [`Extra::Convert`](crate::Extra::Convert).
    pub convert: bool,
    /// Most bytes that can be stored beside each block of 4 KiB, by the same program operation; 0: none.
    pub oob_bytes: u16,
    /// Whether it was opened for reading only: it takes nothing.
    pub read_only: bool,
}

impl Capabilities {
    /// Whether blocks can be written anywhere, as often as one likes. Superblocks need that.
    pub fn writes_anywhere(&self) -> bool {
        self.zones.is_none()
    }
}
