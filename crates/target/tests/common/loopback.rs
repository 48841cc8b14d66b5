//! A driver whose sockets are byte queues of limited room, in virtual time: both ends of every connection live on the
//! one reactor, so a test is a pure function of its inputs.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use cygnus_runtime::*;
use cygnus_types::{Nanos, ReactorId};

/// Bytes a connection holds in each direction before senders wait.
const ROOM: usize = 64 << 10;

#[derive(Default)]
struct Socket {
    peer: usize,
    inbox: VecDeque<u8>,
    receiving: Option<(OpId, BufSlice)>,
    sending: VecDeque<(OpId, VecDeque<u8>)>,
    closed: bool,
}

struct Network {
    now: Nanos,
    sockets: Vec<Socket>,
    backlog: VecDeque<(SocketId, Peer)>,
    accepting: VecDeque<OpId>,
    done: Vec<Completion>,
    /// Most bytes one receive delivers, so that messages arrive in pieces.
    piece: usize,
}

/// The network; clones are handles to the same one. There is one listener, number 0.
#[derive(Clone)]
pub struct Loopback(Rc<RefCell<Network>>);

pub const LISTENER: ListenerId = ListenerId(0);

impl Loopback {
    /// A network that delivers at most `piece` bytes at a time, and a reactor on it.
    pub fn reactor(piece: usize) -> (Loopback, Runtime) {
        let (now, sockets, done) = (Nanos::ZERO, Vec::new(), Vec::new());
        let (backlog, accepting) = (VecDeque::new(), VecDeque::new());
        let network = Loopback(Rc::new(RefCell::new(Network { now, sockets, backlog, accepting, done, piece })));
        let rt = Runtime::new(ReactorId(0), Box::new(network.clone()), BufPool::new(0), 1);
        (network, rt)
    }

    /// A client's end of a new connection; the other end waits to be accepted.
    pub fn connect(&self) -> SocketId {
        self.connect_as(Peer::User(1))
    }

    /// The same, of a certain peer.
    pub fn connect_as(&self, peer: Peer) -> SocketId {
        let network = &mut *self.0.borrow_mut();
        let first = network.sockets.len();
        network.sockets.push(Socket { peer: first + 1, ..Socket::default() });
        network.sockets.push(Socket { peer: first, ..Socket::default() });
        network.backlog.push_back((SocketId(first as u32 + 1), peer));
        SocketId(first as u32)
    }

    /// Nothing happens for a while, and nobody is awake to see it.
    pub fn skip(&self, span: Nanos) {
        self.0.borrow_mut().now += span;
    }
}

fn closed() -> IoError {
    IoError::new(IoErrorKind::Closed)
}

impl Network {
    fn end(&mut self, id: OpId, result: Result<Outcome, IoError>) {
        self.done.push(Completion { id, result });
    }

    /// Moves bytes until nothing moves.
    fn pump(&mut self) {
        while !self.accepting.is_empty() && !self.backlog.is_empty() {
            let (id, (sock, peer)) = (self.accepting.pop_front().unwrap(), self.backlog.pop_front().unwrap());
            self.end(id, Ok(Outcome::Socket(sock, peer)));
        }
        for at in 0..self.sockets.len() {
            self.pump_sends(at);
        }
        for at in 0..self.sockets.len() {
            self.pump_receive(at);
        }
    }

    fn pump_sends(&mut self, at: usize) {
        let peer = self.sockets[at].peer;
        while let Some((id, mut bytes)) = self.sockets[at].sending.pop_front() {
            if self.sockets[peer].closed {
                self.end(id, Err(closed()));
                continue;
            }
            let inbox = &mut self.sockets[peer].inbox;
            let room = ROOM.saturating_sub(inbox.len()).min(bytes.len());
            inbox.extend(bytes.drain(..room));
            if !bytes.is_empty() {
                self.sockets[at].sending.push_front((id, bytes));
                return;
            }
            self.end(id, Ok(Outcome::Done));
        }
    }

    fn pump_receive(&mut self, at: usize) {
        let peer = self.sockets[at].peer;
        let over = self.sockets[peer].closed && self.sockets[peer].sending.is_empty();
        let piece = self.piece;
        let socket = &mut self.sockets[at];
        if socket.receiving.is_none() || (socket.inbox.is_empty() && !over) {
            return;
        }
        let (id, buf) = socket.receiving.take().unwrap();
        let bytes: Vec<u8> = socket.inbox.drain(..socket.inbox.len().min(buf.len()).min(piece)).collect();
        buf.copy_from(0, &bytes);
        self.end(id, Ok(Outcome::Bytes(bytes.len() as u32)));
    }
}

impl Driver for Loopback {
    fn now(&self) -> Nanos {
        self.0.borrow().now
    }

    /// It has no devices.
    fn capabilities(&self, _: DeviceIx) -> Capabilities {
        Capabilities::default()
    }

    fn submit(&mut self, id: OpId, op: Op) {
        let network = &mut *self.0.borrow_mut();
        match op {
            Op::Accept { .. } => network.accepting.push_back(id),
            Op::Recv { sock, buf } => {
                let socket = &mut network.sockets[sock.0 as usize];
                assert!(!socket.closed && socket.receiving.is_none() && !buf.is_empty());
                socket.receiving = Some((id, buf));
            }
            Op::Send { sock, bufs } => {
                let socket = &mut network.sockets[sock.0 as usize];
                assert!(!socket.closed, "a send on a closed socket");
                socket.sending.push_back((id, bufs.iter().flat_map(|buf| buf.bytes().iter().copied()).collect()));
            }
            Op::Close { sock } => {
                let socket = &mut network.sockets[sock.0 as usize];
                assert!(!std::mem::replace(&mut socket.closed, true), "a socket is closed twice");
                let pending: Vec<OpId> = socket.receiving.take().map(|(id, _)| id).into_iter().collect();
                let sends: Vec<OpId> = socket.sending.drain(..).map(|(id, _)| id).collect();
                pending.into_iter().chain(sends).for_each(|id| network.end(id, Err(closed())));
                network.end(id, Ok(Outcome::Done));
            }
            other => panic!("this driver has no devices: {other:?}"),
        }
    }

    fn end_receive(&mut self, id: OpId) {
        let network = &mut *self.0.borrow_mut();
        let ended = |socket: &mut Socket| socket.receiving.take_if(|(receive, _)| *receive == id).is_some();
        if network.sockets.iter_mut().any(ended) {
            network.end(id, Ok(Outcome::Done));
        }
    }

    fn post(&mut self, _to: ReactorId, _message: Message) {
        panic!("this driver has one reactor");
    }

    fn park(&mut self, until: Option<Nanos>, events: &mut Events) -> Result<(), Halt> {
        let network = &mut *self.0.borrow_mut();
        network.pump();
        events.done.append(&mut network.done);
        if events.is_empty() {
            network.now = network.now.max(until.ok_or(Halt::Stalled)?);
        }
        Ok(())
    }
}
