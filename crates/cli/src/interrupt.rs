//! SIGINT and SIGTERM as a flag.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

extern "C" fn request(_signal: libc::c_int) {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// The signals that ask a program to end.
const SIGNALS: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// Takes the signals over; the second of a kind ends the process as usual.
pub fn install() -> io::Result<()> {
    SIGNALS.into_iter().try_for_each(|signal| take_over(signal).map(drop))
}

/// The signals are taken over while it lives, for work that must not stop half-way. Those that the process was started to
/// ignore, as under nohup, stay ignored.
pub struct Held(Vec<(libc::c_int, libc::sigaction)>);

impl Held {
    /// Takes the signals over.
    pub fn begin() -> io::Result<Self> {
        let mut held = Self(Vec::new());
        for signal in SIGNALS {
            held.0.push((signal, take_over(signal)?));
            let ignored = held.0.pop_if(|(_, before)| before.sa_sigaction == libc::SIG_IGN);
            if let Some((signal, before)) = ignored {
                give_back(signal, &before);
            }
        }
        Ok(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.iter().for_each(|(signal, before)| give_back(*signal, before));
    }
}

/// Has a signal be noted, and answers with what it did before.
fn take_over(signal: libc::c_int) -> io::Result<libc::sigaction> {
    // SAFETY: a sigaction of zeros is a valid one: no handler, no flags, an empty mask. The call reads the new one and fills the old
    // one while both live here. The handler has the signature that goes without SA_SIGINFO, lives as long as the program, and does
    // nothing but store to an atomic without a lock, which is allowed whatever it interrupts.
    unsafe {
        let (mut action, mut before): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
        action.sa_sigaction = request as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        match libc::sigaction(signal, &raw const action, &raw mut before) {
            0 => Ok(before),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Has a signal do again what it did before.
fn give_back(signal: libc::c_int, before: &libc::sigaction) {
    // SAFETY: the call reads an action that `take_over` had the system fill in for this very signal, so it is what was in force before,
    // and takes null for the one that goes. Should it fail, the signal stays a note, which harms nobody.
    unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
}

/// Whether one has come.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
