//! A connection to a software SSD: requests go out and answers come in on threads of their own, in any order.
//!
//! Requests carry copies of what is written, and answers bring copies of what was read, so no thread but the reactor's touches
//! an operation's buffers.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use cygnus_runtime::{IoError, IoErrorKind};
use cygnus_ssdlink::{Command, MAX_DATA, REPLY_BYTES, Reply, Request, Status, Stream, WireError, check_payload};

/// What a request came to: what the drive sent back.
pub(crate) type Answer = Result<Vec<u8>, IoError>;

/// Hears an answer, on another thread.
type Hear = Box<dyn FnOnce(Answer) + Send>;

/// What is asked and not answered.
struct Asked {
    next: u64,
    waiting: BTreeMap<u64, Hear>,
    /// The connection is gone.
    lost: bool,
}

struct Inner {
    stream: Arc<Stream>,
    asked: Arc<Mutex<Asked>>,
    out: Sender<Vec<u8>>,
    number: u64,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Both threads end by it.
        self.stream.hang_up();
    }
}

/// See the module's text. Clones share the connection; it ends with the last one.
#[derive(Clone)]
pub(crate) struct Link(Arc<Inner>);

impl Link {
    /// Takes over a connection that the drive has welcomed. It is the `number`th to this device.
    pub(crate) fn new(stream: Stream, number: u64) -> io::Result<Self> {
        let stream = Arc::new(stream);
        let asked = Arc::new(Mutex::new(Asked { next: 0, waiting: BTreeMap::new(), lost: false }));
        let (out, requests) = channel();
        let (writer, reader) = ((stream.clone(), asked.clone()), (stream.clone(), asked.clone()));
        thread::Builder::new().name("requests".into()).spawn(move || {
            send(&writer.0, &requests);
            lose(&writer.0, &writer.1);
        })?;
        thread::Builder::new().name("answers".into()).spawn(move || {
            // Whatever ended it, the way to the drive is lost.
            let _ = receive(&reader.0, &reader.1);
            lose(&reader.0, &reader.1);
        })?;
        Ok(Self(Arc::new(Inner { stream, asked, out, number })))
    }

    /// Counts the connections to a device.
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// Ends the connection. What was asked fails.
    pub(crate) fn hang_up(&self) {
        self.0.stream.hang_up();
        lose(&self.0.stream, &self.0.asked);
    }

    /// Asks the drive something. `hear` is called once, whatever happens; on another thread, or within this call.
    pub(crate) fn ask(&self, command: Command, payload: &[&[u8]], hear: impl FnOnce(Answer) + Send + 'static) {
        let mut bytes = vec![0; cygnus_ssdlink::REQUEST_BYTES];
        payload.iter().for_each(|part| bytes.extend_from_slice(part));
        let mut asked = self.0.asked.lock().expect("no holder panics");
        if asked.lost {
            drop(asked);
            return hear(Err(lost()));
        }
        let id = asked.next;
        asked.next += 1;
        asked.waiting.insert(id, Box::new(hear));
        drop(asked);
        let (header, payload) = bytes.split_at_mut(cygnus_ssdlink::REQUEST_BYTES);
        header.copy_from_slice(&Request::new(id, command, payload).encode());
        // The thread that sends ends only when the connection is lost, and then everybody who waits is told.
        let _ = self.0.out.send(bytes);
    }

    /// Reads now, blocking.
    pub(crate) fn read_now(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut all = Vec::with_capacity(len);
        while all.len() < len {
            let piece = (len - all.len()).min(MAX_DATA as usize);
            let (sender, receiver) = channel();
            let command = Command::Read { offset: offset + all.len() as u64, len: piece as u64 };
            self.ask(command, &[], move |answer| drop(sender.send(answer)));
            let answer = receiver.recv().map_err(io::Error::other)?.map_err(io::Error::other)?;
            if answer.len() != piece {
                return Err(io::ErrorKind::InvalidData.into());
            }
            all.extend(answer);
        }
        Ok(all)
    }
}

/// The way to the drive is lost. The drive may be as well as ever.
fn lost() -> IoError {
    IoError::of_device(libc::ECONNRESET)
}

/// Tells everybody who waits that the connection is gone.
fn lose(stream: &Stream, asked: &Mutex<Asked>) {
    stream.hang_up();
    let mut asked = asked.lock().expect("no holder panics");
    asked.lost = true;
    let waiting = std::mem::take(&mut asked.waiting);
    drop(asked);
    waiting.into_values().for_each(|hear| hear(Err(lost())));
}

/// Sends requests as they come, several at a time where there are.
fn send(mut stream: &Stream, requests: &Receiver<Vec<u8>>) {
    /// As much goes out at once.
    const TOGETHER: usize = 256 << 10;
    while let Ok(mut bytes) = requests.recv() {
        while bytes.len() < TOGETHER
            && let Ok(next) = requests.try_recv()
        {
            bytes.extend(next);
        }
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// Hands out answers until the connection ends.
fn receive(mut stream: &Stream, asked: &Mutex<Asked>) -> io::Result<()> {
    loop {
        let mut header = [0; REPLY_BYTES];
        stream.read_exact(&mut header)?;
        let reply = Reply::decode(&header).map_err(io::Error::other)?;
        let mut payload = vec![0; reply.payload_bytes as usize];
        stream.read_exact(&mut payload)?;
        check_payload(&payload, reply.payload_crc).map_err(io::Error::other)?;
        let hear = asked.lock().expect("no holder panics").waiting.remove(&reply.id);
        let hear = hear.ok_or(io::Error::other(WireError::Meaning { what: "an answer that nobody asked for" }))?;
        hear(judged(&reply, payload));
    }
}

fn judged(reply: &Reply, payload: Vec<u8>) -> Answer {
    match reply.status {
        Status::Done => Ok(payload),
        Status::Medium => Err(IoError::new(IoErrorKind::Medium)),
        Status::Range => Err(IoError::new(IoErrorKind::Range)),
        Status::Refused => Err(IoError::new(IoErrorKind::Refused)),
        Status::Unsupported => Err(IoError::new(IoErrorKind::Unsupported)),
        Status::NoSpace => Err(IoError::of_device(libc::ENOSPC)),
        Status::Failed => Err(IoError::of_device(i32::try_from(reply.value).unwrap_or(libc::EIO))),
    }
}
