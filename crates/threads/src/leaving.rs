//! A group leaves while grants of its segments are on their way by mail: when home gives the group's addresses another meaning, no
//! reactor writes there any more, and what was written there can be read.
//!
//! The reactor that is asked to leave gives back what it was granted and has not begun. A grant whose message came in the same turn has
//! not reached the task that asked for it, so the answer knows nothing of it, and the segment is begun afterwards. That is why home
//! goes by the states of the segments, and asks again as long as one is open.

use std::sync::Arc;

use cygnus_types::ReactorId;
use loom::cell::UnsafeCell;
use loom::thread;

use crate::plant::{Plant, try_all};
use crate::post::Inbox;
use crate::residence::{Residence, SegState};

const OWNER: ReactorId = ReactorId(1);
/// One that the owner fills as soon as it has it, and the next one, which is fetched before it is needed.
const SEGMENTS: usize = 2;
const WRITTEN: u64 = 7;
const OF_ANOTHER_GROUP: u64 = 9;

enum ToOwner {
    Granted(usize),
    /// End the segments of the group, and give back those not begun.
    Leave,
    /// The model is over.
    End,
}

/// The answer to [`ToOwner::Leave`].
struct GivenBack(Vec<usize>);

struct Array {
    segments: [Residence; SEGMENTS],
    /// What lies in each segment on the devices.
    devices: [UnsafeCell<u64>; SEGMENTS],
    to_owner: Inbox<ToOwner>,
    to_home: Inbox<GivenBack>,
}

// SAFETY: loom fails a model in which a device's segment is written while another thread is at it.
unsafe impl Sync for Array {}

impl Array {
    fn new() -> Self {
        Self {
            segments: Default::default(),
            devices: std::array::from_fn(|_| UnsafeCell::new(0)),
            to_owner: Inbox::new(),
            to_home: Inbox::new(),
        }
    }

    fn write(&self, segment: usize, what: u64) {
        // SAFETY: loom checks that nobody is there meanwhile.
        self.devices[segment].with_mut(|device| unsafe { *device = what });
    }

    fn read(&self, segment: usize) -> u64 {
        // SAFETY: loom checks that nobody writes meanwhile.
        self.devices[segment].with(|device| unsafe { *device })
    }
}

/// The owner's part: its messages are handled first in each turn, then its tasks go on.
fn own(array: &Array) {
    let (mut has_begun, mut spare) = (false, None);
    loop {
        let mut arrived = Vec::new();
        for message in array.to_owner.receive() {
            match message {
                ToOwner::Granted(segment) => arrived.push(segment),
                ToOwner::Leave => array.to_home.post(GivenBack(spare.take().into_iter().collect())),
                ToOwner::End => return,
            }
        }
        for segment in arrived {
            if std::mem::replace(&mut has_begun, true) {
                spare = Some(segment);
            } else {
                array.write(segment, WRITTEN);
                array.segments[segment].set_state(SegState::Sealed);
            }
        }
    }
}

/// Home's part, from the grants to the moment from which on the group has left. Swapped: home goes by the answer, and looks at no state.
fn leave(array: &Array, plant: Plant) {
    for segment in 0..SEGMENTS {
        array.segments[segment].open(OWNER, 1);
        array.to_owner.post(ToOwner::Granted(segment));
    }
    loop {
        array.to_owner.post(ToOwner::Leave);
        for GivenBack(segments) in array.to_home.receive() {
            segments.into_iter().for_each(|segment| array.segments[segment].set_state(SegState::Withheld));
        }
        let is_open = |segment: &Residence| segment.state() == SegState::Open;
        if plant == Plant::Swapped || !array.segments.iter().any(is_open) {
            break;
        }
    }
    for segment in 0..SEGMENTS {
        if array.segments[segment].state() == SegState::Sealed {
            assert_eq!(array.read(segment), WRITTEN, "what the owner wrote moves to another group");
        }
        array.write(segment, OF_ANOTHER_GROUP);
    }
    array.to_owner.post(ToOwner::End);
}

/// Runs the model.
pub fn run(plant: Plant) {
    try_all(plant, move || {
        let array = Arc::new(Array::new());
        let owner = {
            let array = array.clone();
            thread::spawn(move || own(&array))
        };
        leave(&array, plant);
        owner.join().expect("it does not panic");
    });
}
