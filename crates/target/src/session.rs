//! One connection, from greeting to close.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use cygnus_nbd::{
    Catalogue, Command, ExportInfo, Malformed, Next, Parsed, ReplyEncoder, ServerHandshake, parse_request, peek_offset,
    wire,
};
use cygnus_runtime::{Event, IoError, Op, OpFuture, Outcome, Runtime, Sleep, SocketId};
use cygnus_types::Nanos;

use crate::dispatch::{self, REPLY_COST};
use crate::jobs::{Job, Jobs};
use crate::outbox::Outbox;
use crate::receive::ReceiveBuffer;
use crate::select::{Either, first_of};
use crate::server::ServerConfig;
use crate::stats::{SessionCounters, Totals};
use crate::volume::{Export, Exports, Tap, Volume};

/// Bytes of replies, and of writes waiting, that one session may have outstanding. What a peer that does not read can
/// make us hold; enough for 3800 reads of 4 KiB. A single larger request still gets through, alone.
const WINDOW: usize = 16 << 20;

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The client said goodbye (ABORT or DISC).
    Goodbye,
    /// The client closed the connection without a word.
    Hangup,
    /// What the client sent is not NBD, or beyond all limits.
    Malformed(Malformed),
    /// The connection broke.
    Broken(IoError),
    /// The negotiation took too long.
    TooSlow,
    /// The volume was deleted.
    VolumeGone,
    /// The server is being stopped.
    Stopped,
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndReason::Goodbye => f.write_str("client disconnected"),
            EndReason::Hangup => f.write_str("client closed the connection without disconnecting"),
            EndReason::Malformed(reason) => write!(f, "closed by us: {reason}"),
            EndReason::Broken(error) => write!(f, "connection broke: {error}"),
            EndReason::TooSlow => f.write_str("closed by us: the negotiation took too long"),
            EndReason::VolumeGone => f.write_str("closed by us: the volume is gone"),
            EndReason::Stopped => f.write_str("closed by us: the server is stopping"),
        }
    }
}

/// What a server tells its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// A client has chosen an export.
    Opened {
        /// Number of the connection, counted from 1.
        id: u64,
        /// The export's name.
        export: String,
    },
    /// A connection has ended.
    Closed {
        /// Number of the connection.
        id: u64,
        /// The export's name, if the negotiation got that far.
        export: Option<String>,
        /// Why.
        reason: EndReason,
    },
    /// A listener cannot accept right now; it tries again.
    AcceptFailed {
        /// The listener's address.
        listener: String,
        /// What the driver said.
        error: IoError,
    },
}

impl fmt::Display for SessionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionEvent::Opened { id, export } => write!(f, "nbd connection {id}: export {export:?} opened"),
            SessionEvent::Closed { id, export: Some(export), reason } => {
                write!(f, "nbd connection {id} (export {export:?}): {reason}")
            }
            SessionEvent::Closed { id, export: None, reason } => {
                write!(f, "nbd connection {id} (negotiating): {reason}")
            }
            SessionEvent::AcceptFailed { listener, error } => {
                write!(f, "nbd listener {listener}: accept failed: {error}")
            }
        }
    }
}

/// What the server sees of each of its sessions.
pub(crate) struct Handle {
    pub(crate) id: u64,
    pub(crate) listener: String,
    pub(crate) since: Nanos,
    pub(crate) export: RefCell<Option<String>>,
    pub(crate) counters: SessionCounters,
    /// The session shall end once what it has accepted is answered.
    stop: Cell<bool>,
    /// Notified whenever the reader may have to look up: stop, room in the window, a broken connection, all answered.
    wake: Event,
}

impl Handle {
    pub(crate) fn new(id: u64, listener: String, since: Nanos) -> Self {
        let (export, counters) = (RefCell::default(), SessionCounters::default());
        Self { id, listener, since, export, counters, stop: Cell::new(false), wake: Event::new() }
    }

    pub(crate) fn stop(&self) {
        self.stop.set(true);
        self.wake.notify();
    }

