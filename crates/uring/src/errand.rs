//! Work that may block, on threads of its own: opening a device. Rare, so each errand has its thread; one that never comes back
//! costs that thread and nothing else.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::inbox::Bell;

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
        let (sender, bell) = (self.sender.clone(), self.bell.clone());
        let errand = move || {
            // A reactor that has ended needs it no more.
            if sender.send(work()).is_ok() {
                bell.ring();
            }
        };
        thread::Builder::new().name("errand".into()).spawn(errand)?;
        self.out += 1;
        Ok(())
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
