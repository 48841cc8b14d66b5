//! The load: connections at depth, mixed sizes, overlapping on purpose, everything logged.

use crate::history::{Effect, Flush, LiveRead, Log, NEVER, Op, Tick};
use crate::nbd::{self, Command, FLAG_FUA, FLAG_NO_HOLE, Request};
use crate::rng::Rng;
use crate::sector::{self, SECTOR, Version};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Sectors one round may write, all connections together: bounds the checker's memory, not the server.
const ROUND_BUDGET: u64 = 6 << 20;

/// Numbers that live as long as the checker does.
#[derive(Debug)]
pub struct Clock {
    tick: AtomicU64,
    version: AtomicU64,
}

impl Clock {
    /// Ticks and versions start at 1: 0 means "before everything" and "zeros".
    pub fn new() -> Self {
        Clock { tick: AtomicU64::new(1), version: AtomicU64::new(1) }
    }

    fn tick(&self) -> Tick {
        self.tick.fetch_add(1, Ordering::SeqCst)
    }

    fn version(&self) -> Version {
        self.version.fetch_add(1, Ordering::SeqCst)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new()
    }
}

/// What the connections of one round do. Percentages are of requests; what is left over are writes.
#[derive(Clone, Debug)]
pub struct Style {
    /// Connections that load the server side by side.
    pub connections: u64,
    /// Requests in flight on each.
    pub depth: usize,
    /// Whether anything is flushed at all, or written with FUA.
    pub flushes: bool,
    /// Requests that are flushes, per thousand.
    pub flush_permille: u64,
    /// Writes, zeroings and trims with FUA.
    pub fua_percent: u64,
    /// Reads, in percent of all requests.
    pub read_percent: u64,
    /// TRIM and WRITE_ZEROES, in percent of all requests.
    pub zero_percent: u64,
    /// TRIM among them: for servers that promise that it reads back as zeros.
    pub trims: bool,
    /// Sectors of the largest request.
    pub largest: u64,
    /// Part of the volume that takes half of the requests, so that overwrites and overlaps are frequent: 1/2^n.
    pub hot_shift: u32,
}

impl Style {
    /// A style drawn at random: rounds should differ in more than their timing.
    pub fn random(rng: &mut Rng, trims: bool, flushes: bool) -> Self {
        Style {
            connections: 1 + rng.below(5),
            flushes,
            depth: [1, 4, 16, 32][rng.below(4) as usize],
            flush_permille: [0, 2, 20, 20, 200][rng.below(5) as usize],
            fua_percent: [0, 2, 2, 30][rng.below(4) as usize],
            read_percent: 10,
            zero_percent: [0, 5, 5, 20][rng.below(4) as usize],
            trims,
            largest: [8, 128, 512, 2048][rng.below(4) as usize],
            hot_shift: 2 + rng.below(5) as u32,
        }
    }
}

/// What the load is aimed at.
#[derive(Clone, Debug)]
pub struct Aim<'a> {
    /// The server's Unix socket.
    pub socket: &'a Path,
    /// Name of the export to load.
    pub export: &'a str,
    /// The run written into every sector.
    pub run: u64,
    /// Size of the volume.
    pub sectors: u64,
}

/// What came of a round's load.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Every request and its answer, from which the judge tells what may be lost.
    pub log: Log,
    /// What the server did wrong while it lived: errors answered, connections dropped.
    pub complaints: Vec<String>,
}

/// State shared by the connections of one round and the one who ends it.
#[derive(Debug)]
pub struct Control {
    ending: AtomicBool,
    answered: AtomicU64,
    budget: AtomicU64,
}

impl Control {
    /// A round that has just begun: nothing answered, and the whole budget of requests left.
    pub fn new() -> Self {
        Control { ending: AtomicBool::new(false), answered: AtomicU64::new(0), budget: AtomicU64::new(ROUND_BUDGET) }
    }

    /// From now on a lost connection is no complaint. Call before the server is killed or stopped.
    pub fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
    }

    /// Requests answered so far.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    fn ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Takes `sectors` from the round's budget; false when it is used up.
    fn grant(&self, sectors: u64) -> bool {
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(sectors)).is_ok()
    }
}

impl Default for Control {
    fn default() -> Self {
        Control::new()
    }
}