    fn stopped(&self) -> Option<EndReason> {
        self.stop.get().then_some(EndReason::Stopped)
    }
}

/// The transmission phase of a session, shared by its reader, workers and sender.
pub(crate) struct Transmission<V> {
    pub(crate) rt: Runtime,
    pub(crate) volume: V,
    pub(crate) tap: Option<Rc<dyn Tap>>,
    pub(crate) agreed: cygnus_nbd::Session,
    pub(crate) encoder: ReplyEncoder,
    pub(crate) outbox: Outbox,
    pub(crate) totals: Rc<Totals>,
    pub(crate) handle: Rc<Handle>,
    reads: Jobs,
    others: Jobs,
    /// Bytes of requests taken in and not answered on the wire yet.
    window: Cell<usize>,
    /// The reader waits for the window to change.
    reader_waits: Cell<bool>,
    /// Set by workers or the sender; the reader obeys.
    ended: RefCell<Option<EndReason>>,
}

/// The exports as the negotiation sees them. Keeps what it opened last: the export the client then enters.
struct Opener<'a, E: Exports> {
    exports: &'a E,
    opened: Option<Export<E::Volume>>,
}

impl<E: Exports> Catalogue for Opener<'_, E> {
    fn list(&mut self) -> Vec<(String, String)> {
        self.exports.list()
    }

    fn find(&mut self, name: &str) -> Option<ExportInfo> {
        self.opened = self.exports.open(name);
        self.opened.as_ref().map(|export| ExportInfo {
            name: export.name.clone(),
            description: export.description.clone(),
            size: export.volume.size(),
            flags: wire::EXPORT_WRITABLE,
        })
    }
}

/// What a connection needs to know of its server.
pub(crate) struct Context<'a, E> {
    pub(crate) rt: &'a Runtime,
    pub(crate) exports: &'a E,
    pub(crate) config: &'a ServerConfig,
    pub(crate) totals: &'a Rc<Totals>,
    pub(crate) log: &'a dyn Fn(SessionEvent),
}

/// Serves a connection to its end; closes the socket.
pub(crate) async fn run<E: Exports>(server: Context<'_, E>, sock: SocketId, handle: Rc<Handle>) -> EndReason {
    let mut input = ReceiveBuffer::new(server.rt);
    let reason = match negotiate(&server, sock, &handle, &mut input).await {
        Err(reason) => reason,
        Ok(agreement) => {
            let name = agreement.session.export.name.clone();
            *handle.export.borrow_mut() = Some(name.clone());
            (server.log)(SessionEvent::Opened { id: handle.id, export: name });
            transmit(&server, sock, &handle, &mut input, agreement).await
        }
    };
    // Whatever the close says, the socket is not ours any more.
    let _ = server.rt.close(sock).await;
    reason
}

/// What the negotiation came to.
struct Agreement<V> {
    session: cygnus_nbd::Session,
    volume: V,
    tap: Option<Rc<dyn Tap>>,
    /// The server's last words of the negotiation, not sent yet.
    answer: Vec<u8>,
}

async fn negotiate<E: Exports>(
    server: &Context<'_, E>,
    sock: SocketId,
    handle: &Handle,
    input: &mut ReceiveBuffer,
) -> Result<Agreement<E::Volume>, EndReason> {
    let rt = server.rt;
    let deadline = rt.now() + server.config.handshake_time;
    let mut catalogue = Opener { exports: server.exports, opened: None };
    let mut out = Vec::new();
    let mut handshake = ServerHandshake::new(&mut out);
    loop {
        if !out.is_empty() {
            send_before(rt, sock, &out, handle, deadline).await?;
            out.clear();
        }
        let progress = handshake.step(input.filled(), &mut catalogue, &mut out).map_err(EndReason::Malformed)?;
        input.consume(progress.consumed);
        match progress.next {
            Next::Again => {}
            Next::NeedMore(message) => {
                let ended = || (rt.now() >= deadline).then_some(EndReason::TooSlow);
                receive(rt, sock, input, message, handle, Some(rt.sleep_until(deadline)), ended).await?;
            }
            Next::Transmission(session) => {
                let export = catalogue.opened.expect("the handshake has found the export it enters");
                return Ok(Agreement { session, volume: export.volume, tap: export.tap, answer: out });
            }
            Next::Close => {
                // A farewell that does not get through changes nothing.
                let _ = send_before(rt, sock, &out, handle, deadline).await;
                return Err(EndReason::Goodbye);
            }
        }
    }
}

