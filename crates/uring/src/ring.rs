//! The ring itself: queueing with a backlog, entering the kernel as seldom as possible, collecting completions.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::time::Duration;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, squeue};

use crate::error::StartError;

/// A completion as the kernel gives it: the submission's user data, and a result or a negated error number.
pub(crate) type Cqe = (u64, i32);

/// An `io_uring` that only its own thread submits to.
pub(crate) struct Ring {
    uring: IoUring,
    /// What did not fit into the submission queue.
    backlog: VecDeque<squeue::Entry>,
    /// Pushed and not yet collected.
    in_flight: usize,
}

impl Ring {
    /// A ring of `entries` submissions (rounded up to a power of two).
    pub(crate) fn new(entries: u32) -> Result<Self, StartError> {
        // Completions are worked off when we ask for them and not in interrupts of this thread (DEFER_TASKRUN), and a
        // flag in shared memory says when asking is worth a system call (TASKRUN_FLAG). A queue of completions four
        // times as long as that of submissions makes its overflow, which the kernel survives, rare.
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(entries.next_power_of_two() * 4)
            .dontfork()
            .build(entries)
            .map_err(|error| unavailable(&error))?;
        if !uring.params().is_feature_ext_arg() || !uring.params().is_feature_nodrop() {
            return Err(StartError::Unavailable { why: OLD_KERNEL.into() });
        }
        Ok(Self { uring, backlog: VecDeque::new(), in_flight: 0 })
    }

    /// For registering files and buffers.
    pub(crate) fn uring(&self) -> &IoUring {
        &self.uring
    }

    /// Operations pushed whose completion has not been collected.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Queues an operation.
    ///
    /// # Safety
    /// Whatever the entry points to stays valid until its completion is collected.
    pub(crate) unsafe fn push(&mut self, entry: squeue::Entry) {
        self.in_flight += 1;
        // SAFETY: the caller's promise.
        if !self.backlog.is_empty() || unsafe { self.uring.submission().push(&entry) }.is_err() {
            self.backlog.push_back(entry);
        }
    }

    /// Hands everything queued to the kernel and lets it finish what it has deferred; no system call if there is
    /// neither.
    pub(crate) fn submit(&mut self) {
        loop {
            self.refill();
            let queue = self.uring.submission();
            let idle = queue.is_empty() && !queue.taskrun() && !queue.cq_overflow();
            drop(queue);
            if idle || !accepted(self.uring.submit()) || self.backlog.is_empty() {
                return;
            }
        }
    }

    /// As [`Ring::submit`], and blocks until there is a completion or `timeout` has passed (`None`: for ever).
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) {
        self.refill();
        let entered = match timeout {
            None => self.uring.submit_and_wait(1),
            Some(timeout) => {
                let timespec = Timespec::from(timeout);
                self.uring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec))
            }
        };
        accepted(entered);
    }

    /// Whether [`Ring::submit`] followed by [`Ring::collect`] would bring something.
    pub(crate) fn has_news(&mut self) -> bool {
        let queue = self.uring.submission();
        let deferred = queue.taskrun() || queue.cq_overflow();
        drop(queue);
        deferred || !self.uring.completion().is_empty()
    }

    /// Appends the completions there are.
    pub(crate) fn collect(&mut self, into: &mut Vec<Cqe>) {
        let before = into.len();
        into.extend(self.uring.completion().map(|cqe| (cqe.user_data(), cqe.result())));
        self.in_flight -= into.len() - before;
    }

    fn refill(&mut self) {
        if self.backlog.is_empty() {
            return;
        }
        let mut queue = self.uring.submission();
        while let Some(entry) = self.backlog.front() {
            // SAFETY: whoever pushed it to the backlog promised what `push` asks.
            if unsafe { queue.push(entry) }.is_err() {
                break;
            }
            self.backlog.pop_front();
        }
    }
}

/// Whether the kernel took what it was given; if not, it will when some completions have been collected.
fn accepted(entered: io::Result<usize>) -> bool {
    match entered {
        Ok(_) => true,
        Err(error) => match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => false,
            // Nothing a device or a client does leads here: the ring or our use of it is broken.
            _ => panic!("io_uring_enter failed: {error}"),
        },
    }
}

