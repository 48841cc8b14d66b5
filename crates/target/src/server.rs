//! The server of one reactor: accepts, keeps count, shuts down.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_runtime::{Event, ListenerId, Op, Outcome, Runtime, SocketId};
use cygnus_types::Nanos;

use crate::select::{Either, first_of};
use crate::session::{self, Context, EndReason, Handle, SessionEvent};
use crate::stats::{OpClass, ServerStats, SessionStats, Totals};
use crate::volume::Exports;

/// After a failed accept (no file descriptors left, say) the listener rests this long.
const ACCEPT_REST: Nanos = Nanos::millis(100);

/// Limits of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// A client that has not chosen its export by then is cut off.
    pub handshake_time: Nanos,
    /// How long a session that ends waits for what it has accepted to be done and sent.
    pub grace: Nanos,
    /// Connections beyond this number wait in the listener's queue.
    pub max_connections: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { handshake_time: Nanos::secs(30), grace: Nanos::secs(10), max_connections: 1024 }
    }
}

struct Inner<E> {
    rt: Runtime,
    exports: E,
    config: ServerConfig,
    log: Box<dyn Fn(SessionEvent)>,
    totals: Rc<Totals>,
    sessions: RefCell<BTreeMap<u64, Rc<Handle>>>,
    stopping: Cell<bool>,
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
            config,
            log: Box::new(log),
            totals: Rc::default(),
            sessions: RefCell::default(),
            stopping: Cell::new(false),
            changed: Event::new(),
        }))
    }

    /// Accepts on a listener until [`Server::shutdown`]. `address` names it in logs and statistics.
    pub fn listen(&self, listener: ListenerId, address: impl Into<String>) {
        let server = self.clone();
        let address = address.into();
        self.0.rt.spawn(async move { server.accept_loop(listener, &address).await });
    }

    /// Serves a connection that was accepted elsewhere (by another reactor, say).
    pub fn serve(&self, sock: SocketId, address: &str) {
        let server = self.0.clone();
        let id = server.totals.opened();
        let handle = Rc::new(Handle::new(id, address.into(), server.rt.now()));
        server.sessions.borrow_mut().insert(id, handle.clone());
        if server.stopping.get() {
            handle.stop();
        }
        self.0.rt.spawn(async move {
            let Inner { rt, exports, config, totals, log, .. } = &*server;
            let context = Context { rt, exports, config, totals, log };
            let reason = session::run(context, sock, handle.clone()).await;
            server.totals.closed(matches!(reason, EndReason::Malformed(_)));
            server.sessions.borrow_mut().remove(&id);
            let export = handle.export.borrow().clone();
            (server.log)(SessionEvent::Closed { id, export, reason });
            server.changed.notify();
        });
    }

    async fn accept_loop(&self, listener: ListenerId, address: &str) {
        let server = &*self.0;
        let mut failing = false;
        while !server.stopping.get() {
            if server.sessions.borrow().len() >= server.config.max_connections {
                server.changed.wait().await;
                continue;
            }
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
                Ok(Outcome::Socket(sock)) => {
                    self.serve(sock, address);
                    failing = false;
                }
                Ok(other) => unreachable!("accept answered {other:?}"),
                Err(error) => {
                    if !std::mem::replace(&mut failing, true) {
                        (server.log)(SessionEvent::AcceptFailed { listener: address.into(), error });
                    }
                    server.rt.sleep(ACCEPT_REST).await;
                }
            }
        }
    }

    /// Stops accepting, lets every session answer what it has received, closes them all. Returns when none is left, at
    /// the latest after the configured grace.
    pub async fn shutdown(&self) {
        let server = &*self.0;
        server.stopping.set(true);
        server.changed.notify();
        server.sessions.borrow().values().for_each(|session| session.stop());
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
            export: session.export.borrow().clone(),
            since: session.since,
            ops: session.counters.ops(),
            read_bytes: session.counters.bytes(OpClass::Read),
            written_bytes: session.counters.bytes(OpClass::Write),
        };
        sessions.values().map(one).collect()
    }
}
