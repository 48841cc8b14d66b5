//! Work that is done elsewhere, and what it brings back.
//!
//! What may block goes on a thread of its own: opening a device. It is rare, so each errand has its thread; one that never comes
//! back costs that thread and nothing else. What threads do that are there anyway is promised: [`Errands::promise`].

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::inbox::Bell;

/// One thing that is to be brought back; it must be kept.
pub(crate) struct Promise<T> {
    bell: Arc<Bell>,
    sender: Sender<T>,
}

impl<T> Promise<T> {
    /// Brings it.
    pub(crate) fn keep(self, brought: T) {
        // A reactor that has ended needs it no more.
        if self.sender.send(brought).is_ok() {
            self.bell.ring();
        }
    }
}

/// The errands of one reactor and what they bring back.
pub(crate) struct Errands<T> {
    bell: Arc<Bell>,
    sender: Sender<T>,
    receiver: Receiver<T>,
    /// On their way.
    out: usize,
}

impl<T: Send + 'static> Errands<T> {
    /// Errands of the reactor that hears this bell.
    pub(crate) fn new(bell: Arc<Bell>) -> Self {
        let (sender, receiver) = channel();
        Self { bell, sender, receiver, out: 0 }
    }

    /// Sends somebody. What `work` gives comes out of [`Errands::next`].
    pub(crate) fn send(&mut self, work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<()> {
        let promise = Promise { bell: self.bell.clone(), sender: self.sender.clone() };
        thread::Builder::new().name("errand".into()).spawn(move || promise.keep(work()))?;
        self.out += 1;
        Ok(())
    }

    /// Somebody else sees to it that something comes out of [`Errands::next`].
    pub(crate) fn promise(&mut self) -> Promise<T> {
        self.out += 1;
        Promise { bell: self.bell.clone(), sender: self.sender.clone() }
    }

    /// What the next one that is back has brought.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<T> {
        if self.out == 0 {
            return None;
        }
        let brought = self.receiver.try_recv().ok()?;
        self.out -= 1;
        Some(brought)
    }
}
