//! Two reactors close stripes and write them while home asks up to which number all are on the devices.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::numbers::StripeNumbers;
use crate::plant::{Plant, try_all};

struct Array {
    numbers: StripeNumbers,
    /// By number, whether a stripe is on the devices.
    written: [UnsafeCell<bool>; 3],
}

// SAFETY: loom fails a model in which one is written while another thread reads it.
unsafe impl Sync for Array {}

fn write_stripe(array: &Array, reactor: usize, plant: Plant) {
    let number = match plant {
        // The number is taken before anybody is told that a stripe is on its way.
        Plant::Swapped => {
            let number = array.numbers.take(reactor, Some(0));
            array.numbers.set_incomplete(reactor, Some(number));
            number
        }
        _ => array.numbers.take(reactor, None),
    };
    // SAFETY: each number is given once, and loom checks that nobody reads meanwhile.
    array.written[number as usize].with_mut(|written| unsafe { *written = true });
    array.numbers.set_incomplete(reactor, None);
}

/// Runs the model.
pub fn run(plant: Plant) {
    try_all(plant, move || {
        let array = Arc::new(Array {
            numbers: StripeNumbers::new(1, 2),
            written: std::array::from_fn(|_| UnsafeCell::new(false)),
        });
        let other = {
            let array = array.clone();
            thread::spawn(move || write_stripe(&array, 1, plant))
        };
        let home = {
            let array = array.clone();
            thread::spawn(move || {
                for number in 1..array.numbers.complete_below() {
                    // SAFETY: loom checks that nobody writes meanwhile.
                    let written = array.written[number as usize].with(|written| unsafe { *written });
                    assert!(written, "stripe {number} was told to be on the devices");
                }
            })
        };
        write_stripe(&array, 0, plant);
        other.join().expect("it does not panic");
        home.join().expect("it does not panic");
    });
}
