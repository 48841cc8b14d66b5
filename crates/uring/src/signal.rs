//! Signals as something a task can wait for.
//!
//! The handler writes one byte to a socket pair, the one thing about a signal that is safe to do at any moment; a task
//! reads the other end through the ring like any connection.

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use cygnus_runtime::{IoError, IoErrorKind, Runtime, SocketId};

use crate::io::Io;

/// A request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: a service manager or `kill`.
    Terminate,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

impl Signal {
    /// Its usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Signal::Terminate => "SIGTERM",
            Signal::Interrupt => "SIGINT",
            Signal::HangUp => "SIGHUP",
        }
    }
}

/// The signals that ask for a stop.
const STOPS: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// The end of the socket pair that the handler writes to; -1 before there is one.
static HANDLER_END: AtomicI32 = AtomicI32::new(-1);

/// What to say if a signal ends the process before [`Signals::install`].
static LAST_WORDS: OnceLock<String> = OnceLock::new();

/// The stop signals of the process, awaited by one task of one reactor.
pub struct Signals {
    socket: SocketId,
}

impl Signals {
    /// Until [`Signals::install`], SIGTERM, SIGINT and SIGHUP end the process as they do by themselves, and these words are written to
    /// standard error before, as a line. The words of the first call stay.
    ///
    /// # Errors
    /// The operating system's.
    pub fn end_with_words(words: &str) -> io::Result<()> {
        LAST_WORDS.get_or_init(|| format!("{words}\n"));
        STOPS.into_iter().try_for_each(|signal| handle(signal, speak_and_end, libc::SA_RESETHAND))
    }

    /// Takes SIGTERM, SIGINT and SIGHUP over from now on; a SIGHUP that the process was started to ignore, as under nohup, stays ignored. A second of a kind ends the process at once, so that an impatient user gets through;
    /// but one that follows within half a second is the same request, which wrappers such as `timeout` send to a process and to its group.
    ///
    /// # Errors
    /// `AlreadyExists` if the process has taken them over before, or the operating system's.
    pub fn install(io: &Io) -> io::Result<Self> {
        let (ours, handlers) = UnixStream::pair()?;
        let handlers = OwnedFd::from(handlers).into_raw_fd();
        if HANDLER_END.compare_exchange(-1, handlers, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            // SAFETY: made above and known to nobody else.
            unsafe { libc::close(handlers) };
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let socket = io.add_socket(ours)?;
        STOPS.into_iter().try_for_each(|signal| handle(signal, on_signal, 0))?;
        Ok(Self { socket })
    }

    /// The next signal.
    ///
    /// # Errors
    /// Only if the reactor is being torn down.
    pub async fn next(&self, rt: &Runtime) -> Result<Signal, IoError> {
        let byte = rt.alloc(1);
        match rt.recv(self.socket, byte.full()).await? {
            0 => Err(IoError::new(IoErrorKind::Closed)),
            _ => Ok(match i32::from(byte.bytes()[0]) {
                libc::SIGINT => Signal::Interrupt,
                libc::SIGHUP => Signal::HangUp,
                _ => Signal::Terminate,
            }),
        }
    }
}

/// Has a handler called for a signal; with SA_RESETHAND once, and what the second one does is up to the system, which ends the process.
fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int), flags: libc::c_int) -> io::Result<()> {
    // SAFETY: all zeros is a valid action: no handler, no flags, an empty mask. The calls read the new one and fill the old one while both
    // live here; null stands for the one that is not given or asked for. Both handlers of this file have the signature that goes without
    // SA_SIGINFO, live as long as the program, allocate nothing and take no lock: they load atomics and make system calls that are
    // async-signal-safe.
    let failed = unsafe {
        let (mut action, mut before): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | flags;
        let asked = libc::sigaction(signal, std::ptr::null(), &raw mut before);
        if asked == 0 && signal == libc::SIGHUP && before.sa_sigaction == libc::SIG_IGN {
            return Ok(());
        }
        libc::sigaction(signal, &raw const action, std::ptr::null_mut()) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Time after the first of a kind in which others are taken for the same.
const SAME: u64 = 500_000_000;

/// When the first of each of [`STOPS`] came, in nanoseconds; 0 before.
static FIRST: [AtomicU64; STOPS.len()] = [const { AtomicU64::new(0) }; STOPS.len()];

/// Where a signal is in [`STOPS`].
fn nth(signal: libc::c_int) -> usize {
    STOPS.iter().position(|&stop| stop == signal).unwrap_or(0)
}

/// Whether a signal that comes `now` is one more request than that of `first`.
fn is_another(first: &AtomicU64, now: u64) -> bool {
    match first.compare_exchange(0, now.max(1), Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => false,
        Err(first) => now.saturating_sub(first) > SAME,
    }
}

/// Nanoseconds since some moment.
fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call is async-signal-safe and fills the structure, which lives here.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

extern "C" fn on_signal(signal: libc::c_int) {
    if is_another(&FIRST[nth(signal)], now()) {
        // SAFETY: both calls are async-signal-safe and take numbers. The signal has its own effect again, and comes through when the
        // handler returns.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        return;
    }
    let byte = signal as u8;
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: `send` is async-signal-safe, reads one byte of a local variable, and at worst meets a closed peer. The
    // interrupted code must not see its `errno` changed.
    unsafe {
        let errno = *libc::__errno_location();
        libc::send(HANDLER_END.load(Ordering::SeqCst), (&raw const byte).cast(), 1, flags);
        *libc::__errno_location() = errno;
    }
}

extern "C" fn speak_and_end(signal: libc::c_int) {
    if let Some(words) = LAST_WORDS.get() {
        // SAFETY: `write` is async-signal-safe, and reads as many bytes as the text has, which was set before this handler was installed
        // and stays as long as the process. Whether they are taken changes nothing: the process ends, so its `errno` is nobody's.
        unsafe { libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len()) };
    }
    // SAFETY: `raise` is async-signal-safe and takes a number, the one that this handler was called with. The signal has its own effect again since this handler was entered, and comes through
    // when the handler returns.
    unsafe { libc::raise(signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_comes_twice_at_once_is_one() {
        let first = AtomicU64::new(0);
        assert!(!is_another(&first, 7), "the first");
        assert!(!is_another(&first, 7) && !is_another(&first, 7 + SAME), "a wrapper's second");
        assert!(is_another(&first, 8 + SAME), "an impatient user's");
    }
}