/// Runs the load until its connections end, which is when the server dies.
pub fn run(aim: &Aim<'_>, style: &Style, clock: &Clock, control: &Control, seed: u64) -> Outcome {
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let run_one = |i| {
            let rng = Rng::new(seed ^ (i << 48));
            scope.spawn(move || connection(aim, style, clock, control, rng))
        };
        let threads: Vec<_> = (0..style.connections).map(run_one).collect();
        threads.into_iter().map(|t| t.join().expect("load thread does not panic")).collect()
    });
    let mut all = Outcome::default();
    for mut one in outcomes {
        all.log.ops.append(&mut one.log.ops);
        all.log.flushes.append(&mut one.log.flushes);
        all.log.reads.append(&mut one.log.reads);
        all.complaints.append(&mut one.complaints);
    }
    all
}

/// A request in flight.
enum Pending {
    /// Index into the log's operations.
    Op(usize),
    Flush(Flush),
    Read {
        begin: Tick,
        first: u64,
        bytes: usize,
    },
}

/// What the sending and the receiving thread of a connection share.
#[derive(Default)]
struct Book {
    outcome: Outcome,
    in_flight: BTreeMap<u64, Pending>,
    closed: bool,
}

struct Connection<'a> {
    aim: &'a Aim<'a>,
    clock: &'a Clock,
    control: &'a Control,
    book: Mutex<Book>,
    room: Condvar,
}

fn connection(aim: &Aim<'_>, style: &Style, clock: &Clock, control: &Control, rng: Rng) -> Outcome {
    let stream = match nbd::connect(aim.socket, aim.export) {
        Ok((stream, _)) => stream,
        Err(e) => {
            let complaints = if control.ending() { Vec::new() } else { vec![format!("connect: {e}")] };
            return Outcome { complaints, ..Outcome::default() };
        }
    };
    let this = Connection { aim, clock, control, book: Mutex::default(), room: Condvar::new() };
    std::thread::scope(|scope| {
        scope.spawn(|| this.close(this.receive(&stream), "receiving"));
        let sent = this.send(&stream, style, rng);
        this.close(sent, "sending");
    });
    this.book.into_inner().expect("no thread panicked").outcome
}

