//! A drive with its listener, its workers, and the connections that it has.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread;
use std::time::Duration;

use cygnus_ssdlink::Stream;

use crate::claim::Claims;
use crate::clock::Clock;
use crate::construction::construction;
use crate::error::DriveError;
use crate::report::Report;
use crate::session::{Job, converse};
use crate::store::Store;

/// Connections that only look, at a time.
const LOOKERS: usize = 32;
/// All connections, with those that have not said yet what they want.
const CONNECTIONS: usize = 64;
/// Threads that read and write, and as many that flush, trim and convert: these may take long.
const WORKERS: usize = 3;
/// After a failed accept (no file descriptors left, say) the listener rests this long.
const REST: Duration = Duration::from_millis(100);
/// How long a stop waits for connections to end.
const ENDING: Duration = Duration::from_secs(10);

/// How to serve a drive.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file that [`crate::format`] has made.
    pub file: PathBuf,
    /// Whether answers take as long as the modelled drive would.
    pub timed: bool,
}

/// A socket that listens.
#[derive(Debug)]
pub enum Listener {
    /// At a file.
    Unix(UnixListener),
    /// At a port.
    Tcp(TcpListener),
}

impl Listener {
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Self::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
        }
    }

    fn raw_fd(&self) -> RawFd {
        match self {
            Self::Unix(listener) => listener.as_raw_fd(),
            Self::Tcp(listener) => listener.as_raw_fd(),
        }
    }
}

/// What all connections share.
pub(crate) struct Drive {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) claims: Claims,
    quick: Mutex<Sender<Job>>,
    slow: Mutex<Sender<Job>>,
    streams: Mutex<Vec<Weak<Stream>>>,
    one_ended: Condvar,
    stopping: AtomicBool,
}

impl Drive {
    /// Has a worker carry out a request.
    pub(crate) fn give(&self, job: Job, slow: bool) {
        let queue = if slow { &self.slow } else { &self.quick };
        // Workers end after the connections, so somebody hears it.
        let _ = queue.lock().expect("no holder panics").send(job);
    }

    /// Whether who only looks is one too many.
    pub(crate) fn is_crowded(&self) -> bool {
        self.connections() > LOOKERS
    }

    pub(crate) fn report(&self) -> Report {
        Report::of(&self.store, &self.clock, self.connections(), self.claims.is_held())
    }

    fn connections(&self) -> usize {
        self.streams.lock().expect("no holder panics").len()
    }

    /// Notes a connection; `false` if there are too many.
    fn came(&self, stream: &Arc<Stream>) -> bool {
        let mut streams = self.streams.lock().expect("no holder panics");
        let room = streams.len() < CONNECTIONS && !self.stopping.load(Ordering::Relaxed);
        if room {
            streams.push(Arc::downgrade(stream));
        }
        room
    }

    fn went(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams.lock().expect("no holder panics");
        streams.retain(|other| other.as_ptr() != Arc::as_ptr(stream));
        self.one_ended.notify_all();
    }

    fn hang_up_all(&self) {
        let streams = self.streams.lock().expect("no holder panics");
        streams.iter().filter_map(Weak::upgrade).for_each(|stream| stream.hang_up());
    }
}

/// A drive being served.
pub struct Server {
    drive: Arc<Drive>,
    listener: Arc<Listener>,
}

impl Server {
    /// Opens the drive and serves it to whoever connects, on threads of its own.
    ///
    /// # Errors
    /// See [`DriveError`].
    pub fn start(options: &Options, listener: Listener) -> Result<Self, DriveError> {
        let store = Store::open(&options.file)?;
        let clock = Clock::new(construction(store.model(), store.size())?, options.timed)?;
        let ((quick, quick_jobs), (slow, slow_jobs)) = (channel(), channel());
        let drive = Arc::new(Drive {
            store,
            clock,
            claims: Claims::default(),
            quick: Mutex::new(quick),
            slow: Mutex::new(slow),
            streams: Mutex::default(),
            one_ended: Condvar::new(),
            stopping: AtomicBool::new(false),
        });
        for jobs in [quick_jobs, slow_jobs].map(|jobs| Arc::new(Mutex::new(jobs))) {
            for _ in 0..WORKERS {
                let (drive, jobs) = (Arc::downgrade(&drive), jobs.clone());
                spawn(&options.file, "worker", move || work(&drive, &jobs))?;
            }
        }
        let listener = Arc::new(listener);
        let accepting = (drive.clone(), listener.clone());
        spawn(&options.file, "accept", move || accept(&accepting.0, &accepting.1))?;
        Ok(Self { drive, listener })
    }

    /// How the drive has fared.
    pub fn report(&self) -> Report {
        self.drive.report()
    }

    /// The drive, as its connections have it.
    pub fn store(&self) -> &Store {
        &self.drive.store
    }

    /// Ends all connections as if the network had, and goes on listening.
    pub fn hang_up(&self) {
        self.drive.hang_up_all();
    }

    /// Ends all connections, lets what is under way end, and makes everything durable.
    ///
    /// # Errors
    /// When the last flush fails.
    pub fn stop(self) -> io::Result<()> {
        self.drive.stopping.store(true, Ordering::Relaxed);
        // SAFETY: the descriptor is open. Whoever accepts is woken.
        unsafe { libc::shutdown(self.listener.raw_fd(), libc::SHUT_RDWR) };
        self.drive.hang_up_all();
        self.drive.clock.stop();
        let streams = self.drive.streams.lock().expect("no holder panics");
        let some = |streams: &mut Vec<Weak<Stream>>| !streams.is_empty();
        drop(self.drive.one_ended.wait_timeout_while(streams, ENDING, some).expect("no holder panics"));
        let flushed = self.drive.store.flush();
        self.drive.store.unlock();
        flushed
    }
}

/// Ends the process when a thread panics: others would wait for it for ever, and a drive that is killed loses nothing.
struct EndsTheProcess;

impl Drop for EndsTheProcess {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("a thread of the drive panicked: the process ends");
            std::process::abort();
        }
    }
}

fn begin(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let guarded = move || {
        let _guard = EndsTheProcess;
        body();
    };
    thread::Builder::new().name(name.into()).spawn(guarded).map(drop)
}

fn spawn(file: &Path, name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), DriveError> {
    begin(name, body).map_err(|source| DriveError::Io { path: file.to_owned(), doing: "start a thread", source })
}

/// Carries out requests as long as there is a drive.
fn work(drive: &Weak<Drive>, jobs: &Mutex<Receiver<Job>>) {
    loop {
        // One waits with the lock, the others for the lock.
        let next = jobs.lock().expect("no holder panics").recv();
        let (Ok(job), Some(drive)) = (next, drive.upgrade()) else { return };
        job.run(&drive);
    }
}

fn accept(drive: &Arc<Drive>, listener: &Listener) {
    while !drive.stopping.load(Ordering::Relaxed) {
        let Ok(stream) = listener.accept() else {
            // Stopped, or there is something that may pass.
            thread::sleep(REST);
            continue;
        };
        let stream = Arc::new(stream);
        if !drive.came(&stream) {
            continue;
        }
        let theirs = (drive.clone(), stream.clone());
        let converse = move || {
            converse(&theirs.0, &theirs.1);
            theirs.0.went(&theirs.1);
        };
        if begin("requests", converse).is_err() {
            drive.went(&stream);
        }
    }
}
