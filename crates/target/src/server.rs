//! The server of one reactor: accepts, keeps count, looks after its sessions, shuts down.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_runtime::{Event, IoErrorKind, ListenerId, Op, Outcome, Peer, Runtime, SocketId};
use cygnus_types::Nanos;

use crate::config::ServerConfig;
use crate::context::Context;
use crate::door::{Pass, Refusal};
use crate::event::{EndReason, Journal, SessionEvent};
use crate::exports::Exports;
use crate::handle::Handle;
use crate::pace::Pace;
use crate::purse::Purse;
use crate::queue::Queue;
use crate::select::{Either, first_of};
use crate::session;
use crate::stats::{OpClass, ServerStats, SessionStats, Totals};

/// After a failed accept (no file descriptors left, say) the listener rests this long.
const ACCEPT_REST: Nanos = Nanos::millis(100);
/// How often the sessions are looked after.
const LOOK: Nanos = Nanos::secs(1);
/// A client that does not take its replies is waited for this long only when others wait for the memory that its replies take.
const PATIENCE_WHEN_SHORT: Nanos = Nanos::secs(5);
/// A negotiation younger than this is not ended to make room: an honest client needs less.
const GRACE_TO_NEGOTIATE: Nanos = Nanos::secs(1);

struct Inner<E> {
    rt: Runtime,
    exports: E,
    config: ServerConfig,
    journal: Rc<Journal>,
    pace: Rc<Pace>,
    queue: Rc<Queue>,
    purse: Rc<Purse>,
    totals: Rc<Totals>,
    sessions: RefCell<BTreeMap<u64, Rc<Handle>>>,
    stopping: Cell<bool>,
    /// Whether a task looks after the sessions.
    attended: Cell<bool>,
    /// Notified when a session has ended and when the server is told to stop.
    changed: Event,
}

/// An NBD server on one reactor. Clones are handles to the same server.
pub struct Server<E>(Rc<Inner<E>>);

impl<E> Clone for Server<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: Exports> Server<E> {
    /// A server of `exports` that does not listen yet. `log` is told of sessions that open and close.
    pub fn new(rt: &Runtime, exports: E, config: ServerConfig, log: impl Fn(SessionEvent) + 'static) -> Self {
        Self(Rc::new(Inner {
            rt: rt.clone(),
            exports,
            journal: Journal::new(rt, log),
            pace: Pace::new(rt),
            queue: Queue::new({
                let rt = rt.clone();
                move || rt.now()
            }),
            purse: Purse::new(rt, config.memory.clone()),
            config,
            totals: Rc::default(),
            sessions: RefCell::default(),
            stopping: Cell::new(false),
            attended: Cell::new(false),
            changed: Event::new(),
        }))
    }

    /// Accepts on a listener until [`Server::shutdown`]. `address` names it in logs and statistics.
    pub fn listen(&self, listener: ListenerId, address: impl Into<String>) {
        let server = self.clone();
        let address = address.into();
        self.0.rt.spawn(async move { server.accept_loop(listener, &address).await });
    }

    async fn accept_loop(&self, listener: ListenerId, address: &str) {
        let server = &*self.0;
        while !server.stopping.get() {
            let mut accept = server.rt.submit(Op::Accept { listener });
            let accepted = loop {
                let mut changed = server.changed.wait();
                if server.stopping.get() {
                    return;
                }
                if let Either::First(accepted) = first_of(&mut accept, &mut changed).await {
                    break accepted;
                }
            };
            match accepted {
                Ok(Outcome::Socket(sock, peer)) => self.welcome(sock, peer, address),
                Ok(other) => unreachable!("accept answered {other:?}"),
                // The client has gone again.
                Err(error) if error.errno == libc::ECONNABORTED => {}
                Err(error) => {
                    server.journal.tell(SessionEvent::AcceptFailed { listener: address.into(), error });
                    if error.kind != IoErrorKind::Closed {
                        // Descriptors may have run out: those who have not even said what they want are the first to go.
                        server.make_room(|_| true);
                    }
                    server.rt.sleep(ACCEPT_REST).await;
                }
            }
        }
    }

