//! Honest clients for tests in which others are hostile: one that is watched, and one that is merely busy.
//!
//! `bystander SOCKET EXPORT watched THREAD` writes 4 KiB and reads them back, one request at a time with a pause after each pair.
//! For each line on standard input it prints how long the requests since the last line took: nanoseconds, in one line. What the
//! kernel kept the server's thread (`PID/task/TID`) or us waiting for a processor does not count: that is other programs' doing.
//!
//! `bystander SOCKET EXPORT busy` keeps 32 requests of 4 KiB under way, half of them reads.
//!
//! Both end with standard input. A reply that is wrong ends them with an error.

use cygnus_crashcheck::nbd::{self, Command, Request};
use cygnus_crashcheck::rng::Rng;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

const BLOCK: usize = 4096;
/// The blocks of each kind of client: a thousand of them, where no other client of these tests writes.
const WATCHED_FROM: u64 = 64 << 20;
const BUSY_FROM: u64 = 80 << 20;
const BLOCKS: u64 = 1024;
/// Requests that a busy client has under way.
const DEPTH: u64 = 32;
/// Between the pairs of the one that is watched.
const PAUSE: Duration = Duration::from_micros(300);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let connect = |socket| nbd::connect(Path::new(socket), args[1]).map(|(stream, _)| stream);
    let done = match args.as_slice() {
        [socket, _, "watched", thread] => connect(socket).and_then(|stream| watched(stream, thread)),
        [socket, _, "busy"] => connect(socket).and_then(busy),
        _ => {
            eprintln!("usage: bystander SOCKET EXPORT watched THREAD|busy");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bystander: {error}");
            ExitCode::FAILURE
        }
    }
}

fn watched(mut stream: UnixStream, server: &str) -> io::Result<()> {
    let clock = Clock::of(server);
    let (mut rng, mut took, mut orders) = (Rng::new(1), Vec::new(), Orders::default());
    let (mut data, mut back) = ([0; BLOCK], [0; BLOCK]);
    loop {
        let offset = WATCHED_FROM + rng.below(BLOCKS) * BLOCK as u64;
        data.as_chunks_mut().0.iter_mut().for_each(|word| *word = rng.draw().to_le_bytes());
        let began = clock.now()?;
        write_at(&mut stream, offset, &data)?;
        let between = clock.now()?;
        nbd::read_at(&mut stream, offset, &mut back)?;
        let ended = clock.now()?;
        took.extend([between.saturating_sub(began), ended.saturating_sub(between)]);
        if back != data {
            return Err(io::Error::other("a read does not show what was written"));
        }
        match orders.next()? {
            Order::None => {}
            Order::Tell => tell(&mut took)?,
            Order::End => return Ok(()),
        }
        sleep(PAUSE);
    }
}

/// A clock that stands while the kernel has a thread that wants to run wait for a processor.
struct Clock {
    epoch: Instant,
    /// Where the kernel tells how long the threads have waited. Where it does not, nothing is left out.
    waits: Vec<File>,
}

impl Clock {
    fn of(server: &str) -> Self {
        let waits = [server, "self"].map(|thread| File::open(format!("/proc/{thread}/schedstat")));
        Self { epoch: Instant::now(), waits: waits.into_iter().flatten().collect() }
    }

    fn now(&self) -> io::Result<Duration> {
        let mut now = self.epoch.elapsed();
        for waits in &self.waits {
            let mut text = [0; 80];
            let len = waits.read_at(&mut text, 0)?;
            // Nanoseconds of running, nanoseconds of waiting, how often it was given a processor.
            let waited = str::from_utf8(&text[..len]).ok().and_then(|text| text.split(' ').nth(1)?.parse().ok());
            let waited =
                waited.ok_or_else(|| io::Error::other("the kernel does not tell how long a thread has waited"))?;
            now = now.saturating_sub(Duration::from_nanos(waited));
        }
        Ok(now)
    }
}

fn write_at(stream: &mut UnixStream, offset: u64, data: &[u8]) -> io::Result<()> {
    nbd::send(stream, &request(Command::Write, offset), data)?;
    answered(stream, offset)
}

fn request(command: Command, offset: u64) -> Request {
    Request { command, flags: 0, cookie: offset, offset, length: BLOCK as u32 }
}

fn answered(stream: &mut UnixStream, cookie: u64) -> io::Result<()> {
    match nbd::recv(stream)? {
        (0, answered) if answered == cookie => Ok(()),
        (error, answered) => {
            Err(io::Error::other(format!("{cookie} was asked, {answered} answered with errno {error}")))
        }
    }
}

fn tell(took: &mut Vec<Duration>) -> io::Result<()> {
    let mut line = String::new();
    for time in took.drain(..) {
        write!(line, "{} ", time.as_nanos()).expect("a string takes what is written");
    }
    println!("{line}");
    io::stdout().flush()
}

fn busy(mut stream: UnixStream) -> io::Result<()> {
    let (mut rng, mut orders) = (Rng::new(2), Orders::default());
    let mut requests = Vec::new();
    // What comes back: heads, and the data of the reads, in whatever order.
    let mut replies = vec![0; DEPTH as usize * 16 + DEPTH as usize / 2 * BLOCK];
    while !matches!(orders.next()?, Order::End) {
        requests.clear();
        for n in 0..DEPTH {
            let offset = BUSY_FROM + rng.below(BLOCKS) * BLOCK as u64;
            let (command, data) = if n % 2 == 0 { (Command::Read, &[][..]) } else { (Command::Write, &[7; BLOCK][..]) };
            nbd::send(&mut requests, &request(command, offset), data)?;
        }
        stream.write_all(&requests)?;
        stream.read_exact(&mut replies)?;
    }
    Ok(())
}

/// What standard input says.
#[derive(Default)]
struct Orders {
    said: Vec<u8>,
}

enum Order {
    None,
    Tell,
    End,
}

impl Orders {
    /// The next order, if there is one by now.
    fn next(&mut self) -> io::Result<Order> {
        let mut input = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
        // SAFETY: it is one entry, a local variable, and the call does not wait.
        if self.said.is_empty() && unsafe { libc::poll(&raw mut input, 1, 0) } > 0 {
            let mut bytes = [0; 64];
            let count = io::stdin().read(&mut bytes)?;
            if count == 0 {
                return Ok(Order::End);
            }
            self.said.extend_from_slice(&bytes[..count]);
        }
        Ok(if self.said.drain(..).any(|byte| byte == b'\n') { Order::Tell } else { Order::None })
    }
}
