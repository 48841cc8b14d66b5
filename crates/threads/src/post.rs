//! A reactor's queue of messages as models have it: with the engine's word for when the one who sleeps must be woken.

use std::collections::VecDeque;

use loom::sync::{Condvar, Mutex};

use crate::wake::Wake;

/// See the module's text.
pub(crate) struct Inbox<T> {
    pub(crate) wake: Wake,
    queue: Mutex<VecDeque<T>>,
    /// What wakes a reactor that sleeps.
    rung: Mutex<bool>,
    changed: Condvar,
}

impl<T> Inbox<T> {
    pub(crate) fn new() -> Self {
        Self {
            wake: Wake::default(),
            queue: Mutex::new(VecDeque::new()),
            rung: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn post(&self, message: T) {
        self.queue.lock().expect("nobody panics").push_back(message);
        if self.wake.mail_came() {
            *self.rung.lock().expect("nobody panics") = true;
            self.changed.notify_one();
        }
    }

    /// All that has come.
    pub(crate) fn drain(&self) -> VecDeque<T> {
        if self.wake.take_mail() {
            std::mem::take(&mut *self.queue.lock().expect("nobody panics"))
        } else {
            VecDeque::new()
        }
    }

    pub(crate) fn sleep(&self) {
        let mut rung = self.rung.lock().expect("nobody panics");
        while !std::mem::take(&mut *rung) {
            rung = self.changed.wait(rung).expect("nobody panics");
        }
    }

    /// All that has come, at least one message.
    pub(crate) fn receive(&self) -> VecDeque<T> {
        loop {
            self.wake.fall_asleep();
            let found = self.drain();
            if found.is_empty() {
                self.sleep();
            }
            self.wake.wake_up();
            if !found.is_empty() {
                return found;
            }
        }
    }
}
