//! A reactor unmaps a block while home ends a checkpoint: afterwards nothing is counted that keeps room from volumes.

use std::sync::Arc;

use loom::thread;

use crate::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::meanwhile::Meanwhile;
use crate::plant::{Plant, try_all};

/// The count and what tells whether to count: in one word, as it is, or in two.
enum Room {
    One(Meanwhile),
    Two { is_map_written: AtomicBool, unmapped: AtomicU64 },
}

impl Room {
    fn new(plant: Plant) -> Self {
        match plant {
            Plant::Swapped => Self::Two { is_map_written: AtomicBool::new(false), unmapped: AtomicU64::new(0) },
            Plant::Nothing | Plant::Relaxed => Self::One(Meanwhile::default()),
        }
    }

    fn begin(&self) {
        match self {
            Self::One(meanwhile) => meanwhile.begin(),
            Self::Two { is_map_written, .. } => is_map_written.store(true, Ordering::Release),
        }
    }

    fn end(&self) {
        match self {
            Self::One(meanwhile) => meanwhile.end(),
            Self::Two { is_map_written, unmapped } => {
                is_map_written.swap(false, Ordering::AcqRel);
                unmapped.swap(0, Ordering::AcqRel);
            }
        }
    }

    fn one_is_unmapped(&self) {
        match self {
            Self::One(meanwhile) => meanwhile.one_is_unmapped(),
            Self::Two { is_map_written, unmapped } => {
                if is_map_written.load(Ordering::Acquire) {
                    unmapped.fetch_add(1, Ordering::AcqRel);
                }
            }
        }
    }

    fn unmapped(&self) -> u64 {
        match self {
            Self::One(meanwhile) => meanwhile.unmapped(),
            Self::Two { unmapped, .. } => unmapped.load(Ordering::Acquire),
        }
    }
}

/// Runs the model. Swapped: the count is in a word apart from what tells whether a checkpoint writes the maps.
pub fn run(plant: Plant) {
    try_all(plant, move || {
        let room = Arc::new(Room::new(plant));
        room.begin();
        let other = {
            let room = room.clone();
            thread::spawn(move || (0..2).for_each(|_| room.one_is_unmapped()))
        };
        let during = room.unmapped();
        assert!(during <= 2);
        room.end();
        other.join().expect("it does not panic");
        assert_eq!(room.unmapped(), 0, "blocks of a checkpoint that has ended keep room from volumes");
    });
}