/// Sends a copy of `bytes`, unless the session has to end before that is done.
async fn send_before(
    rt: &Runtime,
    sock: SocketId,
    bytes: &[u8],
    handle: &Handle,
    deadline: Nanos,
) -> Result<(), EndReason> {
    let mut copy = rt.alloc(bytes.len());
    copy.bytes_mut().copy_from_slice(bytes);
    let send = rt.send(sock, vec![copy.full()]);
    let ended = || (rt.now() >= deadline).then_some(EndReason::TooSlow);
    unless_ended(send, handle, Some(rt.sleep_until(deadline)), ended).await.map(|_| ())
}

/// Receives something of a message that takes `message` bytes in all, unless the session has to end before that.
async fn receive(
    rt: &Runtime,
    sock: SocketId,
    input: &mut ReceiveBuffer,
    message: usize,
    handle: &Handle,
    alarm: Option<Sleep>,
    ended: impl Fn() -> Option<EndReason>,
) -> Result<(), EndReason> {
    let receiving = rt.submit(Op::Recv { sock, buf: input.room(message) });
    match unless_ended(receiving, handle, alarm, ended).await? {
        Outcome::Bytes(0) => Err(EndReason::Hangup),
        Outcome::Bytes(bytes) => {
            input.received(bytes as usize);
            Ok(())
        }
        other => unreachable!("recv answered {other:?}"),
    }
}

/// Waits for an operation on the socket. `ended` is asked each time the handle's event or `alarm` wakes us.
async fn unless_ended(
    mut op: OpFuture,
    handle: &Handle,
    mut alarm: Option<Sleep>,
    ended: impl Fn() -> Option<EndReason>,
) -> Result<Outcome, EndReason> {
    loop {
        let mut wake = handle.wake.wait();
        if let Some(reason) = ended().or_else(|| handle.stopped()) {
            return Err(reason);
        }
        let outcome = poll_fn(|cx| {
            if let Poll::Ready(outcome) = Pin::new(&mut op).poll(cx) {
                return Poll::Ready(Some(outcome));
            }
            let late = alarm.as_mut().is_some_and(|alarm| Pin::new(alarm).poll(cx).is_ready());
            let woken = Pin::new(&mut wake).poll(cx).is_ready();
            if late || woken { Poll::Ready(None) } else { Poll::Pending }
        });
        if let Some(outcome) = outcome.await {
            return outcome.map_err(EndReason::Broken);
        }
    }
}

async fn transmit<E: Exports>(
    server: &Context<'_, E>,
    sock: SocketId,
    handle: &Rc<Handle>,
    input: &mut ReceiveBuffer,
    agreement: Agreement<E::Volume>,
) -> EndReason {
    let Agreement { session: agreed, volume, tap, answer } = agreement;
    let session = Rc::new(Transmission {
        rt: server.rt.clone(),
        volume,
        tap,
        encoder: ReplyEncoder::new(agreed.structured),
        agreed,
        outbox: Outbox::new(server.rt),
        totals: server.totals.clone(),
        handle: handle.clone(),
        reads: Jobs::new(),
        others: Jobs::new(),
        window: Cell::new(0),
        reader_waits: Cell::new(false),
        ended: RefCell::default(),
    });
    if !answer.is_empty() {
        session.take_room(REPLY_COST);
        session.outbox.push_bytes(&answer, REPLY_COST);
    }
    server.rt.spawn(session.clone().send_replies(sock));
    input.widen();
    let Err(reason) = session.read_requests(sock, input).await;
    session.drain(server.config.grace).await;
    session.reads.close();
    session.others.close();
    session.outbox.close();
    reason
}

