//! Messages between reactors: a queue per reactor, and a bell that is only rung for one that may be asleep.
//!
//! Ringing costs a system call and waking a thread some 30-65 us, so a reactor says when it is about to block, and looks
//! into its queue once more after saying so. Sequentially consistent fences on both sides exclude the case in which the
//! sender does not see the sleeper and the sleeper does not see that there is mail.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::mpsc::{Receiver, Sender, channel};

use cygnus_runtime::Message;
use cygnus_types::ReactorId;

/// How a reactor learns that there is mail.
struct Bell {
    /// The counter a sleeping reactor has a read armed on.
    event: OwnedFd,
    asleep: AtomicBool,
    /// Set after each message. Looking at it is cheaper than looking into the queue, which takes a fence.
    has_mail: AtomicBool,
}

impl Bell {
    fn new() -> io::Result<Self> {
        // Blocking on purpose: io_uring answers a read of a non-blocking one with EAGAIN instead of waiting.
        // SAFETY: no pointers involved.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else owns it.
        let event = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { event, asleep: AtomicBool::new(false), has_mail: AtomicBool::new(false) })
    }

    fn ring(&self) {
        self.has_mail.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            let one = 1u64;
            // SAFETY: writes the eight bytes of a local variable.
            let written = unsafe { libc::write(self.event.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
            debug_assert_eq!(written, 8, "an event counter takes its eight bytes");
        }
    }
}

struct Address {
    queue: Sender<Message>,
    bell: Arc<Bell>,
}

/// Sends messages to the reactors of one group, from any thread.
#[derive(Clone)]
pub struct Mailer(Arc<[Address]>);

impl Mailer {
    /// Sends a message; one to a reactor that has ended is dropped.
    ///
    /// # Panics
    /// If there never was such a reactor.
    pub fn post(&self, to: ReactorId, message: Message) {
        let address = &self.0[to.index()];
        if address.queue.send(message).is_ok() {
            address.bell.ring();
        }
    }
}

/// A reactor's receiving end.
pub(crate) struct Inbox {
    queue: Receiver<Message>,
    bell: Arc<Bell>,
}

impl Inbox {
    /// One inbox per reactor, and what sends to all of them.
    pub(crate) fn group(reactors: usize) -> io::Result<(Mailer, Vec<Inbox>)> {
        let mut addresses = Vec::with_capacity(reactors);
        let mut inboxes = Vec::with_capacity(reactors);
        for _ in 0..reactors {
            let (sender, receiver) = channel();
            let bell = Arc::new(Bell::new()?);
            addresses.push(Address { queue: sender, bell: bell.clone() });
            inboxes.push(Inbox { queue: receiver, bell });
        }
        Ok((Mailer(addresses.into()), inboxes))
    }

    /// Moves everything that has arrived to `messages`.
    pub(crate) fn drain(&self, messages: &mut Vec<Message>) {
        // Cleared first: a message that comes meanwhile sets it again.
        if self.bell.has_mail.load(Ordering::Relaxed) && self.bell.has_mail.swap(false, Ordering::Acquire) {
            messages.extend(self.queue.try_iter());
        }
    }

    /// Announces that the reactor is about to block. It must [`Inbox::drain`] once more before it does.
    pub(crate) fn fall_asleep(&self) {
        self.bell.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement back.
    pub(crate) fn wake_up(&self) {
        self.bell.asleep.store(false, Ordering::Relaxed);
    }

    /// What becomes readable when somebody rings.
    pub(crate) fn bell_fd(&self) -> RawFd {
        self.bell.event.as_raw_fd()
    }
}
