//! A load generator: a client of many connections on plain sockets and one thread, independent of the runtime.
//!
//! It is built to be faster than the servers it measures: replies are taken and requests sent in batches as large as
//! they come, the clock is read once per batch, what is received and what is written lies in buffers that stay in the
//! core's cache, and nothing is allocated while it runs. It also says how much of its own time it needed, so that a
//! reader can tell a fast server from a client at its limit.

mod connection;
mod dial;
mod replies;

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use cygnus_nbd::{Malformed, NbdUri, wire};
use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use crate::Histogram;
use connection::Connection;
pub use dial::{Dialled, dial};

/// Time without any progress before the thread sleeps until something comes: waking up costs tens of microseconds, and
/// the server the sending of an interrupt, so a wait as short as that for a server at work is better spent looking.
const LOOKING: Nanos = Nanos::millis(1);
/// A fruitless look that took longer than this was interrupted: the core did something else meanwhile.
const LONGEST_LOOK: Nanos = Nanos::micros(20);
/// Bytes one receive can take: dozens of replies, in a buffer that leaves room in a second-level cache.
const RECEIVE: usize = 256 << 10;
/// Bytes of random data that writes carry pieces of, unless one write is larger.
const DATA: usize = 64 << 10;
/// How long replies still outstanding at the end are waited for.
const LAST_REPLIES: Nanos = Nanos::secs(10);

/// What to do to a server.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Server and export.
    pub uri: NbdUri,
    /// Connections, each with its own queue.
    pub connections: usize,
    /// Requests kept in flight on each connection.
    pub depth: usize,
    /// Bytes per request; offsets are multiples of it.
    pub block: u32,
    /// Share of reads in percent; the rest are writes, which destroy what the export holds.
    pub read_percent: u8,
    /// Bytes of the export that are used, from its start; `None`: all.
    pub span: Option<u64>,
    /// Time before anything counts.
    pub warmup: Duration,
    /// Time that counts.
    pub duration: Duration,
    /// Seed of the random offsets.
    pub seed: u64,
}

impl LoadOptions {
    /// 4 KiB random reads, 4 connections at depth 32, one second of warming up and five that count.
    pub fn new(uri: NbdUri) -> Self {
        Self {
            uri,
            connections: 4,
            depth: 32,
            block: 4096,
            read_percent: 100,
            span: None,
            warmup: Duration::from_secs(1),
            duration: Duration::from_secs(5),
            seed: 1,
        }
    }
}

/// What the load did, and how long its requests took.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// The time that counted.
    pub elapsed: Duration,
    /// Reads that succeeded within `elapsed`.
    pub reads: u64,
    /// Writes that succeeded within `elapsed`.
    pub writes: u64,
    /// Requests that the server answered with an error.
    pub errors: u64,
    /// Bytes per request.
    pub block: u32,
    /// Time from sending a request to taking its reply.
    pub latency: Histogram,
    /// Processor time that the client needed, without what it spent looking for replies in vain. If it comes near
    /// `elapsed`, the client was the limit, not the server.
    pub client: Duration,
}

impl LoadReport {
    /// Requests that succeeded, per second.
    pub fn iops(&self) -> f64 {
        (self.reads + self.writes) as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Processor time of the client for each request that counts, in nanoseconds.
    pub fn client_ns(&self) -> f64 {
        self.client.as_nanos() as f64 / (self.reads + self.writes).max(1) as f64
    }

    /// Bytes that successful requests read or wrote, per second of `elapsed`.
    pub fn bytes_per_second(&self) -> f64 {
        self.iops() * f64::from(self.block)
    }
}

impl std::fmt::Display for LoadReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = |q| self.latency.quantile(q);
        write!(
            f,
            "{:.0} IOPS, {:.0} MB/s, p50 {} p99 {} p99.9 {}",
            self.iops(),
            self.bytes_per_second() / 1e6,
            at(0.5),
            at(0.99),
            at(0.999)
        )?;
        if self.errors > 0 { write!(f, ", {} ERRORS", self.errors) } else { Ok(()) }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The options contradict themselves or the export.
    #[error("{0}")]
    Options(String),
    /// No connection to the server.
    #[error("{uri}: cannot connect: {source}")]
    Connect {
        /// Server and export that were asked for.
        uri: NbdUri,
        /// What the system said.
        source: io::Error,
    },
    /// The connection broke while measuring.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The server does not speak NBD, or refuses.
    #[error(transparent)]
    Protocol(#[from] Malformed),
    /// Replies did not come.
    #[error("{0} requests were not answered within {LAST_REPLIES}")]
    Unanswered(usize),
}

/// What the connections share while running.
struct Load {
    rng: Rng,
    blocks: u64,
    block: u32,
    read_percent: u64,
    /// Replies taken now are counted.
    counting: bool,
    /// Requests are still being sent.
    issuing: bool,
    /// The time of this round, since the run began.
    now: Nanos,
    reads: u64,
    writes: u64,
    errors: u64,
    latency: Histogram,
    /// What writes carry.
    data: Vec<u8>,
    data_used: usize,
}

impl Load {
    /// The data of the next write: the pieces are used in turn.
    fn next_data(&mut self) -> Range<usize> {
        let len = self.block as usize;
        if self.data_used + len > self.data.len() {
            self.data_used = 0;
        }
        self.data_used += len;
        self.data_used - len..self.data_used
    }
}

/// The client's own processor time, since the counting began.
struct Effort {
    begun: Option<Duration>,
    ended: Option<Duration>,
    vain: Nanos,
}

impl Effort {
    /// Called once per round, before it.
    fn note(&mut self, counting: bool) {
        if counting && self.begun.is_none() {
            self.begun = Some(thread_time());
        } else if !counting && self.begun.is_some() && self.ended.is_none() {
            self.ended = Some(thread_time());
        }
    }

