//! A segment's new life: home opens it and grants it, its owner fills a row, shows it in the map and writes it, and a
//! reader on a third reactor must find the row, in the owner's memory or on the device.

use std::sync::Arc;

use cygnus_types::ReactorId;
use loom::cell::UnsafeCell;
use loom::sync::mpsc::{Receiver, Sender, channel};
use loom::thread;

use crate::atomic::{AtomicU64, Ordering};
use crate::plant::{Plant, try_all};
use crate::residence::{Residence, SegState};

const OWNER: ReactorId = ReactorId(1);
const ROW: u32 = 1;
const WRITTEN: u64 = 7;

struct Array {
    segment: Residence,
    /// 1: the row is mapped.
    entry: AtomicU64,
    /// What lies in the row on the device.
    device: UnsafeCell<u64>,
}

// SAFETY: loom fails a model in which the device's row is written while another thread reads it.
unsafe impl Sync for Array {}

/// What a reader asks the owner, and where to answer; `None`: it will not ask.
type Question = Option<Sender<Option<u64>>>;

/// The owner's part: from the grant to the answer that a reader may want.
fn own(array: &Array, grants: Receiver<()>, questions: Receiver<Question>, plant: Plant) {
    grants.recv().expect("it is granted");
    let mut memory = Some(WRITTEN);
    array.entry.swap(1, Ordering::AcqRel);
    if plant == Plant::Swapped {
        array.segment.set_landed(ROW + 1);
    }
    // SAFETY: loom checks that nobody reads meanwhile.
    array.device.with_mut(|row| unsafe { *row = WRITTEN });
    array.segment.set_landed(ROW + 1);
    memory.take();
    array.segment.set_state(SegState::Sealed);
    if let Some(answer) = questions.recv().expect("the reader says whether it asks") {
        answer.send(memory).expect("the reader waits");
    }
}

fn read(array: &Array, owner: &Sender<Question>) -> Option<u64> {
    let mapped = array.entry.load(Ordering::Acquire) == 1;
    let keeper = if mapped { array.segment.keeper(ROW) } else { None };
    let answer = keeper.map(|keeper| {
        assert_eq!(keeper, OWNER, "not that of an earlier life");
        channel()
    });
    let (question, answer) = answer.unzip();
    owner.send(question).expect("the owner hears it");
    let kept = answer.and_then(|answer| answer.recv().expect("the owner answers"));
    if !mapped || kept.is_some() {
        return kept;
    }
    // SAFETY: loom checks that nobody writes meanwhile.
    Some(array.device.with(|row| unsafe { *row }))
}

/// Runs the model. Swapped: the owner says that the row is on the device before it is.
pub fn run(plant: Plant) {
    try_all(plant, move || {
        let array =
            Arc::new(Array { segment: Residence::default(), entry: AtomicU64::new(0), device: UnsafeCell::new(0) });
        // In the life before, another reactor had filled it.
        array.segment.open(ReactorId(2), 1);
        array.segment.set_landed(5);
        array.segment.set_state(SegState::Free);
        let (grant, grants) = channel();
        let (ask, questions) = channel();
        let owner = {
            let array = array.clone();
            thread::spawn(move || own(&array, grants, questions, plant))
        };
        let home = {
            let array = array.clone();
            thread::spawn(move || {
                array.segment.open(OWNER, 2);
                grant.send(()).expect("the owner waits");
            })
        };
        if let Some(found) = read(&array, &ask) {
            assert_eq!(found, WRITTEN, "what lay there before");
        }
        home.join().expect("it does not panic");
        owner.join().expect("it does not panic");
    });
}
