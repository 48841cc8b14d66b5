//! Messages between reactors: a queue per reactor, and a bell that is only rung for one that may be asleep.
//!
//! Ringing costs a system call and waking a thread some 30-65 us; `wake` says when it must be.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use cygnus_runtime::Message;
use cygnus_types::ReactorId;

use crate::wake::Wake;

/// How a reactor learns that there is mail.
pub(crate) struct Bell {
    /// The counter a sleeping reactor has a read armed on.
    event: OwnedFd,
    wake: Wake,
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
        Ok(Self { event, wake: Wake::default() })
    }

    pub(crate) fn ring(&self) {
        if self.wake.mail_came() {
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
        if self.bell.wake.take_mail() {
            messages.extend(self.queue.try_iter());
        }
    }

    /// Announces that the reactor is about to block. It must [`Inbox::drain`] once more before it does.
    pub(crate) fn fall_asleep(&self) {
        self.bell.wake.fall_asleep();
    }

    /// Takes the announcement back.
    pub(crate) fn wake_up(&self) {
        self.bell.wake.wake_up();
    }

    /// What somebody rings who has something for the reactor outside its queue.
    pub(crate) fn bell(&self) -> Arc<Bell> {
        self.bell.clone()
    }

    /// What becomes readable when somebody rings.
    pub(crate) fn bell_fd(&self) -> RawFd {
        self.bell.event.as_raw_fd()
    }
}