    fn spent(&self) -> Duration {
        let total = self.ended.unwrap_or_else(thread_time).saturating_sub(self.begun.unwrap_or_default());
        total.saturating_sub(self.vain.into())
    }
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec`, to a local variable of that type, and keeps no pointer. (It cannot fail: the
    // clock is the calling thread's own.)
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs a load to its end. Blocks the calling thread, which should have a core of its own.
///
/// # Errors
/// [`LoadError`]; errors that the server answers to single requests are only counted.
pub fn run(options: &LoadOptions) -> Result<LoadReport, LoadError> {
    let (mut load, mut connections) = prepare(options)?;
    let begun = Instant::now();
    let from = Nanos::from(options.warmup);
    let until = from + options.duration.into();
    connections.iter_mut().for_each(|connection| connection.fill(&mut load));
    let mut busy = Nanos::ZERO;
    let mut input = vec![0; RECEIVE];
    let mut effort = Effort { begun: None, ended: None, vain: Nanos::ZERO };
    let clock = || Nanos::from(begun.elapsed());
    load.now = clock();
    loop {
        load.counting = (from..until).contains(&load.now);
        load.issuing = load.now < until;
        effort.note(load.counting);
        let mut progress = false;
        for connection in &mut connections {
            progress |= connection.turn(&mut load, &mut input)?;
        }
        let outstanding: usize = connections.iter().map(Connection::outstanding).sum();
        if outstanding == 0 {
            break;
        }
        let looked = clock().since(load.now);
        load.now += looked;
        if progress {
            busy = load.now;
            continue;
        }
        if load.counting && looked < LONGEST_LOOK {
            effort.vain += looked;
        }
        if load.now > until + LAST_REPLIES {
            return Err(LoadError::Unanswered(outstanding));
        }
        if load.now.since(busy) > LOOKING {
            wait_for_any(&connections)?;
            load.now = clock();
        }
    }
    let Load { reads, writes, errors, latency, .. } = load;
    connections.into_iter().for_each(Connection::disconnect);
    let (elapsed, block, client) = (options.duration, options.block, effort.spent());
    Ok(LoadReport { elapsed, reads, writes, errors, block, latency, client })
}

fn prepare(options: &LoadOptions) -> Result<(Load, Vec<Connection>), LoadError> {
    let wrong = |what: String| Err(LoadError::Options(what));
    if options.connections == 0 || !(1..=connection::MAX_DEPTH).contains(&options.depth) {
        return wrong(format!("at least one connection, and a depth of 1 to {}, are needed", connection::MAX_DEPTH));
    }
    if options.block == 0 || options.block > wire::MAX_PAYLOAD || options.read_percent > 100 {
        return wrong("the block size must be 1 byte to 32 MiB and the share of reads at most 100 percent".into());
    }
    let mut rng = Rng::new(options.seed);
    let mut data = vec![0; DATA.max(options.block as usize)];
    rng.fill(&mut data);
    let open = |_| Connection::open(&options.uri, options.depth);
    let connections = (0..options.connections).map(open).collect::<Result<Vec<_>, _>>()?;
    let size = connections.iter().map(Connection::size).min().unwrap_or(0);
    let blocks = options.span.map_or(size, |span| span.min(size)) / u64::from(options.block);
    if blocks == 0 {
        return wrong(format!("the export has {size} bytes, not even one block of {}", options.block));
    }
    let load = Load {
        rng,
        blocks,
        block: options.block,
        read_percent: options.read_percent.into(),
        counting: false,
        issuing: true,
        now: Nanos::ZERO,
        reads: 0,
        writes: 0,
        errors: 0,
        latency: Histogram::default(),
        data,
        data_used: 0,
    };
    Ok((load, connections))
}

/// Sleeps until a connection can be received from (or sent to, where that waits), at most a tenth of a second.
fn wait_for_any(connections: &[Connection]) -> io::Result<()> {
    let mut waits: Vec<libc::pollfd> = connections.iter().map(Connection::poll).collect();
    // SAFETY: the array is valid for its length, and the descriptors in it are open.
    let result = unsafe { libc::poll(waits.as_mut_ptr(), waits.len() as libc::nfds_t, 100) };
    match io::Error::last_os_error() {
        error if result < 0 && error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}
