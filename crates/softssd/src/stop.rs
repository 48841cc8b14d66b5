//! SIGTERM and SIGINT, waited for instead of ending the process.

use std::mem::MaybeUninit;
use std::ptr;

/// The signals that end a server, held back for [`StopSignals::wait`].
pub struct StopSignals(libc::sigset_t);

impl StopSignals {
    /// Holds them back from this thread and those that it starts from now on: so before any is started.
    pub fn hold() -> Self {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the first call initialises the set, and the others add to it and read it.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
            libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
            Self(set.assume_init())
        }
    }

    /// Waits for one of them. A second one ends the process at once.
    pub fn wait(self) {
        let mut signal = 0;
        // SAFETY: both places are ours and live through the call. A wait that is interrupted is begun again.
        while unsafe { libc::sigwait(&raw const self.0, &raw mut signal) } != 0 {}
        // SAFETY: reads the set.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const self.0, ptr::null_mut()) };
    }
}
