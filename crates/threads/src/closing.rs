//! The array closes while another reactor helps to clean, and while it takes writes.
//!
//! A helper waits for a member that does not answer, or for room, and must hear that the array is ending. It has given back the segment of
//! another group before, and its answer comes behind that. Then home has it end its segments: what was taken until its answer is on
//! the devices, and nothing is taken afterwards. So the checkpoint that closes the array has all that was answered.

use std::sync::Arc;

use cygnus_types::ReactorId;
use loom::cell::UnsafeCell;
use loom::thread;

use crate::ending::Ending;
use crate::plant::{Plant, try_all};
use crate::post::Inbox;
use crate::residence::{Residence, SegState};

const OTHER: ReactorId = ReactorId(1);
/// Of the other reactor: a segment that was granted and not begun, and one that it fills.
const SPARE: usize = 0;
const BEGUN: usize = 1;

enum ToOwner {
    /// Empty a victim in the group of the segment that is begun.
    Empty,
    /// Whoever waits for a member looks again.
    MembersSettled,
    EndSegments,
}

#[derive(PartialEq)]
enum ToHome {
    GivesBack,
    Emptied,
    Done,
}

struct Array {
    ending: Ending,
    segments: [Residence; 2],
    /// Blocks that lie on the devices in the segment that is begun.
    device: UnsafeCell<u64>,
    to_other: Inbox<ToOwner>,
    to_home: Inbox<ToHome>,
}

// SAFETY: loom fails a model in which the device is written while another thread is at it.
unsafe impl Sync for Array {}

impl Array {
    fn new() -> Self {
        let array = Self {
            ending: Ending::default(),
            segments: Default::default(),
            device: UnsafeCell::new(0),
            to_other: Inbox::new(),
            to_home: Inbox::new(),
        };
        array.segments.iter().for_each(|segment| segment.open(OTHER, 1));
        array
    }

    /// The other reactor ends its segments with so many blocks in them.
    fn end_segments(&self, blocks: u64) {
        // SAFETY: loom checks that nobody reads meanwhile.
        self.device.with_mut(|device| unsafe { *device = blocks });
        self.segments[BEGUN].set_state(SegState::Sealed);
        self.to_home.post(ToHome::Done);
    }

    /// Home's part until it has been told something, with what is given back meanwhile.
    fn until(&self, told: ToHome) {
        let mut is_told = false;
        while !is_told {
            for message in self.to_home.receive() {
                match message {
                    ToHome::GivesBack => self.segments[SPARE].set_state(SegState::Free),
                    message => is_told |= message == told,
                }
            }
        }
    }

    /// Blocks that the checkpoint finds in the segment that was begun.
    fn checkpoint(&self) -> u64 {
        assert_eq!(self.segments[BEGUN].state(), SegState::Sealed);
        // SAFETY: loom checks that nobody writes meanwhile.
        self.device.with(|device| unsafe { *device })
    }
}

/// Sets a flag and tells those who may be waiting for it; as is planted, the other way round.
fn set_and_tell(plant: Plant, set: impl FnOnce(), tell: impl FnOnce()) {
    if plant == Plant::Swapped {
        tell();
        set();
    } else {
        set();
        tell();
    }
}

/// The helper's part: its victim needs a member that never answers.
fn help(array: &Array) {
    let (mut is_emptying, mut has_ended) = (false, false);
    while !has_ended {
        for message in array.to_other.receive() {
            match message {
                ToOwner::Empty => {
                    array.to_home.post(ToHome::GivesBack);
                    is_emptying = true;
                }
                ToOwner::MembersSettled => {}
                ToOwner::EndSegments => {
                    array.end_segments(1);
                    has_ended = true;
                }
            }
        }
        if is_emptying && array.ending.has_begun() {
            array.to_home.post(ToHome::Emptied);
            is_emptying = false;
        }
    }
}

/// A helper that waits, and gives back. Swapped: it is told to look again before there is anything to see.
pub fn helper(plant: Plant) {
    try_all(plant, move || {
        let array = Arc::new(Array::new());
        let helper = {
            let array = array.clone();
            thread::spawn(move || help(&array))
        };
        array.to_other.post(ToOwner::Empty);
        set_and_tell(plant, || array.ending.set_begun(true), || array.to_other.post(ToOwner::MembersSettled));
        array.until(ToHome::Emptied);
        array.to_other.post(ToOwner::EndSegments);
        array.until(ToHome::Done);
        assert_eq!(array.checkpoint(), 1);
        assert_eq!(
            array.segments[SPARE].state(),
            SegState::Free,
            "a segment that was given back is free for the checkpoint"
        );
        helper.join().expect("it does not panic");
    });
}

/// The part of a reactor with a client that asks for two writes; says how many were taken.
fn serve(array: &Array) -> u64 {
    let (mut taken, mut has_ended) = (0, false);
    for _ in 0..2 {
        taken += u64::from(!array.ending.is_closed());
        for message in array.to_other.drain() {
            if matches!(message, ToOwner::EndSegments) {
                array.end_segments(taken);
                has_ended = true;
            }
        }
    }
    if !has_ended {
        array.to_other.receive();
        array.end_segments(taken);
    }
    taken
}

/// A reactor that takes writes. Swapped: it is asked to end its segments before requests are refused.
pub fn writer(plant: Plant) {
    try_all(plant, move || {
        let array = Arc::new(Array::new());
        let server = {
            let array = array.clone();
            thread::spawn(move || serve(&array))
        };
        set_and_tell(plant, || array.ending.set_closed(), || array.to_other.post(ToOwner::EndSegments));
        array.until(ToHome::Done);
        let covered = array.checkpoint();
        let taken = server.join().expect("it does not panic");
        assert_eq!(taken, covered, "a write was taken after its reactor had ended its segments");
    });
}
