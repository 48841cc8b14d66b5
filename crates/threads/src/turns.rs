//! Two writers of one block and the cleaner, which moves it: the map must end with the write that recovery will take for
//! the newest, and a reader must find at any place that the map shows what was put there.

use std::sync::Arc;

use cygnus_types::{Lba, VolumeId};
use loom::cell::UnsafeCell;
use loom::thread;

use crate::atomic::{AtomicU64, Ordering};
use crate::order::WriteOrder;
use crate::plant::{Plant, try_all};

const BLOCK: (VolumeId, Lba) = (VolumeId(1), Lba(0));

/// A map entry is the number of a place, from 1 on; 0: nothing.
struct Array {
    order: WriteOrder,
    entry: AtomicU64,
    /// Who wrote what lies there.
    places: [UnsafeCell<u64>; 4],
}

// SAFETY: loom fails a model in which a place is written while another thread is at it.
unsafe impl Sync for Array {}

impl Array {
    fn put(&self, place: u64, writer: u64) {
        // SAFETY: each place is one thread's to write, and loom checks that.
        self.places[place as usize].with_mut(|data| unsafe { *data = writer });
    }

    fn get(&self, place: u64) -> u64 {
        // SAFETY: loom checks that nobody writes meanwhile.
        self.places[place as usize].with(|data| unsafe { *data })
    }

    /// A client's write; returns its sequence.
    fn write(&self, place: u64, plant: Plant) -> u64 {
        self.put(place, place);
        if plant == Plant::Swapped {
            // The sequence is taken and the map changed later, outside the turn.
            let seq = self.order.enter(BLOCK.0, BLOCK.1).seq();
            self.entry.swap(place, Ordering::AcqRel);
            return seq;
        }
        let turn = self.order.enter(BLOCK.0, BLOCK.1);
        self.entry.swap(place, Ordering::AcqRel);
        turn.seq()
    }

    /// The cleaner's move of whatever is mapped.
    fn relocate(&self, place: u64, plant: Plant) {
        let from = self.entry.load(Ordering::Acquire);
        self.put(place, self.get(from));
        let _turn = self.order.enter(BLOCK.0, BLOCK.1);
        match plant {
            Plant::Swapped => drop(self.entry.swap(place, Ordering::AcqRel)),
            _ => drop(self.entry.compare_exchange(from, place, Ordering::AcqRel, Ordering::Acquire)),
        }
    }
}

fn array() -> Arc<Array> {
    let places = std::array::from_fn(|_| UnsafeCell::new(0));
    Arc::new(Array { order: WriteOrder::new(1), entry: AtomicU64::new(0), places })
}

/// Two writers. Swapped: the map is changed after the turn in which the sequence was taken.
pub fn writers(plant: Plant) {
    try_all(plant, move || {
        let array = array();
        let second = {
            let array = array.clone();
            thread::spawn(move || array.write(2, plant))
        };
        let first_seq = array.write(1, plant);
        let seen = array.entry.load(Ordering::Acquire);
        assert_eq!(array.get(seen), seen, "a reader finds what a writer put there");
        let second_seq = second.join().expect("it does not panic");
        assert_ne!(first_seq, second_seq);
        let newest = if first_seq > second_seq { 1 } else { 2 };
        assert_eq!(array.entry.load(Ordering::Acquire), newest, "the map shows the write with the highest sequence");
    });
}

/// A writer that overwrites a block, and the cleaner that moves it. Swapped: the cleaner does not look whether the block
/// is still what it moves.
pub fn cleaner(plant: Plant) {
    try_all(plant, move || {
        let array = array();
        array.put(1, 1);
        array.entry.swap(1, Ordering::AcqRel);
        let mover = {
            let array = array.clone();
            thread::spawn(move || array.relocate(3, plant))
        };
        let reader = {
            let array = array.clone();
            thread::spawn(move || {
                let seen = array.entry.load(Ordering::Acquire);
                assert!([1, 2].contains(&array.get(seen)), "a reader finds a block that was written");
            })
        };
        array.write(2, Plant::Nothing);
        mover.join().expect("it does not panic");
        reader.join().expect("it does not panic");
        let current = array.get(array.entry.load(Ordering::Acquire));
        assert_eq!(current, 2, "a move never brings back what was overwritten");
    });
}
