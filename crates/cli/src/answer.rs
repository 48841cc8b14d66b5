//! Work that asks a file system or a device which may give no answer: on a thread of its own, and waited for with patience.
//! Whoever waits at a terminal, or reads the log of a service that does not start, is told what for.

use crate::failure::Failure;
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
    pub fn new(path: &Path, work: impl FnOnce() -> T + Send + 'static) -> Result<Self, Failure> {
        let (sender, answer) = channel();
        // Whoever has stopped waiting needs it no more.
        let errand = move || drop(sender.send(work()));
        let spawned = std::thread::Builder::new().name("answer".into()).spawn(errand);
        spawned.map_err(|error| Failure::Failed(format!("{}: no thread for it: {error}", path.display())))?;
        Ok(Self { path: path.to_owned(), since: Instant::now(), answer })
    }

    /// The answer; the error is a sentence that says that there was none in time.
    pub fn wait(self) -> Result<T, String> {
        let path = self.path.display();
        let left = |until: Duration| until.saturating_sub(self.since.elapsed());
        let mut answer = self.answer.recv_timeout(left(NOTICE));
        if matches!(answer, Err(RecvTimeoutError::Timeout)) {
            eprintln!("warning: waiting for {path}: it has given no answer for {} s", NOTICE.as_secs());
            answer = self.answer.recv_timeout(left(PATIENCE));
        }
        answer.map_err(|_| format!("{path}: it has given no answer for {} s", PATIENCE.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_passed_on_and_a_panic_is_none() {
        let path = Path::new("/a/path");
        assert_eq!(Awaited::new(path, || 5).unwrap().wait(), Ok(5));
        let none = Awaited::<u32>::new(path, || panic!("planted")).unwrap().wait();
        assert!(none.unwrap_err().starts_with("/a/path: it has given no answer"));
    }
}
