//! A command that only looks does so in a process of its own.
//!
//! A thread that has asked a device which gives no answer cannot be ended, by a kill no more than by us, and nor can its process.
//! So whoever waits for the command waits for another process, which ends when the looking one has told all that it had to say.

use crate::exit::Exit;
use std::fs::OpenOptions;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::time::Duration;

/// How long a process that has told everything is waited for, so that nobody else need take note of its end.
const FAREWELL: Duration = Duration::from_millis(100);

/// What a shell adds to the number of the signal that ended a process.
const ENDED_BY_SIGNAL: u8 = 128;

/// Has `look` done in a process of its own, where one is to be had. To be called while this process has one thread.
pub fn run(look: impl FnOnce() -> Exit) -> ExitCode {
    let Ok((told, telling)) = io::pipe() else { return look().into() };
    // SAFETY: `main` calls this before it has begun any thread, so the thread that forks is the only one: no other can hold a lock, of
    // the allocator say, that would stay locked in the child, nor be in the midst of changing what the child then finds half changed.
    match unsafe { libc::fork() } {
        -1 => look().into(),
        0 => {
            drop(told);
            tell(look, telling)
        }
        child => {
            drop(telling);
            awaited(child, told)
        }
    }
}

/// Looks, and tells how that ended. Nobody is left to hear it when the first process has been killed.
fn tell(look: impl FnOnce() -> Exit, mut telling: PipeWriter) -> ! {
    // SAFETY: this option takes a signal's number and no pointer. It touches no memory of ours; all it changes is that the kernel ends
    // this process with that signal when the one that began it is gone.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let code = look().code();
    // Whoever reads what was said, in a pipe, waits for all who could say more.
    if let Ok(nowhere) = OpenOptions::new().write(true).open("/dev/null") {
        for output in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
            // SAFETY: the call takes two numbers and no pointer, so it touches no memory of ours. It makes the number of an output mean
            // what `nowhere` means, in one step: there is no moment in which that number is free for a file that is opened meanwhile.
            // `nowhere` is open during the call and stays its own owner's. Of the outputs nobody is the owner who would close them later
            // (the standard library's handles do not own them), so no number is closed twice; who writes to them writes to nowhere.
            unsafe { libc::dup2(nowhere.as_raw_fd(), output) };
        }
    }
    let _ = telling.write_all(&[code]);
    std::process::exit(code.into())
}

/// How the looking process ended, or says that it would if it could.
fn awaited(child: libc::pid_t, mut told: PipeReader) -> ExitCode {
    let mut code = [0];
    if told.read_exact(&mut code).is_err() {
        return ended(child, 0).unwrap_or(Exit::Failed.code()).into();
    }
    for _ in 0..FAREWELL.as_millis() {
        if ended(child, libc::WNOHANG).is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    code[0].into()
}

/// The exit status of a process that has ended.
fn ended(child: libc::pid_t, flags: libc::c_int) -> Option<u8> {
    let mut status = 0;
    // SAFETY: the call writes one `c_int` to where the pointer leads, which is `status`: of that type, ours alone, and alive until after
    // the call. Other children, if there were any, are not touched: it is asked for this one by its number.
    let which = unsafe { libc::waitpid(child, &raw mut status, flags) };
    let by_signal = || u8::try_from(libc::WTERMSIG(status)).map_or(u8::MAX, |signal| ENDED_BY_SIGNAL | signal);
    let code = || u8::try_from(libc::WEXITSTATUS(status)).ok().filter(|_| libc::WIFEXITED(status));
    (which == child).then(|| code().unwrap_or_else(by_signal))
}
