//! What is known of a device's zones and patches, for all reactors that have it open.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use cygnus_runtime::ZoneCounts;
use cygnus_types::ReactorId;

use crate::active_set::Active;
use crate::logged::HeadLog;
use crate::patches::Patches;
use crate::shape::Shape;

/// Where a zone goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pointer {
    /// The device has to be asked.
    #[default]
    Unknown,
    /// It is conventional.
    Anywhere,
    /// At this block of the device.
    At(u64),
}

/// Something that one reactor does for all, once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Once {
    #[default]
    Not,
    UnderWay,
    Done,
}

#[derive(Debug, Default)]
pub(crate) struct Zone {
    pub(crate) pointer: Pointer,
    /// Reads under way.
    pub(crate) readers: u32,
    /// What it holds lies elsewhere for now, and nobody is to read it here.
    pub(crate) is_rewritten: bool,
    /// Who may change it, one after the other.
    queue: VecDeque<(u64, ReactorId)>,
    /// The first of these, if that one knows and has begun.
    holder: Option<u64>,
}

/// How somebody stands in the queue of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    First,
    /// Behind operations of the same reactor.
    BehindOwn,
    /// Behind one of another reactor, which cannot wake this one.
    BehindOthers,
}

#[derive(Debug)]
pub(crate) struct Table {
    zones: Vec<Zone>,
    next_turn: u64,
    pub(crate) patches: Patches,
    /// Whether the patches that the device has are known.
    pub(crate) loaded: Once,
    /// Whether the area for patches has a header.
    pub(crate) made: Once,
    /// The secret of the area that was made.
    pub(crate) secret: [u8; 16],
    /// Somebody rewrites a zone.
    pub(crate) swap_taken: bool,
    /// Counts how often the device was opened anew.
    pub(crate) opening: u64,
    /// What is known of the log that holds its head, if it has one; `None` too while somebody has it.
    pub(crate) log: Option<HeadLog>,
    /// The zones that are partly written, of a device that has a limit of these.
    pub(crate) active: Active,
    /// Whether these are known.
    pub(crate) counted: Once,
}

impl Table {
    pub(crate) fn zone(&mut self, zone: u32) -> &mut Zone {
        &mut self.zones[zone as usize]
    }

    /// Joins the queue of a zone.
    pub(crate) fn join(&mut self, zone: u32, reactor: ReactorId) -> u64 {
        let number = self.next_turn;
        self.next_turn += 1;
        self.zone(zone).queue.push_back((number, reactor));
        number
    }

    /// How somebody stands in the queue; whoever is told to be the first begins.
    pub(crate) fn standing(&mut self, zone: u32, number: u64) -> Standing {
        let Zone { queue, holder, .. } = self.zone(zone);
        let place = queue.iter().position(|&(of, _)| of == number).expect("it leaves only by itself");
        let own = queue[place].1;
        match queue.iter().take(place).any(|&(_, reactor)| reactor != own) {
            _ if place == 0 => {
                *holder = Some(number);
                Standing::First
            }
            true => Standing::BehindOthers,
            false => Standing::BehindOwn,
        }
    }

    /// Whether somebody changes a zone.
    pub(crate) fn is_held(&mut self, zone: u32) -> bool {
        self.zone(zone).holder.is_some()
    }

    /// Goes before all who wait for a zone that nobody changes.
    pub(crate) fn join_first(&mut self, zone: u32, reactor: ReactorId) -> u64 {
        let number = self.next_turn;
        self.next_turn += 1;
        let Zone { queue, holder, .. } = self.zone(zone);
        assert!(holder.is_none(), "somebody changes the zone");
        queue.push_front((number, reactor));
        *holder = Some(number);
        number
    }

    pub(crate) fn leave(&mut self, zone: u32, number: u64) {
        let Zone { queue, holder, .. } = self.zone(zone);
        queue.retain(|&(of, _)| of != number);
        holder.take_if(|holder| *holder == number);
    }
}

/// A zoned device: what all reactors that have it open know of it.
#[derive(Debug)]
pub struct Zoned {
    pub(crate) shape: Shape,
    table: Mutex<Table>,
}

impl Zoned {
    /// A device of which nothing is known but its shape.
    pub fn new(shape: Shape) -> Self {
        let table = Table {
            zones: (0..shape.zones()).map(|_| Zone::default()).collect(),
            next_turn: 0,
            patches: Patches::new(room(&shape)),
            loaded: Once::Not,
            made: Once::Not,
            secret: [0; 16],
            swap_taken: false,
            opening: 0,
            log: None,
            active: Active::default(),
            counted: Once::Not,
        };
        Self { shape, table: Mutex::new(table) }
    }

    /// Where things lie on it.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no holder panics")
    }

    /// How far the zones for segments are written, as far as is known.
    pub(crate) fn counts(&self) -> ZoneCounts {
        let mut counts = ZoneCounts::default();
        let mut table = self.table();
        let first = self.shape.lead().max(self.shape.sequential);
        for zone in self.shape.zone_of(first)..self.shape.zones() as u32 {
            let blocks = self.shape.blocks_of(zone);
            match table.zone(zone).pointer {
                Pointer::Unknown => counts.not_asked += 1,
                Pointer::At(at) if at >= blocks.end => counts.full += 1,
                Pointer::At(at) if at > blocks.start => counts.partly_written += 1,
                Pointer::At(_) => counts.empty += 1,
                Pointer::Anywhere => {}
            }
        }
        counts
    }

    /// The device was opened anew, and may have lost what was not durable: it is asked again.
    pub(crate) fn forget(&self) {
        let mut table = self.table();
        for zone in &mut table.zones {
            zone.pointer = Pointer::Unknown;
        }
        table.patches = Patches::new(room(&self.shape));
        (table.loaded, table.made, table.counted) = (Once::Not, Once::Not, Once::Not);
        table.log = None;
        table.opening += 1;
    }
}

/// The part of the area behind its headers.
fn room(shape: &Shape) -> Range<u64> {
    shape.patches.start + crate::patch::FIXED..shape.patches.end
}
