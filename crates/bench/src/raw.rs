//! The limit that this machine's sockets set: a server that does nothing but move blocks between a Unix socket and a
//! flat piece of memory. No map, no checksum, no parity, no checks; after the negotiation it only knows requests of
//! 4 KiB. Replies go out straight from the memory, those of one batch in one system call.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cygnus_nbd::{Catalogue, ExportInfo, Next, ReplyEncoder, ServerHandshake, wire};
use cygnus_runtime::Pages;
use cygnus_types::BLOCK;

use crate::cpu::CpuClock;
use crate::servers::pin_thread;

/// Bytes that one receive can take, and that stay in a core's second-level cache.
const RECEIVE: usize = 256 << 10;
/// A look around that took longer than this was interrupted: the core did something else meanwhile.
const LONGEST_LOOK: Duration = Duration::from_micros(5);
/// Time without any work after which the thread sleeps a little.
const PATIENCE: Duration = Duration::from_millis(1);

/// The server at work; it ends with this.
pub(crate) struct RawServer {
    pub(crate) clock: CpuClock,
    thread: Option<JoinHandle<io::Result<()>>>,
    stop: Arc<AtomicBool>,
    spun: Arc<AtomicU64>,
}

impl RawServer {
    /// Serves `size` bytes of memory on a thread of its own, bound to a core.
    pub(crate) fn start(socket: &Path, size: usize, core: usize) -> io::Result<Self> {
        let (stop, spun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, spinning, socket) = (stop.clone(), spun.clone(), socket.to_owned());
        let thread = std::thread::Builder::new().name("raw".into()).spawn(move || {
            pin_thread(core)?;
            // In huge pages, as those of our memory devices.
            let pages = Pages::zeroed(size);
            // SAFETY: a mapping of `size` bytes, zeros and so valid; no other pointer into it is made, and `pages` lives to the
            // end of this closure, longer than the slice.
            let memory = unsafe { std::slice::from_raw_parts_mut(pages.start().as_ptr(), size) };
            memory.chunks_mut(BLOCK).for_each(|block| block[0] = 1);
            // Whoever connects is served from then on, however long that has taken.
            let listener = UnixListener::bind(socket)?;
            listener.set_nonblocking(true)?;
            serve(&listener, memory, &stopped, &spinning)
        })?;
        Ok(Self { clock: CpuClock::of_thread(&thread)?, thread: Some(thread), stop, spun })
    }