const OLD_KERNEL: &str = "the kernel is too old: 6.1 or newer is needed";

fn unavailable(error: &io::Error) -> StartError {
    let sysctl = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
    StartError::Unavailable { why: explain(error, sysctl.as_deref().map(str::trim)) }
}

/// Turns the error of `io_uring_setup`, and what `kernel.io_uring_disabled` says, into a cause and a remedy.
fn explain(error: &io::Error, sysctl: Option<&str>) -> String {
    match (error.raw_os_error(), sysctl) {
        (Some(libc::EPERM), Some("1")) => "kernel.io_uring_disabled is 1; run `sysctl kernel.io_uring_disabled=0`, or as \
             root, or in the group that kernel.io_uring_group names"
            .into(),
        (Some(libc::EPERM), Some("2")) => {
            "kernel.io_uring_disabled is 2; run `sysctl kernel.io_uring_disabled=0` as root".into()
        }
        (Some(libc::EPERM | libc::EACCES), _) => "a seccomp filter or security module forbids it; in a container, run with a \
             profile that allows io_uring (Docker: --security-opt seccomp=unconfined, or a profile with io_uring_setup, \
             io_uring_enter and io_uring_register)"
            .into(),
        (Some(libc::ENOSYS), _) => {
            "the kernel was built without it, or a seccomp filter hides it; use Linux 6.1 or newer with CONFIG_IO_URING".into()
        }
        (Some(libc::EINVAL), _) => OLD_KERNEL.into(),
        (Some(libc::ENOMEM), _) => "the limit of locked memory is too low; raise it (`ulimit -l`)".into(),
        (Some(libc::EMFILE | libc::ENFILE), _) => "too many open files; raise the limit (`ulimit -n`)".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_ring_names_its_remedy() {
        let why = |errno, sysctl| explain(&io::Error::from_raw_os_error(errno), sysctl);
        assert!(why(libc::EPERM, Some("1")).contains("sysctl kernel.io_uring_disabled=0"));
        assert!(why(libc::EPERM, Some("2")).contains("sysctl kernel.io_uring_disabled=0"));
        assert!(why(libc::EPERM, Some("0")).contains("seccomp"));
        assert!(why(libc::EPERM, None).contains("seccomp"));
        assert!(why(libc::ENOSYS, None).contains("CONFIG_IO_URING"));
        assert!(why(libc::EINVAL, Some("0")).contains("6.1"));
        assert!(why(libc::ENOMEM, Some("0")).contains("ulimit -l"));
    }

    #[test]
    fn more_than_the_queue_holds_goes_through_the_backlog() {
        let mut ring = Ring::new(8).unwrap();
        for n in 0..1000 {
            // SAFETY: a no-op points to nothing.
            unsafe { ring.push(io_uring::opcode::Nop::new().build().user_data(n)) };
        }
        let mut all = Vec::new();
        while ring.in_flight() > 0 {
            ring.wait(Some(Duration::from_secs(5)));
            ring.collect(&mut all);
        }
        assert!(all.iter().map(|cqe| cqe.0).eq(0..1000), "no-ops complete in order, each once");
    }

    #[test]
    fn waiting_ends_in_time() {
        let mut ring = Ring::new(8).unwrap();
        let start = std::time::Instant::now();
        ring.wait(Some(Duration::from_millis(5)));
        assert!(start.elapsed() >= Duration::from_millis(5));
        assert!(!ring.has_news());
    }

    /// Filters bind one thread, so this one forbids itself the system call and then asks for a ring.
    #[test]
    fn a_seccomp_filter_is_named() {
        let result = std::thread::spawn(|| {
            let statement =
                |code: u32, jump_false, k| libc::sock_filter { code: code as u16, jt: 0, jf: jump_false, k };
            let mut program = [
                statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
                statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_io_uring_setup as u32),
                statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
                statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
            ];
            let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
            // SAFETY: plain numbers, and a filter program that outlives the call.
            let filtered = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
            };
            filtered.then(|| Ring::new(8).map(drop))
        });
        match result.join().unwrap() {
            None => println!("SKIPPED: this system takes no seccomp filter"),
            Some(result) => assert!(result.unwrap_err().to_string().contains("seccomp"), "names the filter"),
        }
    }
}
