//! How far the array is with its end, for all reactors: the services end first, then clients' requests are refused.
//!
//! Who waits is told by a message after the flag is set. So whoever looks at the flag, finds it down and waits for a message
//! hears of it; and a reactor that has answered the home reactor's question to end its segments takes no write any more
//! (`docs/decisions/017-order.md`).

use crate::atomic::{AtomicBool, Ordering};

/// See the module's text.
#[derive(Default)]
pub(crate) struct Ending {
    /// Whether the services are to end.
    services: AtomicBool,
    /// Whether clients' requests are refused.
    closed: AtomicBool,
}

impl Ending {
    /// Whether the services are to end, which goes before the array closes.
    #[inline]
    pub(crate) fn has_begun(&self) -> bool {
        self.services.load(Ordering::Acquire)
    }

    /// The services are to end, or, where that has been given up, to go on.
    pub(crate) fn set_begun(&self, begun: bool) {
        self.services.store(begun, Ordering::Release);
    }

    /// Whether clients' requests are refused.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Clients' requests are refused from now on.
    pub(crate) fn set_closed(&self) {
        self.closed.store(true, Ordering::Release);
    }
}