    /// Time spent looking for work in vain.
    pub(crate) fn spun(&self) -> Duration {
        Duration::from_nanos(self.spun.load(Ordering::Relaxed))
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // How it ended matters to nobody any more.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn serve(listener: &UnixListener, memory: &mut [u8], stop: &AtomicBool, spun: &AtomicU64) -> io::Result<()> {
    let mut connections: Vec<Connection> = Vec::new();
    let mut now = Instant::now();
    let mut busy = now;
    while !stop.load(Ordering::Relaxed) {
        let mut progress = false;
        connections.retain_mut(|connection| {
            let turn = connection.turn(memory);
            progress |= matches!(turn, Ok(true));
            turn.is_ok()
        });
        let looked = now.elapsed();
        now += looked;
        if progress {
            busy = now;
            continue;
        }
        if looked < LONGEST_LOOK {
            spun.fetch_add(looked.as_nanos() as u64, Ordering::Relaxed);
        }
        match listener.accept() {
            // A client that has given up meanwhile is no reason to leave the others.
            Ok((stream, _)) => connections.extend(Connection::negotiate(stream, memory.len() as u64)),
            Err(_) if now - busy > PATIENCE => std::thread::sleep(PATIENCE),
            Err(_) => {}
        }
    }
    Ok(())
}

struct Connection {
    stream: UnixStream,
    encoder: ReplyEncoder,
    /// What was received; `have` bytes of it are a request that is not complete.
    input: Vec<u8>,
    have: usize,
    /// Headers of the replies of one batch.
    headers: Vec<[u8; wire::SIMPLE_REPLY_BYTES]>,
    /// Where in the memory the data of each of them lies, if it has any.
    data: Vec<Option<usize>>,
}

/// The one export.
struct Memory(u64);

impl Catalogue for Memory {
    fn list(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn find(&mut self, name: &str) -> Option<ExportInfo> {
        let flags = wire::EXPORT_WRITABLE;
        Some(ExportInfo { name: name.into(), description: String::new(), size: self.0, page: 4096, flags })
    }
}

impl Connection {
    fn negotiate(mut stream: UnixStream, size: u64) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        let (mut input, mut out) = (Vec::new(), Vec::new());
        let mut handshake = ServerHandshake::new(&mut out);
        let encoder = loop {
            stream.write_all(&out)?;
            out.clear();
            let step = handshake.step(&input, &mut Memory(size), &mut out);
            let progress = step.map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))?;
            input.drain(..progress.consumed);
            match progress.next {
                Next::Again => {}
                Next::NeedMore(_) => {
                    let mut piece = [0; 4096];
                    match stream.read(&mut piece)? {
                        0 => return Err(ErrorKind::UnexpectedEof.into()),
                        bytes => input.extend_from_slice(&piece[..bytes]),
                    }
                }
                Next::Transmission(session) => {
                    stream.write_all(&out)?;
                    break ReplyEncoder::new(session.structured);
                }
                Next::Close => return Err(ErrorKind::ConnectionAborted.into()),
            }
        };
        stream.set_nonblocking(true)?;
        let have = input.len();
        input.resize(RECEIVE, 0);
        Ok(Self { stream, encoder, input, have, headers: Vec::new(), data: Vec::new() })
    }

    /// Takes what has come and answers it. Whether anything had.
    fn turn(&mut self, memory: &mut [u8]) -> io::Result<bool> {
        match self.stream.read(&mut self.input[self.have..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => self.have += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        let used = self.take_requests(memory);
        self.input.copy_within(used..self.have, 0);
        self.have -= used;
        self.reply(memory)?;
        Ok(true)
    }

    /// Carries out the complete requests of what was received; how many bytes they took.
    fn take_requests(&mut self, memory: &mut [u8]) -> usize {
        let mut at = 0;
        while self.have - at >= wire::REQUEST_BYTES {
            let header = &self.input[at..at + wire::REQUEST_BYTES];
            let number = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().expect("eight bytes"));
            let is_write = header[7] == 1;
            let (cookie, offset) = (number(8), number(16) as usize);
            let data = at + wire::REQUEST_BYTES;
            if is_write && self.have < data + BLOCK {
                break;
            }
            let mut reply = [0; wire::SIMPLE_REPLY_BYTES];
            self.encoder.done(&mut reply, cookie);
            self.headers.push(reply);
            at = data;
            if is_write {
                memory[offset..offset + BLOCK].copy_from_slice(&self.input[data..data + BLOCK]);
                at += BLOCK;
            }
            self.data.push((!is_write).then_some(offset));
        }
        at
    }

    fn reply(&mut self, memory: &[u8]) -> io::Result<()> {
        let mut pieces = Vec::with_capacity(2 * self.headers.len());
        for (header, data) in self.headers.iter().zip(&self.data) {
            pieces.push(IoSlice::new(header));
            pieces.extend(data.map(|at| IoSlice::new(&memory[at..at + BLOCK])));
        }
        let mut left = &mut pieces[..];
        while !left.is_empty() {
            let batch = left.len().min(libc::UIO_MAXIOV as usize);
            match self.stream.write_vectored(&left[..batch]) {
                Ok(bytes) => IoSlice::advance_slices(&mut left, bytes),
                // The client takes its replies at the same time.
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                Err(error) => return Err(error),
            }
        }
        self.headers.clear();
        self.data.clear();
        Ok(())
    }
}
