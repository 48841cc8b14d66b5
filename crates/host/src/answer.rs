//! Work that asks a file system or a device which may give no answer: on a thread of its own, and waited for with patience.
//! Whoever waits at a terminal, or reads the log of a service that does not start, is told what for.

use crate::HostError;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time without an answer after which the command says what it waits for.
const NOTICE: Duration = Duration::from_secs(3);
/// And then it is not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(15);

/// An answer that is awaited.
pub struct Awaited<T> {
    path: PathBuf,
    since: Instant,
    answer: Receiver<T>,
}

impl<T: Send + 'static> Awaited<T> {
    /// Has `work` done, which concerns `path`.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn new(path: &Path, work: impl FnOnce() -> T + Send + 'static) -> Result<Self, HostError> {
        let (sender, answer) = channel();
        // Whoever has stopped waiting needs it no more.
        let errand = move || drop(sender.send(work()));
        let spawned = std::thread::Builder::new().name("answer".into()).spawn(errand);
        spawned.map_err(|source| HostError::NoThread { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), since: Instant::now(), answer })
    }

    /// The answer.
    ///
    /// # Errors
    /// When there was none in time.
    pub fn wait(self) -> Result<T, HostError> {
        let path = self.path.display();
        let left = |until: Duration| until.saturating_sub(self.since.elapsed());
        let mut answer = self.answer.recv_timeout(left(NOTICE));
        if matches!(answer, Err(RecvTimeoutError::Timeout)) {
            // A standard error that takes nothing any more is no reason to end.
            let seconds = NOTICE.as_secs();
            let _ = writeln!(io::stderr(), "warning: waiting for {path}: it has given no answer for {seconds} s");
            answer = self.answer.recv_timeout(left(PATIENCE));
        }
        answer.map_err(|_| HostError::NoAnswer { path: self.path.clone(), patience: PATIENCE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_passed_on_and_a_panic_is_none() {
        let path = Path::new("/a/path");
        assert_eq!(Awaited::new(path, || 5).unwrap().wait().unwrap(), 5);
        let none = Awaited::<u32>::new(path, || panic!("planted")).unwrap().wait();
        assert!(none.unwrap_err().to_string().starts_with("/a/path: it has given no answer"));
    }
}
