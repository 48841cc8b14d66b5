//! SIGINT and SIGTERM as a flag.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

extern "C" fn request(_signal: libc::c_int) {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// Takes the signals over; the second of a kind ends the process as usual.
pub fn install() -> std::io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: a sigaction of zeros is a valid one: no handler, no flags, an empty mask. The call reads it while it lives here, and
        // takes null for the old one, which nobody wants. The handler has the signature that goes without SA_SIGINFO, lives as long as
        // the program, and does nothing but store to an atomic without a lock, which is allowed whatever it interrupts.
        let failed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = request as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut()) != 0
        };
        if failed {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Whether one has come.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
