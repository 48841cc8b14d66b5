//! What dies and channels are up to: one operation or transfer at a time each.

use std::collections::VecDeque;

use cygnus_types::Nanos;

use crate::collector::Collector;
use crate::ftl::NO_BLOCK;

/// A sense for a host read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) transit: u32,
    pub(crate) pages: u16,
    pub(crate) slc: bool,
}

/// What a die is doing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Work {
    #[default]
    Idle,
    /// Sensing for the host.
    Sense(Piece),
    /// Sensing for the collector, then waiting for the channel.
    GcSense {
        pages: u32,
    },
    GcOut,
    /// Receiving a unit, then programming it.
    ProgramIn {
        block: u32,
    },
    Program {
        block: u32,
    },
    Erase {
        block: u32,
    },
}

/// A die: its work, what waits for it, and its open blocks.
#[derive(Clone, Debug)]
pub(crate) struct Die {
    pub(crate) work: Work,
    /// Tells the event of the work from that of one suspended meanwhile.
    pub(crate) ticket: u32,
    pub(crate) ends: Nanos,
    pub(crate) reads: VecDeque<Piece>,
    pub(crate) suspended: Option<(Work, Nanos)>,
    /// How often the work, or what is suspended, has been.
    pub(crate) suspensions: u32,
    pub(crate) is_listed_idle: bool,
    /// Cache slots in the program under way.
    pub(crate) slots: Vec<u32>,
    /// Open blocks: one per stream of host data, then one for relocated data.
    pub(crate) open: Vec<u32>,
    pub(crate) collector: Collector,
    /// Whether it empties a victim and does nothing else until that is erased.
    pub(crate) stalled: bool,
    /// Whether another die's shortage made it collect too.
    pub(crate) called: bool,
}

impl Die {
    /// An idle die with room for `open_blocks` open blocks.
    pub(crate) fn new(open_blocks: u32) -> Self {
        Self { open: vec![NO_BLOCK; open_blocks as usize], ..Self::default() }
    }
}

impl Default for Die {
    fn default() -> Self {
        Self {
            work: Work::Idle,
            ticket: 0,
            ends: Nanos::ZERO,
            reads: VecDeque::new(),
            suspended: None,
            suspensions: 0,
            // A new drive lists all its dies.
            is_listed_idle: true,
            slots: Vec::new(),
            open: Vec::new(),
            collector: Collector::default(),
            stalled: false,
            called: false,
        }
    }
}

/// A transfer over a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transfer {
    Read(Piece),
    Gc { die: u32, pages: u32 },
    Program { die: u32, pages: u32 },
}

/// Transfers waiting; the first is under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    pub(crate) queue: VecDeque<Transfer>,
}
