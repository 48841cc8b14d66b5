//! Processor time of threads and processes: on a machine that others use too, it says more than the rate does.

use std::io;
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;
use std::time::Duration;

/// The processor time of one thread or of all threads of a process.
#[derive(Clone, Copy)]
pub(crate) struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// Of a thread that has not been joined.
    pub(crate) fn of_thread<T>(thread: &JoinHandle<T>) -> io::Result<Self> {
        let mut clock = 0;
        // SAFETY: a thread's identity stays valid until it is joined or detached, both of which take the handle by value,
        // and we borrow it. The call writes one clock number, to a local variable of that type.
        match unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut clock) } {
            0 => Ok(Self(clock)),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Of a process.
    pub(crate) fn of_process(pid: u32) -> io::Result<Self> {
        let mut clock = 0;
        // SAFETY: the process is named by number, and one that is not there is an error. The call writes one clock number,
        // to a local variable of that type.
        match unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) } {
            0 => Ok(Self(clock)),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// The time used so far.
    pub(crate) fn read(self) -> io::Result<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a clock that is gone is an error. The call writes one `timespec`, to a local variable of that type.
        match unsafe { libc::clock_gettime(self.0, &raw mut time) } {
            0 => Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_busy_thread_shows_and_an_idle_one_does_not() {
        let (go, wait) = channel();
        let ((worked, has_worked), (end, may_end)) = (channel(), channel::<()>());
        let idle = std::thread::spawn(move || wait.recv());
        let busy = std::thread::spawn(move || {
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_millis(50) {}
            worked.send(()).unwrap();
            may_end.recv()
        });
        let (idle_clock, busy_clock) = (CpuClock::of_thread(&idle).unwrap(), CpuClock::of_thread(&busy).unwrap());
        has_worked.recv().unwrap();
        let (idle_time, busy_time) = (idle_clock.read().unwrap(), busy_clock.read().unwrap());
        assert!(idle_time < busy_time, "{idle_time:?} {busy_time:?}");
        assert!(CpuClock::of_process(std::process::id()).unwrap().read().unwrap() >= busy_time);
        end.send(()).unwrap();
        go.send(()).unwrap();
        idle.join().unwrap().unwrap();
        busy.join().unwrap().unwrap();
    }
}
