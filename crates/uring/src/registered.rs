//! A device as one reactor's ring has it.
//!
//! io_uring tries to carry out a read or write at once, without waiting, and gives what would have to wait to kernel threads.
//! Two things in this can make one device hold up all of them:
//!
//! * File systems decide what "without waiting" means. FUSE claims to do it and asks its server for the file's attributes all
//!   the same, so a server that gives no answer stops the thread that submits: the reactor. Only on file systems that are known
//!   to keep the promise is anything tried at once; elsewhere the kernel threads do everything.
//! * There are few of those threads, four for each core. As many operations on a device that hangs take all of them, and
//!   every flush of every other device, which never goes without them, waits behind. So each device gets as many threads as it
//!   may have operations with the kernel; and what exceeds that number is held back here.

use std::collections::VecDeque;

use cygnus_runtime::OpId;
use io_uring::squeue;

use crate::device::{Device, Opened};
use crate::flight::InFlight;
use crate::link::Link;

/// Operations of one device that the kernel has at most at a time. Beyond some tens no device gets any faster.
pub(crate) const DEPTH: u32 = 128;

/// See the module's text.
pub(crate) struct Registered {
    pub(crate) device: Device,
    /// The number of the opening that the ring has.
    pub(crate) opening: u64,
    /// The connection to it, if it is far.
    pub(crate) link: Option<Link>,
    may_block: bool,
    /// Whether its file has become shorter, as far as is known; `None`: nobody asked to know.
    cut_short: Option<bool>,
    with_kernel: u32,
    held: VecDeque<(OpId, InFlight)>,
}

impl Registered {
    pub(crate) fn new(device: Device) -> Self {
        let opened = device.opened();
        let mut new = Self {
            device,
            opening: 0,
            link: None,
            may_block: false,
            cut_short: None,
            with_kernel: 0,
            held: VecDeque::new(),
        };
        if let Some(opened) = opened {
            new.opened(opened);
        }
        new
    }

    /// The ring has this opening from now on.
    pub(crate) fn opened(&mut self, opened: Opened) {
        self.opening = opened.number();
        match opened {
            Opened::Place(opening) => self.may_block = opening.may_block,
            Opened::Far(link) => self.link = Some(link),
        }
    }

    /// Whether nothing is on its way to it.
    pub(crate) fn is_idle(&self) -> bool {
        self.with_kernel == 0 && self.held.is_empty()
    }

    /// See [`cygnus_runtime::Driver::guard_length`].
    pub(crate) fn guard_length(&mut self) {
        self.cut_short.get_or_insert(false);
    }

    /// Whether its length is guarded, and it has been shorter than it was.
    pub(crate) fn is_cut_short(&mut self) -> bool {
        if self.cut_short == Some(false) {
            self.cut_short = Some(self.device.is_shorter());
        }
        self.cut_short == Some(true)
    }

    /// How reads and writes are to be submitted.
    pub(crate) fn flags(&self) -> squeue::Flags {
        if self.may_block { squeue::Flags::ASYNC } else { squeue::Flags::empty() }
    }

    /// Counts an operation and gives it back to go to the kernel now; or keeps it, if there are too many.
    #[inline]
    pub(crate) fn admit(&mut self, id: OpId, flight: InFlight) -> Option<InFlight> {
        if self.with_kernel == DEPTH {
            self.held.push_back((id, flight));
            return None;
        }
        self.with_kernel += 1;
        Some(flight)
    }

    /// One of them has ended. The next takes its place.
    #[inline]
    pub(crate) fn ended(&mut self) -> Option<(OpId, InFlight)> {
        let next = self.held.pop_front();
        self.with_kernel -= u32::from(next.is_none());
        next
    }
}
