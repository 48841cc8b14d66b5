//! One reactor sends messages to another that may fall asleep: none is left lying while the receiver sleeps. A message
//! that is, is a deadlock, which loom reports.

use std::sync::Arc;

use loom::thread;

use crate::plant::{Plant, try_all};
use crate::post::Inbox;

const MESSAGES: usize = 2;

/// Runs the model. Swapped: the receiver looks into its queue and then says that it sleeps.
pub fn run(plant: Plant) {
    try_all(plant, move || {
        let inbox = Arc::new(Inbox::new());
        let sender = {
            let inbox = inbox.clone();
            thread::spawn(move || (0..MESSAGES).for_each(|_| inbox.post(())))
        };
        let mut received = 0;
        while received < MESSAGES {
            let last_look = (plant == Plant::Swapped).then(|| inbox.drain());
            inbox.wake.fall_asleep();
            let found = last_look.unwrap_or_else(|| inbox.drain()).len();
            received += found;
            if found == 0 {
                inbox.sleep();
            }
            inbox.wake.wake_up();
        }
        sender.join().expect("it does not panic");
    });
}