    /// Serves a connection, or closes it at once.
    fn welcome(&self, sock: SocketId, peer: Peer, address: &str) {
        let server = &*self.0;
        let pass = match server.admit(peer) {
            Ok(pass) => pass,
            Err(refusal) => {
                server.totals.refused();
                server.journal.tell(SessionEvent::Refused { peer, refusal });
                // It goes on without us.
                drop(server.rt.close(sock));
                return;
            }
        };
        let id = server.totals.opened();
        let account = server.purse.open(pass.memory.clone());
        let handle = Rc::new(Handle::new(id, address.into(), peer, server.rt.now(), pass, account));
        server.sessions.borrow_mut().insert(id, handle.clone());
        if server.stopping.get() {
            handle.stop(EndReason::Stopped);
        }
        self.look_after_sessions();
        let server = self.0.clone();
        self.0.rt.spawn(async move {
            let Inner { rt, exports, config, totals, journal, pace, queue, .. } = &*server;
            let context = Context { rt, exports, config, totals, journal, pace, queue };
            let reason = session::run(context, sock, handle.clone()).await;
            server.totals.closed(&reason);
            server.sessions.borrow_mut().remove(&id);
            let export = handle.export.borrow().clone();
            server.journal.tell(SessionEvent::Closed { id, peer, export, reason });
            server.changed.notify();
        });
    }

    /// Has a task look after the sessions for as long as there are any.
    fn look_after_sessions(&self) {
        if self.0.attended.replace(true) {
            return;
        }
        let server = self.0.clone();
        self.0.rt.spawn(async move {
            while !server.sessions.borrow().is_empty() {
                let due = server.rt.now() + LOOK;
                server.rt.sleep_until(due).await;
                // If we come late the process was stopped, or very busy, and no client is to blame for that.
                let (now, missed) = (server.rt.now(), server.rt.now().since(due));
                let ServerConfig { stalled_after, idle_after, .. } = server.config;
                let short = server.purse.is_short();
                let patience = |session: &Handle| {
                    let is_in_the_way = short && session.account.has_drawn();
                    if is_in_the_way { stalled_after.min(PATIENCE_WHEN_SHORT) } else { stalled_after }
                };
                let look = |session: &Rc<Handle>| session.look_after(now, missed, patience(session), idle_after);
                server.sessions.borrow().values().for_each(look);
            }
            server.attended.set(false);
        });
    }

    /// Stops accepting, lets every session answer what it has received, closes them all. Returns when none is left, at
    /// the latest after the configured grace.
    pub async fn shutdown(&self) {
        let server = &*self.0;
        server.stopping.set(true);
        server.changed.notify();
        server.sessions.borrow().values().for_each(|session| session.stop(EndReason::Stopped));
        loop {
            let changed = server.changed.wait();
            if server.sessions.borrow().is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// The counters so far.
    pub fn stats(&self) -> ServerStats {
        self.0.totals.snapshot()
    }

    /// The sessions open now, oldest first.
    pub fn sessions(&self) -> Vec<SessionStats> {
        let sessions = self.0.sessions.borrow();
        let one = |session: &Rc<Handle>| SessionStats {
            id: session.id,
            listener: session.listener.clone(),
            peer: session.peer,
            export: session.export.borrow().clone(),
            since: session.since,
            ops: session.counters.ops(),
            read_bytes: session.counters.bytes(OpClass::Read),
            written_bytes: session.counters.bytes(OpClass::Write),
        };
        sessions.values().map(one).collect()
    }
}

impl<E> Inner<E> {
    /// A place for a connection of this peer; if need be, that of the oldest one that has not got through its negotiation.
    fn admit(&self, peer: Peer) -> Result<Pass, Refusal> {
        let household = peer.household();
        self.config.door.enter(household).or_else(|refusal| {
            let is_in_the_way = |other: &Handle| match refusal {
                Refusal::Peer { .. } => other.peer.household() == household,
                Refusal::Full { .. } => true,
            };
            if self.make_room(is_in_the_way) { self.config.door.enter(household) } else { Err(refusal) }
        })
    }

    /// Ends the oldest session that is still negotiating, of those that may be chosen; its place is free at once.
    fn make_room(&self, may_be_chosen: impl Fn(&Handle) -> bool) -> bool {
        let now = self.rt.now();
        let is_old = |session: &Handle| now.since(session.since) >= GRACE_TO_NEGOTIATE;
        let sessions = self.sessions.borrow();
        let oldest =
            sessions.values().find(|session| session.is_negotiating() && is_old(session) && may_be_chosen(session));
        if let Some(session) = oldest {
            session.stop(EndReason::MadeRoom);
            session.pass.take();
        }
        oldest.is_some()
    }
}
