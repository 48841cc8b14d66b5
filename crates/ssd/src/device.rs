//! What all modelled devices have in common: commands, completions, errors, zones, and how a device is driven.

use cygnus_types::Nanos;

use crate::counters::Counters;

/// What the host says about written data besides the data. A device that knows nothing of a hint ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// Placement handle, as NVMe's flexible data placement has them: data of one handle shares erase blocks with no
    /// other's. Handles that the drive does not have are those it has, modulo their number.
    pub handle: u16,
    /// Backup copies that will soon be invalid (ScalaAFA section 5.5), better kept in an SLC buffer than folded. A drive heeds it
    /// whose buffer's eviction is [`Eviction::SpareTransient`](crate::Eviction::SpareTransient); for all others it changes nothing.
    pub transient: bool,
    /// Out-of-band bytes that come with each block and go into its page by the same program operation (ScalaAFA section
    /// 5.4); at most [`Features::oob_bytes`]. They are part of the block's contents: whoever keeps those keeps these with
    /// the same version of the data, and a power cut loses both or none.
    pub oob: u16,
}

/// What the host asks for. Addresses and lengths in blocks of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read.
    Read {
        /// First block.
        lba: u64,
        /// Blocks, at least 1.
        blocks: u32,
    },
    /// Write; complete when in the write cache. In a sequential zone it must begin at the write pointer.
    Write {
        /// First block.
        lba: u64,
        /// Blocks, at least 1.
        blocks: u32,
        /// Complete only when durable (and everything cached before it).
        fua: bool,
        /// About the data.
        hint: Hint,
    },
    /// The host no longer needs these blocks.
    Trim {
        /// First block.
        lba: u64,
        /// Blocks, at least 1.
        blocks: u32,
    },
    /// Make everything durable that completed before.
    Flush,
    /// Write at a sequential zone's write pointer, wherever that is by then; [`Done::appended`] tells.
    Append {
        /// The zone.
        zone: u32,
        /// Blocks, at least 1.
        blocks: u32,
    },
    /// Forget a zone's content and set its write pointer to its start.
    ResetZone {
        /// The zone.
        zone: u32,
    },
    /// Make a zone full where it stands, so that it no longer counts as open.
    FinishZone {
        /// The zone.
        zone: u32,
    },
    /// Report all zones; the answer is [`Device::zone`] at completion.
    ReportZones,
    /// Vendor command: the out-of-band bytes of blocks, without their data, as a host reads them that lost its maps.
    /// Costs the senses of a read, and hardly any transfer.
    ReadOob {
        /// First block.
        lba: u64,
        /// Blocks, at least 1.
        blocks: u32,
    },
    /// Vendor command of ScalaAFA (section 4.2): read `chunks` neighbouring chunks, write their parity, forget the chunks.
    /// The parity is of data and out-of-band bytes alike, and durable at completion; cut short, the command leaves the
    /// chunks as they were.
    Convert(Convert),
}

impl Command {
    /// A plain write.
    pub fn write(lba: u64, blocks: u32) -> Command {
        Command::Write { lba, blocks, fua: false, hint: Hint::default() }
    }
}

/// The operands of [`Command::Convert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convert {
    /// First block of the vertical chunk group: `chunks * chunk` blocks.
    pub source: u64,
    /// First block of the parity, `chunk` blocks.
    pub destination: u64,
    /// Blocks per chunk.
    pub chunk: u32,
    /// Chunks to combine: k.
    pub chunks: u32,
    /// Row of the encoding matrix. The model has no payload; the caller computes the parity by it.
    pub parity_row: u8,
    /// Whether the chunks stay as they are. Else they are invalid afterwards.
    pub keeps: bool,
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The command's id, as submitted.
    pub id: u64,
    /// When.
    pub at: Nanos,
    /// When it had been submitted.
    pub submitted: Nanos,
    /// Whether it was carried out. A failed command had no effect.
    pub result: Result<(), DeviceError>,
    /// Where an append went.
    pub appended: Option<u64>,
}