impl Connection<'_> {
    fn close(&self, result: io::Result<()>, doing: &str) {
        let mut book = self.book.lock().expect("no thread panicked");
        if let (Err(e), false) = (result, self.control.ending()) {
            book.outcome.complaints.push(format!("connection lost while {doing}: {e}"));
        }
        book.closed = true;
        self.room.notify_all();
    }

    /// Sends until the connection ends; then makes sure that the receiver notices too.
    fn send(&self, stream: &UnixStream, style: &Style, mut rng: Rng) -> io::Result<()> {
        let mut payload = Vec::new();
        let result = (0..).try_for_each(|cookie| {
            if !self.wait_for_room(style.depth) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let request = self.choose(style, &mut rng, cookie, &mut payload);
            nbd::send(&mut &*stream, &request, &payload)
        });
        let _ = stream.shutdown(Shutdown::Both);
        // The receiver sees why the connection ended and says so; a second voice adds nothing.
        result.or_else(|e: io::Error| if e.kind() == io::ErrorKind::ConnectionAborted { Ok(()) } else { Err(e) })
    }

    fn wait_for_room(&self, depth: usize) -> bool {
        let mut book = self.book.lock().expect("no thread panicked");
        while !book.closed && book.in_flight.len() >= depth {
            book = self.room.wait(book).expect("no thread panicked");
        }
        !book.closed
    }

    /// Chooses the next request, fills its payload and enters it into the book: after this it counts as sent.
    fn choose(&self, style: &Style, rng: &mut Rng, cookie: u64, payload: &mut Vec<u8>) -> Request {
        payload.clear();
        let (first, sectors) = self.place(style, rng);
        let (offset, length) = (first * SECTOR as u64, (sectors * SECTOR as u64) as u32);
        let within_budget = self.control.grant(sectors);
        if !within_budget {
            std::thread::sleep(Duration::from_millis(10));
        }
        if style.flushes && (!within_budget || rng.below(1000) < style.flush_permille) {
            self.enter(cookie, |_, begin| Pending::Flush(Flush { begin }));
            return Request { command: Command::Flush, flags: 0, cookie, offset: 0, length: 0 };
        }
        if !within_budget || rng.percent(style.read_percent) {
            self.enter(cookie, |_, begin| Pending::Read { begin, first, bytes: length as usize });
            return Request { command: Command::Read, flags: 0, cookie, offset, length };
        }
        let fua = rng.percent(style.fua_percent) && style.flushes;
        let version = self.clock.version();
        let (command, mut flags, effect) = if rng.percent(style.zero_percent) {
            zeroing(rng, first, sectors, style.trims)
        } else {
            payload.resize(length as usize, 0);
            sector::fill(payload, self.aim.run, first, version);
            (Command::Write, 0, Effect::Data)
        };
        flags |= if fua { FLAG_FUA } else { 0 };
        self.enter(cookie, |ops, begin| {
            ops.push(Op { version, effect, first, sectors, fua, begin, end: NEVER });
            Pending::Op(ops.len() - 1)
        });
        Request { command, flags, cookie, offset, length }
    }

    fn enter(&self, cookie: u64, what: impl FnOnce(&mut Vec<Op>, Tick) -> Pending) {
        let mut book = self.book.lock().expect("no thread panicked");
        let pending = what(&mut book.outcome.log.ops, self.clock.tick());
        book.in_flight.insert(cookie, pending);
    }

    /// Where the next request goes: whole blocks mostly, odd sectors often, half of all in the hot part.
    fn place(&self, style: &Style, rng: &mut Rng) -> (u64, u64) {
        let sectors = match rng.below(10) {
            0..5 => 8,
            5..7 => 1 + rng.below(16),
            _ => 1 + rng.below(style.largest),
        };
        let span = if rng.percent(50) { self.aim.sectors >> style.hot_shift } else { self.aim.sectors };
        let sectors = sectors.min(span);
        let first = rng.below(span - sectors + 1);
        if rng.percent(70) { (first & !7, sectors) } else { (first, sectors) }
    }

    fn receive(&self, mut stream: &UnixStream) -> io::Result<()> {
        let mut data = Vec::new();
        loop {
            let (error, cookie) = nbd::recv(&mut stream)?;
            let pending = self.book.lock().expect("no thread panicked").in_flight.remove(&cookie);
            let Some(pending) = pending else {
                return Err(io::Error::other(format!("reply to request {cookie}, which is not in flight")));
            };
            let seen = match pending {
                Pending::Read { bytes, first, .. } if error == 0 => {
                    data.resize(bytes, 0);
                    stream.read_exact(&mut data)?;
                    let sectors = (first..).zip(data.chunks_exact(SECTOR));
                    sectors.map(|(n, s)| sector::inspect(s, self.aim.run, n)).collect()
                }
                _ => Vec::new(),
            };
            self.record(pending, error, seen);
        }
    }

    fn record(&self, pending: Pending, error: u32, seen: Vec<sector::Seen>) {
        let mut book = self.book.lock().expect("no thread panicked");
        let end = self.clock.tick();
        let log = &mut book.outcome.log;
        match pending {
            _ if error != 0 => {
                // A server on its way out may refuse; what it refused may or may not have happened.
                if !self.control.ending() {
                    let complaint = format!("errno {error} answered to {}", describe(&pending, &log.ops));
                    book.outcome.complaints.push(complaint);
                }
            }
            Pending::Op(i) => log.ops[i].end = end,
            Pending::Flush(flush) => log.flushes.push(flush),
            Pending::Read { begin, first, .. } => log.reads.push(LiveRead { begin, end, first, seen }),
        }
        self.control.answered.fetch_add(1, Ordering::Relaxed);
        self.room.notify_all();
    }
}

/// TRIM or WRITE_ZEROES. A trim of part of a block need not zero that part, so only whole blocks are trimmed.
fn zeroing(rng: &mut Rng, first: u64, sectors: u64, trims: bool) -> (Command, u16, Effect) {
    let whole_blocks = first.is_multiple_of(8) && sectors.is_multiple_of(8);
    match rng.below(3) {
        0 if whole_blocks && trims => (Command::Trim, 0, Effect::Zeros),
        1 => (Command::WriteZeroes, FLAG_NO_HOLE, Effect::Zeros),
        _ => (Command::WriteZeroes, 0, Effect::Zeros),
    }
}

fn describe(pending: &Pending, ops: &[Op]) -> String {
    match pending {
        Pending::Op(i) => format!("{:?}", ops[*i]),
        Pending::Flush(_) => "a flush".to_owned(),
        Pending::Read { first, bytes, .. } => format!("a read of {bytes} bytes at sector {first}"),
    }
}
