//! A reactor seals segments that are marked as changed already, while home takes the marks and looks at what is marked: when
//! all is done, home knows the state of each. A segment sealed unseen would never be a victim.

use std::sync::Arc;

use loom::thread;

use crate::changed::Changed;
use crate::plant::{Plant, try_all};
use crate::residence::{Residence, SegState};

const SEGMENTS: usize = 2;

struct Array {
    segments: [Residence; SEGMENTS],
    changed: Changed,
}

impl Array {
    fn seal(&self, segment: usize, plant: Plant) {
        if plant == Plant::Swapped {
            self.changed.mark(segment as u32);
        }
        self.segments[segment].set_state(SegState::Sealed);
        if plant != Plant::Swapped {
            self.changed.mark(segment as u32);
        }
    }

    /// What home does before it chooses victims.
    fn look(&self, known: &mut [SegState; SEGMENTS]) {
        self.changed.take(|segment| known[segment as usize] = self.segments[segment as usize].state());
    }
}

/// Runs the model. Swapped: what is to change is marked before it has changed.
pub fn run(plant: Plant) {
    try_all(plant, move || {
        let array = Arc::new(Array { segments: Default::default(), changed: Changed::new() });
        array.changed.mark(0);
        let owner = {
            let array = array.clone();
            thread::spawn(move || (0..SEGMENTS).for_each(|segment| array.seal(segment, plant)))
        };
        let mut known = [SegState::Free; SEGMENTS];
        array.look(&mut known);
        owner.join().expect("it does not panic");
        array.look(&mut known);
        assert_eq!(known, [SegState::Sealed; SEGMENTS], "a segment was sealed and home knows nothing of it");
    });
}
