//! Simulated sockets: pairs of byte pipes with latency, short reads and broken connections.
//!
//! Bytes arrive in order after a delay; a receive may return fewer bytes than have arrived, as on any stream. There is
//! no flow control: a send completes when its bytes are under way. Socket numbers are the world's, not the reactor's.

use std::collections::VecDeque;

use cygnus_runtime::{BufSlice, IoError, IoErrorKind, ListenerId, Op, OpId, Outcome, Peer, SocketId};
use cygnus_types::Nanos;

use crate::state::{State, What};

/// Bytes take from this to twice this to the other end.
const LATENCY: Nanos = Nanos(5_000);

struct Receive {
    port: usize,
    id: OpId,
    buf: BufSlice,
}

#[derive(Default)]
struct Socket {
    /// The other end, as long as it has not closed.
    peer: Option<usize>,
    inbox: VecDeque<u8>,
    /// No more bytes will arrive.
    ended: bool,
    closed: bool,
    receiver: Option<Receive>,
    /// Which reactor used it last; its death breaks the connection.
    port: Option<usize>,
    /// When the last bytes under way to this socket arrive.
    arrival: Nanos,
}

#[derive(Default)]
struct Listener {
    backlog: VecDeque<usize>,
    waiting: VecDeque<(usize, OpId)>,
}

/// All sockets of a world.
#[derive(Default)]
pub(crate) struct Net {
    sockets: Vec<Socket>,
    listeners: Vec<Listener>,
}

pub(crate) enum NetEvent {
    Arrive { socket: usize, bytes: Vec<u8> },
    End { socket: usize },
    Receive { socket: usize },
    Accept { listener: usize },
    Done { port: usize, id: OpId, result: Result<Outcome, IoError> },
}

impl Net {
    fn pair(&mut self) -> (usize, usize) {
        let (a, b) = (self.sockets.len(), self.sockets.len() + 1);
        self.sockets.push(Socket { peer: Some(b), ..Socket::default() });
        self.sockets.push(Socket { peer: Some(a), ..Socket::default() });
        (a, b)
    }

    /// A reactor is gone, and with it its sockets and everything it waited for.
    pub(crate) fn forget_port(&mut self, port: usize) {
        for listener in &mut self.listeners {
            listener.waiting.retain(|(waiter, _)| *waiter != port);
        }
        for socket in 0..self.sockets.len() {
            if self.sockets[socket].port == Some(port) {
                self.sockets[socket].receiver = None;
                self.sockets[socket].closed = true;
                if let Some(peer) = self.sockets[socket].peer.take() {
                    self.sockets[peer].ended = true;
                    self.sockets[peer].peer = None;
                }
            }
        }
    }
}

impl State {
    pub(crate) fn listen(&mut self) -> ListenerId {
        self.net.listeners.push(Listener::default());
        ListenerId(self.net.listeners.len() as u32 - 1)
    }

    pub(crate) fn connect(&mut self, listener: ListenerId) -> SocketId {
        let (client, server) = self.net.pair();
        self.net.listeners[listener.0 as usize].backlog.push_back(server);
        self.schedule_net(NetEvent::Accept { listener: listener.0 as usize });
        SocketId(client as u32)
    }

    pub(crate) fn socket_pair(&mut self) -> (SocketId, SocketId) {
        let (a, b) = self.net.pair();
        (SocketId(a as u32), SocketId(b as u32))
    }

    fn schedule_net(&mut self, event: NetEvent) {
        let at = self.now + LATENCY + Nanos(self.rng.below(LATENCY.0));
        self.schedule(at, What::Net(event));
    }

    /// Sends something to `socket` behind everything sent to it before.
    fn schedule_arrival(&mut self, socket: usize, event: NetEvent) {
        let at = self.now + LATENCY + Nanos(self.rng.below(LATENCY.0));
        let at = at.max(self.net.sockets[socket].arrival);
        self.net.sockets[socket].arrival = at;
        self.schedule(at, What::Net(event));
    }

    fn answer(&mut self, port: usize, id: OpId, result: Result<Outcome, IoErrorKind>) {
        let result = result.map_err(IoError::new);
        self.schedule(self.now + Nanos(1), What::Net(NetEvent::Done { port, id, result }));
    }

