//! Work that may take as long as a disk gives no answer, on a thread of its own: the reactor goes on serving.

use cygnus_runtime::Runtime;
use cygnus_types::Nanos;
use std::io;
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;

/// How often to look whether the work is done.
const LOOK: Nanos = Nanos::millis(1);

/// Has `work` done; `None` when it has not ended within `patience`. Then what it brings is dropped, whenever that is.
///
/// # Errors
/// When there is no thread to be had.
pub async fn aside<T: Send + 'static>(
    rt: &Runtime,
    patience: Nanos,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (sender, receiver) = channel();
    // Whoever does not wait any more does not want it.
    thread::Builder::new().name("aside".into()).spawn(move || drop(sender.send(work())))?;
    let until = rt.now() + patience;
    loop {
        rt.sleep(LOOK).await;
        match receiver.try_recv() {
            Ok(brought) => return Ok(Some(brought)),
            Err(TryRecvError::Empty) if rt.now() < until => {}
            Err(_) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::HostError;
    use cygnus_host::devices::on_reactor;
    use std::time::{Duration, Instant};

    /// Somebody whose disk gives no answer for ten seconds.
    fn hang(sender: &std::sync::mpsc::Receiver<()>) {
        let _ = sender.recv_timeout(Duration::from_secs(10));
    }

    #[test]
    fn whoever_does_not_come_back_holds_nobody_up() {
        let begun = Instant::now();
        let (release, held) = channel();
        on_reactor(Vec::new(), async |reactor| {
            let back = aside(&reactor.rt, Nanos::secs(60), || 7).await;
            assert_eq!(back.unwrap(), Some(7));
            let back = aside(&reactor.rt, Nanos::millis(50), move || hang(&held)).await;
            assert_eq!(back.unwrap(), None);
            Ok::<_, HostError>(())
        })
        .unwrap();
        assert!(begun.elapsed() < Duration::from_secs(9), "the reactor waited");
        drop(release);
    }
}