impl<V: Volume> Transmission<V> {
    /// The reader: takes every complete request of what was received, then receives more.
    async fn read_requests(
        self: &Rc<Self>,
        sock: SocketId,
        input: &mut ReceiveBuffer,
    ) -> Result<Infallible, EndReason> {
        loop {
            match parse_request(input.filled()) {
                Parsed::Request { request, .. } if request.command == Command::Disconnect => {
                    return Err(EndReason::Goodbye);
                }
                Parsed::Request { request, payload, consumed } => {
                    let cost = dispatch::cost(&request);
                    if !self.has_room(cost) {
                        self.wait_for_room(cost).await?;
                    }
                    self.take_room(cost);
                    // While this one is worked on, memory brings what the next one needs.
                    if let Some(offset) = peek_offset(&input.filled()[consumed..]) {
                        self.volume.announce(offset);
                    }
                    self.admit(request, &input.filled()[payload]);
                    input.consume(consumed);
                }
                Parsed::NeedMore(message) => {
                    receive(&self.rt, sock, input, message, &self.handle, None, || self.ended.borrow().clone()).await?;
                }
                Parsed::Bad(reason) => return Err(EndReason::Malformed(reason)),
            }
        }
    }

    /// A request larger than the window has room when it is alone.
    fn has_room(&self, cost: usize) -> bool {
        self.window.get() == 0 || self.window.get() + cost <= WINDOW
    }

    async fn wait_for_room(&self, cost: usize) -> Result<(), EndReason> {
        self.reader_waits.set(true);
        while !self.has_room(cost) {
            let wake = self.handle.wake.wait();
            if let Some(reason) = self.ended.borrow().clone().or_else(|| self.handle.stopped()) {
                return Err(reason);
            }
            wake.await;
        }
        self.reader_waits.set(false);
        Ok(())
    }

    /// Waits until everything taken in is answered and sent, or the connection is broken, or `grace` is over.
    async fn drain(&self, grace: Nanos) {
        let mut deadline = self.rt.sleep(grace);
        self.reader_waits.set(true);
        while self.window.get() > 0 && !self.outbox.is_closed() {
            let mut wake = self.handle.wake.wait();
            if let Either::Second(()) = first_of(&mut wake, &mut deadline).await {
                return;
            }
        }
    }

    pub(crate) fn take_room(&self, bytes: usize) {
        self.window.set(self.window.get() + bytes);
    }

    pub(crate) fn give_room(&self, bytes: usize) {
        self.window.set(self.window.get() - bytes);
        if self.reader_waits.get() {
            self.handle.wake.notify();
        }
    }

    fn jobs(&self, reads: bool) -> &Jobs {
        if reads { &self.reads } else { &self.others }
    }

    /// Hands a job to the workers, starting one more if all are busy.
    pub(crate) fn queue(self: &Rc<Self>, job: Job) {
        let reads = job.request.command == Command::Read;
        if let Some(worker) = self.jobs(reads).push(job) {
            let session = self.clone();
            self.rt.spawn(async move {
                while let Some(job) = session.jobs(reads).next(worker).await {
                    session.serve(job).await;
                }
            });
        }
    }

    /// The sender: one vectored send after the other, each of all that was ready when it began.
    async fn send_replies(self: Rc<Self>, sock: SocketId) {
        while let Some(batch) = self.outbox.next().await {
            match self.rt.send(sock, batch.parts).await {
                Ok(_) => self.give_room(batch.cost),
                Err(error) => {
                    self.outbox.close();
                    self.end(EndReason::Broken(error));
                }
            }
        }
    }

    pub(crate) fn volume_is_gone(&self) {
        self.end(EndReason::VolumeGone);
    }

    /// Makes the reader stop; the first reason counts.
    fn end(&self, reason: EndReason) {
        self.ended.borrow_mut().get_or_insert(reason);
        self.handle.wake.notify();
    }
}