/// Why a device refused a command. Which device it was, the caller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The range is empty or ends beyond the device.
    #[error("blocks {lba}+{blocks} are not within the device's {capacity}; ask for blocks that exist")]
    OutOfRange {
        /// First block asked for.
        lba: u64,
        /// Blocks asked for.
        blocks: u64,
        /// Blocks the device has.
        capacity: u64,
    },
    /// More out-of-band bytes than a page has room for.
    #[error("{bytes} out-of-band bytes per block do not fit, the device takes {limit}; send fewer")]
    OobTooLong {
        /// As asked for.
        bytes: u16,
        /// What it takes.
        limit: u16,
    },
    /// A conversion that would overwrite what it reads.
    #[error("the chunks at block {from} and their parity at block {to} overlap; choose another place")]
    Overlap {
        /// First block of the chunks.
        from: u64,
        /// First block of the parity.
        to: u64,
    },
    /// A conversion with more operands than the XOR engine's memory holds.
    #[error("a conversion of {blocks} blocks with its result exceeds the XOR buffer of {limit}; use smaller chunks")]
    NoRoomToConvert {
        /// Blocks of operands and result.
        blocks: u64,
        /// Blocks that the buffer holds.
        limit: u64,
    },
    /// The device has no such command.
    #[error("the device has no command \"{command}\"; look at its features first")]
    Unsupported {
        /// The command.
        command: &'static str,
    },
    /// There is no such zone.
    #[error("zone {zone} does not exist, the device has {zones}; ask for a report of the zones")]
    NoSuchZone {
        /// As asked for.
        zone: u32,
        /// How many there are.
        zones: u32,
    },
    /// A write to a sequential zone that is not at its write pointer.
    #[error("write at block {lba} of zone {zone}, whose write pointer is {pointer}; write there or reset the zone")]
    NotAtWritePointer {
        /// The zone.
        zone: u32,
        /// Where the write would have begun.
        lba: u64,
        /// Where it must.
        pointer: u64,
    },
    /// No room left in the zone.
    #[error("{blocks} blocks do not fit into zone {zone}, which has {left} left; go on in another zone")]
    ZoneFull {
        /// The zone.
        zone: u32,
        /// Blocks to write.
        blocks: u32,
        /// Room left.
        left: u64,
    },
    /// One more zone would be open than the device can have open.
    #[error("zone {zone} would be one too many open, the device has {limit} at a time; finish another first")]
    TooManyOpen {
        /// The zone.
        zone: u32,
        /// How many can be.
        limit: u32,
    },
    /// A command for sequential zones met a conventional one.
    #[error("zone {zone} is conventional: it has no write pointer; use plain reads and writes")]
    Conventional {
        /// The zone.
        zone: u32,
    },
}

/// How a zone stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneState {
    /// No write pointer; random writes are allowed.
    Conventional,
    /// Nothing written since the last reset.
    Empty,
    /// Partly written.
    Open,
    /// Written to its end, or finished.
    Full,
}

/// A zone of a host-managed device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// First block.
    pub start: u64,
    /// Blocks it spans.
    pub blocks: u64,
    /// Blocks that can be written; at most `blocks`.
    pub capacity: u64,
    /// The next block to be written (of no meaning in a conventional zone).
    pub pointer: u64,
    /// How it stands.
    pub state: ZoneState,
}

/// What a device can do besides reading, writing, trimming and flushing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Zones; 0 if it has none.
    pub zones: u32,
    /// Sequential zones that can be open at a time; 0 for as many as there are.
    pub open_zones: u32,
    /// Placement handles; 1 if it does not tell data apart.
    pub handles: u16,
    /// Whether there is a [`Command::Convert`].
    pub convert: bool,
    /// Out-of-band bytes that the host can write with each 4 KiB block in the same program operation.
    pub oob_bytes: u32,
    /// Whether a completed write survives a power cut without a flush.
    pub protected: bool,
}

/// How long a device has been used before the run begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// One sequential pass over the first share of the device.
    Sequential {
        /// The share, from 0 to 1.
        share: f64,
    },
    /// Uniformly random writes over the first share of the device, for long.
    Random {
        /// The share, from 0 to 1.
        share: f64,
        /// Of the random choices.
        seed: u64,
    },
}

/// A device in virtual time. The caller's clock drives it: commands in by [`Device::submit`], time by [`Device::advance`].
pub trait Device {
    /// Hands over a command at time `now`, which must not lie before the last [`Device::advance`]. `id` comes back with
    /// the completion, which never happens within this call.
    fn submit(&mut self, now: Nanos, id: u64, command: Command);

    /// When something will happen next; `None` if nothing will without a new command.
    fn next_event(&self) -> Option<Nanos>;

    /// Lets everything due up to and including `now` happen and adds the completions, in order, to `done`.
    fn advance(&mut self, now: Nanos, done: &mut Vec<Done>);

    /// The latest time it has been told of.
    fn now(&self) -> Nanos;

    /// Capacity in blocks of 4 KiB.
    fn blocks(&self) -> u64;

    /// What it can do.
    fn features(&self) -> Features;

    /// What it has counted since [`Device::reset_counters`].
    fn counters(&self) -> &Counters;

    /// Starts counting anew. Wear is not reset.
    fn reset_counters(&mut self);

    /// Commands submitted and not completed.
    fn outstanding(&self) -> u32;

    /// Puts a new device into a used state at once: no simulated time passes, nothing is counted. Host-managed devices
    /// ignore it: what is in their zones is the host's doing.
    fn precondition(&mut self, how: Precondition);

    /// Power fails: outstanding commands vanish without completion, and unprotected caches are lost.
    ///
    /// Returns the blocks, ascending, whose newest data submitted is not on the device. Every other block holds the
    /// newest data submitted; of those returned the device has an older version, which one among those since the last
    /// flush is for the caller to choose. Trims that completed have happened.
    fn power_cut(&mut self) -> Vec<u64>;

    /// A zone of a host-managed device; `None` beyond the last one, or if there are none.
    fn zone(&self, zone: u32) -> Option<Zone>;

    /// Events so far: the simulator's own work.
    fn events(&self) -> u64;

    /// Checks every invariant of the device's state; panics where one is broken. Slow: for tests.
    fn check(&self);
}
