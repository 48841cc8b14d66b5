//! The thread that writes a server's log. Whoever reads the log may stop to read (a terminal that is held, a service manager that hangs), and
//! reactors must not wait for that. Lines wait in a queue with a bound; those that come while it is full are counted and left out.

use crate::log::stamped;
use crate::options::Voice;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Lines that may wait.
const WAITING: usize = 1024;

/// How long the end of a server waits for the lines that wait.
const AT_THE_END: Duration = Duration::from_secs(2);

/// A line, and for whom it is.
pub enum Said {
    Line(String),
    Detail(String),
}

/// See the module's text. The lines that wait when it is dropped are written, if that takes no longer than two seconds.
pub struct Scribe {
    /// None while this is being dropped.
    queue: Option<SyncSender<Said>>,
    /// Never sent on; its other end is dropped when all has been written. A mutex, as a receiver cannot be shared by itself.
    written: Mutex<Receiver<()>>,
    left_out: Arc<AtomicU64>,
}

impl Scribe {
    /// Begins to write to `voice`; what it says of its own begins with the time if `times`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn new(voice: Arc<dyn Voice>, times: bool) -> io::Result<Self> {
        let (queue, lines) = sync_channel(WAITING);
        let (end, written) = sync_channel(0);
        let left_out = Arc::new(AtomicU64::new(0));
        let counted = left_out.clone();
        thread::Builder::new().name("log".into()).spawn(move || {
            let _end: SyncSender<()> = end;
            write_all(&lines, &*voice, &counted, times);
        })?;
        Ok(Self { queue: Some(queue), written: Mutex::new(written), left_out })
    }

    /// Has a line written, soon. Waits for nothing.
    pub fn write(&self, said: Said) {
        let is_taken = self.queue.as_ref().is_some_and(|queue| queue.try_send(said).is_ok());
        self.left_out.fetch_add(u64::from(!is_taken), Ordering::Relaxed);
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.queue = None;
        // Both ways to end are as good: the other end is gone, or nobody reads the log.
        let _ = self.written.get_mut().expect("no holder panics").recv_timeout(AT_THE_END);
    }
}

fn write_all(lines: &Receiver<Said>, voice: &dyn Voice, left_out: &AtomicU64, times: bool) {
    let tell_left_out = || {
        let count = left_out.swap(0, Ordering::Relaxed);
        if count > 0 {
            let text = format!("warning: {count} lines of the log are left out, as it was not read for a while");
            voice.say(&stamped(times, &text));
        }
    };
    loop {
        // What was left out came after all that waited.
        let next = lines.try_recv().or_else(|_| {
            tell_left_out();
            lines.recv()
        });
        match next {
            Ok(Said::Line(line)) => voice.say(&line),
            Ok(Said::Detail(line)) => voice.detail(&line),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Ready;
    use std::sync::Condvar;
    use std::sync::mpsc::{Sender, channel};

    /// Holds every line back until the reader goes on to read.
    struct Held {
        reads: Mutex<bool>,
        changed: Condvar,
        lines: Mutex<Sender<String>>,
    }

    impl Held {
        fn goes_on(&self) {
            *self.reads.lock().unwrap() = true;
            self.changed.notify_all();
        }
    }

    impl Voice for Held {
        fn say(&self, line: &str) {
            let reads = self.reads.lock().unwrap();
            drop(self.changed.wait_while(reads, |reads| !*reads).unwrap());
            self.lines.lock().unwrap().send(line.into()).unwrap();
        }

        fn detail(&self, line: &str) {
            self.say(line);
        }

        fn ready(&self, _: &Ready) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nobody_waits_for_a_log_that_is_not_read_and_what_was_left_out_is_counted() {
        let (sender, lines) = channel();
        let voice = Arc::new(Held { reads: Mutex::new(false), changed: Condvar::new(), lines: Mutex::new(sender) });
        let scribe = Scribe::new(voice.clone(), false).unwrap();
        let all = WAITING as u64 * 3;
        (0..all).for_each(|n| scribe.write(Said::Line(n.to_string())));
        voice.goes_on();
        drop(scribe);
        let lines: Vec<String> = lines.try_iter().collect();
        let (told, written): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.starts_with("warning"));
        // A line that comes as one is taken from the full queue has its place, so what is left out may lie before it.
        let numbers: Vec<u64> = written.iter().map(|line| line.parse().unwrap()).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "in their order");
        assert_eq!(numbers[..WAITING], (0..WAITING as u64).collect::<Vec<_>>(), "none of the first is left out");
        let left_out = all - written.len() as u64;
        // One may have been taken from the queue before it was full.
        assert!(left_out.abs_diff(all - WAITING as u64) <= 1, "{left_out}");
        assert_eq!(lines.last(), told.first().copied(), "after all that waited");
        assert_eq!(
            told,
            [&format!("warning: {left_out} lines of the log are left out, as it was not read for a while")]
        );
    }

    #[test]
    fn the_end_waits_for_what_is_to_be_written_and_not_for_ever() {
        let (sender, lines) = channel();
        let voice = Arc::new(Held { reads: Mutex::new(true), changed: Condvar::new(), lines: Mutex::new(sender) });
        let scribe = Scribe::new(voice.clone(), false).unwrap();
        (0..10).for_each(|n| scribe.write(Said::Detail(n.to_string())));
        drop(scribe);
        assert_eq!(lines.try_iter().count(), 10);
        *voice.reads.lock().unwrap() = false;
        let scribe = Scribe::new(voice, false).unwrap();
        scribe.write(Said::Line("never read".into()));
        drop(scribe);
        assert_eq!(lines.try_iter().count(), 0);
    }
}
