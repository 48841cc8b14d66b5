//! When a sleeping reactor must be woken.
//!
//! A reactor says when it is about to block, and looks into its queue once more after saying so. Sequentially consistent
//! fences on both sides exclude the case in which the sender does not see the sleeper and the sleeper does not see that
//! there is mail.

use crate::atomic::{AtomicBool, Ordering, fence};

/// See the module's text.
#[derive(Default)]
pub(crate) struct Wake {
    asleep: AtomicBool,
    /// Set after each message. Looking at it is cheaper than looking into the queue, which takes a fence.
    has_mail: AtomicBool,
}

impl Wake {
    /// A message was put into the queue. Says whether the reactor must be woken; it is told so to one sender.
    pub(crate) fn mail_came(&self) -> bool {
        self.has_mail.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed)
    }

    /// Whether the queue must be looked into.
    pub(crate) fn take_mail(&self) -> bool {
        // Cleared first: a message that comes meanwhile sets it again.
        self.has_mail.load(Ordering::Relaxed) && self.has_mail.swap(false, Ordering::Acquire)
    }

    /// The reactor is about to block. It must look into its queue once more before it does.
    pub(crate) fn fall_asleep(&self) {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// It is not about to block any more.
    pub(crate) fn wake_up(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }
}
