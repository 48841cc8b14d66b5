//! Collection in bursts: a die empties a whole victim at a time, and whoever wants something of it waits.
//!
//! A die whose free blocks are short collects until a block is erased, in the foreground: it senses, programs and erases for
//! the collector only, and reads and writes of the host wait for all of that. When the host has asked for nothing for a while,
//! dies collect in the background; a command that comes meanwhile waits for the victim that its die has begun.

use cygnus_types::Nanos;
use serde::{Deserialize, Serialize};

use crate::units;

/// Collection in bursts. Below [`Gc::reserve`](crate::Gc::reserve) a die collects in the foreground; an idle drive collects
/// in the background up to [`Gc::high`](crate::Gc::high).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Time without any command after which the drive collects in the background.
    #[serde(with = "units::time")]
    pub idle: Nanos,
    /// Whether a die that is short makes all others collect that are below [`Gc::low`](crate::Gc::low): firmware that keeps
    /// blocks of all dies together as one collects them together.
    pub together: bool,
}

/// Whether the host leaves the drive alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quiet {
    /// Commands so far.
    commands: u64,
    /// Whether there has been none for long.
    long: bool,
}

impl Quiet {
    /// Commands so far.
    pub(crate) fn commands(&self) -> u64 {
        self.commands
    }

    /// Whether the host has left it alone for long.
    pub(crate) fn is_long(&self) -> bool {
        self.long
    }

    /// The idle time is over since the command of that number; true if it was the newest.
    pub(crate) fn lasted(&mut self, commands: u64) -> bool {
        self.long = self.commands == commands;
        self.long
    }

    /// A command came.
    pub(crate) fn disturb(&mut self) {
        self.commands += 1;
        self.long = false;
    }
}