    pub(crate) fn submit_net(&mut self, port: usize, id: OpId, op: Op) {
        match op {
            Op::Accept { listener } => {
                let listener = listener.0 as usize;
                self.net.listeners[listener].waiting.push_back((port, id));
                self.schedule_net(NetEvent::Accept { listener });
            }
            Op::Recv { sock, buf } => self.receive(port, id, sock.0 as usize, buf),
            Op::Send { sock, bufs } => self.send(port, id, sock.0 as usize, &bufs),
            Op::Close { sock } => self.close(port, id, sock.0 as usize),
            other => unreachable!("{other:?} is no operation of a socket"),
        }
    }

    fn receive(&mut self, port: usize, id: OpId, socket: usize, buf: BufSlice) {
        let state = &mut self.net.sockets[socket];
        state.port = Some(port);
        if state.closed || state.receiver.is_some() {
            return self.answer(port, id, Err(IoErrorKind::Closed));
        }
        state.receiver = Some(Receive { port, id, buf });
        self.schedule(self.now + Nanos(1), What::Net(NetEvent::Receive { socket }));
    }

    /// Ends a receive that still waits.
    pub(crate) fn end_receive(&mut self, port: usize, id: OpId) {
        let is_it = |receive: &Receive| (receive.port, receive.id) == (port, id);
        let waits = |socket: &mut Socket| socket.receiver.take_if(|receive| is_it(receive)).is_some();
        if self.net.sockets.iter_mut().any(waits) {
            self.answer(port, id, Ok(Outcome::Done));
        }
    }

    fn send(&mut self, port: usize, id: OpId, socket: usize, bufs: &[BufSlice]) {
        let state = &mut self.net.sockets[socket];
        state.port = Some(port);
        let Some(peer) = state.peer.filter(|_| !state.closed) else {
            return self.answer(port, id, Err(IoErrorKind::Closed));
        };
        let bytes = bufs.iter().flat_map(|buf| buf.bytes().iter().copied()).collect();
        self.schedule_arrival(peer, NetEvent::Arrive { socket: peer, bytes });
        self.answer(port, id, Ok(Outcome::Done));
    }

    fn close(&mut self, port: usize, id: OpId, socket: usize) {
        let state = &mut self.net.sockets[socket];
        state.closed = true;
        let (receiver, peer) = (state.receiver.take(), state.peer.take());
        if let Some(receiver) = receiver {
            self.answer(receiver.port, receiver.id, Err(IoErrorKind::Closed));
        }
        if let Some(peer) = peer {
            self.net.sockets[peer].peer = None;
            self.schedule_arrival(peer, NetEvent::End { socket: peer });
        }
        self.answer(port, id, Ok(Outcome::Done));
    }

    pub(crate) fn net_event(&mut self, event: NetEvent) {
        match event {
            NetEvent::Arrive { socket, bytes } => {
                self.net.sockets[socket].inbox.extend(bytes);
                self.try_receive(socket);
            }
            NetEvent::End { socket } => {
                self.net.sockets[socket].ended = true;
                self.try_receive(socket);
            }
            NetEvent::Receive { socket } => self.try_receive(socket),
            NetEvent::Accept { listener } => self.try_accept(listener),
            NetEvent::Done { port, id, result } => self.complete(port, id, result),
        }
    }

    fn try_receive(&mut self, socket: usize) {
        let state = &mut self.net.sockets[socket];
        if state.inbox.is_empty() && !state.ended {
            return;
        }
        let Some(Receive { port, id, buf }) = state.receiver.take() else { return };
        let available = state.inbox.len().min(buf.len());
        // Half of all receives are short, as they are when a stream's segments arrive one by one.
        let count = match available {
            0 => 0,
            n if self.rng.chance(1, 2) => n,
            n => 1 + self.rng.below(n as u64) as usize,
        };
        let bytes: Vec<u8> = state.inbox.drain(..count).collect();
        buf.copy_from(0, &bytes);
        self.complete(port, id, Ok(Outcome::Bytes(count as u32)));
    }

    fn try_accept(&mut self, listener: usize) {
        let Listener { backlog, waiting } = &mut self.net.listeners[listener];
        let pairs = backlog.len().min(waiting.len());
        let accepted: Vec<_> = waiting.drain(..pairs).zip(backlog.drain(..pairs)).collect();
        for ((port, id), socket) in accepted {
            self.net.sockets[socket].port = Some(port);
            self.complete(port, id, Ok(Outcome::Socket(SocketId(socket as u32), Peer::Unknown)));
        }
    }
}
