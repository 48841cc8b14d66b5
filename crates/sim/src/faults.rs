//! Damage that happens by itself, and the names of all faults.

use std::rc::Rc;

/// Seeded faults of one device. All zero or `None` by default: a perfect device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// Of a million blocks read, how many turn out unreadable (and stay so until written again).
    pub unreadable_per_million: u32,
    /// Of a million blocks written, how many are stored with one bit flipped, silently.
    pub flipped_per_million: u32,
    /// Of a million writes, how many are acknowledged and store nothing.
    pub lost_per_million: u32,
    /// Of a million writes of several blocks, how many are acknowledged and store only some of them.
    pub torn_per_million: u32,
    /// Of a million writes, how many go to another place.
    pub misdirected_per_million: u32,
    /// Of a million writes, how many fail with `Medium`; each of their blocks may have been stored.
    pub failed_per_million: u32,
    /// The device dies when it has taken this many operations.
    pub dies_after: Option<u64>,
}

/// The faults of the model, as they are counted when an operation meets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The power goes.
    PowerCut,
    /// A read finds an unreadable block.
    Unreadable,
    /// A read delivers a block with a flipped bit.
    BitFlip,
    /// A read delivers what was there before a write that was lost.
    LostWrite,
    /// A read delivers what was there before a write of which this part was not stored.
    TornWrite,
    /// A read delivers a block that belongs elsewhere, or misses one that went elsewhere.
    MisdirectedWrite,
    /// A read delivers a block of a device that came back with old contents.
    StaleContent,
    /// A write fails on a device that lives.
    WriteError,
    /// A write fails because the backing file cannot grow.
    NoSpace,
    /// An operation finds the device dead.
    Death,
    /// An operation finds the device there and is refused.
    Refusal,
    /// An operation takes many times as long as it should.
    Slow,
    /// An operation is due and does not complete.
    Hang,
    /// A trim leaves garbage behind.
    TrimGarbage,
}

impl FaultKind {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 14] = [
        Self::PowerCut,
        Self::Unreadable,
        Self::BitFlip,
        Self::LostWrite,
        Self::TornWrite,
        Self::MisdirectedWrite,
        Self::StaleContent,
        Self::WriteError,
        Self::NoSpace,
        Self::Death,
        Self::Refusal,
        Self::Slow,
        Self::Hang,
        Self::TrimGarbage,
    ];

    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PowerCut => "power cut",
            Self::Unreadable => "unreadable",
            Self::BitFlip => "bit flip",
            Self::LostWrite => "lost write",
            Self::TornWrite => "torn write",
            Self::MisdirectedWrite => "misdirected",
            Self::StaleContent => "stale content",
            Self::WriteError => "write error",
            Self::NoSpace => "no space",
            Self::Death => "death",
            Self::Refusal => "refusal",
            Self::Slow => "slow",
            Self::Hang => "hang",
            Self::TrimGarbage => "trim garbage",
        }
    }
}

/// Who is told of faults; see [`crate::World::watch_faults`].
pub(crate) type Watcher = Rc<dyn Fn(FaultKind)>;
