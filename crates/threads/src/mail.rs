//! One reactor sends messages to another that may fall asleep: none is left lying while the receiver sleeps. A message
//! that is, is a deadlock, which loom reports.

use std::sync::Arc;

use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::plant::{Plant, try_all};
use crate::wake::Wake;

const MESSAGES: u32 = 2;

#[derive(Default)]
struct Inbox {
    wake: Wake,
    queue: Mutex<u32>,
    /// What wakes a reactor that sleeps.
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Inbox {
    fn post(&self) {
        *self.queue.lock().expect("nobody panics") += 1;
        if self.wake.mail_came() {
            *self.rung.lock().expect("nobody panics") = true;
            self.changed.notify_one();
        }
    }

    fn drain(&self) -> u32 {
        if self.wake.take_mail() { std::mem::take(&mut *self.queue.lock().expect("nobody panics")) } else { 0 }
    }

    fn sleep(&self) {
        let mut rung = self.rung.lock().expect("nobody panics");
        while !std::mem::take(&mut *rung) {
            rung = self.changed.wait(rung).expect("nobody panics");
        }
    }
}

/// Runs the model. Swapped: the receiver looks into its queue and then says that it sleeps.
pub fn run(plant: Plant) {
    try_all(plant, move || {
        let inbox = Arc::new(Inbox::default());
        let sender = {
            let inbox = inbox.clone();
            thread::spawn(move || (0..MESSAGES).for_each(|_| inbox.post()))
        };
        let mut received = 0;
        while received < MESSAGES {
            let last_look = (plant == Plant::Swapped).then(|| inbox.drain());
            inbox.wake.fall_asleep();
            let found = last_look.unwrap_or_else(|| inbox.drain());
            received += found;
            if found == 0 {
                inbox.sleep();
            }
            inbox.wake.wake_up();
        }
        sender.join().expect("it does not panic");
    });
}
