//! A device in its place.

use std::cell::{Cell, RefCell};

use cygnus_engine::Trouble;
use cygnus_format::MemberState;
use cygnus_runtime::DeviceIx;

use crate::counters::DeviceTraffic;

/// A place for a device, and what is known of the device that has it.
pub(crate) struct Device {
    pub ix: Cell<DeviceIx>,
    /// Counts the devices that have had this place, so that what an earlier one fails to do is not blamed on a later one.
    pub life: Cell<u32>,
    pub failed: Cell<bool>,
    /// Path, for people.
    pub name: RefCell<String>,
    /// What is the matter with it; kept when it leaves service because of that.
    pub trouble: Cell<Option<Trouble>>,
    /// The same for people.
    pub why: RefCell<String>,
    /// The array cannot do without it and waits for it.
    pub awaited: Cell<bool>,
    /// It could leave, since others are back, unless it is back too when it is asked next.
    pub last_chance: Cell<bool>,
    /// How many operations wait to be given to it again.
    pub owed: Cell<u32>,
    /// Whether it has what it has taken since its last flush.
    pub cache: Cell<Cache>,
    /// What it became when it left service in this session.
    pub left_as: Cell<Option<MemberState>>,
    /// All that it lacks is marked in the write-intent log.
    pub in_log: Cell<bool>,
    /// Of the last superblock that it has taken.
    pub generation: Cell<u64>,
    /// Stripes below this one can be read: all of them, unless it is being filled.
    pub whole_below: Cell<u64>,
    /// Written to since its last flush.
    pub dirty: Cell<bool>,
    /// Reads on their way, by which mirrors share the work.
    pub reading: Cell<u32>,
    pub traffic: Cell<DeviceTraffic>,
}

impl Device {
    pub(crate) fn new(ix: DeviceIx) -> Self {
        Self {
            ix: Cell::new(ix),
            life: Cell::new(0),
            failed: Cell::new(false),
            name: RefCell::default(),
            trouble: Cell::new(None),
            why: RefCell::default(),
            awaited: Cell::new(false),
            last_chance: Cell::new(false),
            owed: Cell::new(0),
            cache: Cell::default(),
            left_as: Cell::new(None),
            in_log: Cell::new(false),
            generation: Cell::new(0),
            whole_below: Cell::new(u64::MAX),
            dirty: Cell::new(false),
            reading: Cell::new(0),
            traffic: Cell::default(),
        }
    }

    /// It has taken something that its next flush covers.
    pub(crate) fn note_write(&self) {
        self.dirty.set(true);
    }
}

/// What a device has of what it took since its last flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cache {
    /// All of it.
    #[default]
    Sound,
    /// Some of it may be lost.
    InDoubt,
    /// The same, and so many others of its group were in doubt at once that nobody else has it for sure.
    NobodyHas,
}

/// A device as it was when an operation was given to it.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub device: usize,
    pub life: u32,
}
