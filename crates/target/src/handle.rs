//! What the server sees of each of its sessions, and what a session is told from outside.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_runtime::{Event, Peer};
use cygnus_types::Nanos;

use crate::door::Pass;
use crate::event::EndReason;
use crate::pace::Paced;
use crate::purse::Account;
use crate::stats::SessionCounters;

/// Bytes per second at which a request must come, once it has begun.
const SLOWEST: u64 = 64 << 10;

/// Time after which a session of which nothing was asked gives back the memory that it keeps for the next requests. Looked at once a
/// second, so that a client with a pause now and then is not made to begin small each time.
const REST_AFTER: Nanos = Nanos::secs(2);

pub(crate) struct Handle {
    pub(crate) id: u64,
    pub(crate) listener: String,
    pub(crate) peer: Peer,
    pub(crate) since: Nanos,
    pub(crate) export: RefCell<Option<String>>,
    pub(crate) counters: SessionCounters,
    pub(crate) account: Rc<Account>,
    /// The connection's place.
    pub(crate) pass: RefCell<Option<Pass>>,
    /// Why the session shall end.
    stop: RefCell<Option<EndReason>>,
    /// Notified whenever the reader may have to look up: stop, room in the window, a broken connection, all answered.
    pub(crate) wake: Event,
    /// Bytes of requests taken in and not answered on the wire yet.
    pub(crate) window: Cell<usize>,
    pub(crate) client: Client,
    /// What it has had of the reactor's turns, and whether its client is a busy one.
    pub(crate) paced: Paced,
}

/// What the session waits for from its client, and since when.
pub(crate) struct Client {
    /// When the send that runs now began.
    sending: Cell<Option<Nanos>>,
    /// When the request that has begun to arrive must be there.
    due: Cell<Option<Nanos>>,
    /// When it was last heard of.
    heard: Cell<Nanos>,
    rest: Cell<Rest>,
}

/// Whether the session holds memory that it does not need while nothing is asked of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It may, for whatever comes next.
    Awake,
    /// It has been told to give that back.
    Told,
    /// It has done so, or is about to.
    Resting,
}

impl Client {
    pub(crate) fn sending_from(&self, now: Option<Nanos>) {
        self.sending.set(now);
    }

    /// A request has begun of which `missing` bytes have to come; `patience` for the first of them.
    pub(crate) fn has_begun(&self, now: Nanos, missing: usize, patience: Nanos) {
        if self.due.get().is_none() {
            self.due.set(Some(now + patience + Nanos::secs(missing as u64 / SLOWEST)));
        }
    }

    /// Nothing has begun that is not there, or it is we who keep it waiting.
    pub(crate) fn owes_nothing(&self) {
        self.due.set(None);
    }

    pub(crate) fn heard_of(&self, now: Nanos) {
        self.heard.set(now);
        self.rest.set(Rest::Awake);
    }

    /// Whether the session was told to rest, and has not heard of it yet.
    pub(crate) fn take_rest(&self) -> bool {
        let told = self.rest.get() == Rest::Told;
        if told {
            self.rest.set(Rest::Resting);
        }
        told
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.rest.get() == Rest::Resting
    }

    /// Puts off all deadlines by a time in which no client could have done anything.
    fn excuse(&self, span: Nanos) {
        let later = |at: Nanos| at + span;
        self.sending.set(self.sending.get().map(later));
        self.due.set(self.due.get().map(later));
        self.heard.set(later(self.heard.get()));
    }
}

impl Handle {
    pub(crate) fn new(id: u64, listener: String, peer: Peer, now: Nanos, pass: Pass, account: Rc<Account>) -> Self {
        Self {
            id,
            listener,
            peer,
            since: now,
            export: RefCell::default(),
            counters: SessionCounters::default(),
            account,
            pass: RefCell::new(Some(pass)),
            stop: RefCell::default(),
            wake: Event::new(),
            window: Cell::new(0),
            client: Client {
                sending: Cell::new(None),
                due: Cell::new(None),
                heard: Cell::new(now),
                rest: Cell::new(Rest::Awake),
            },
            paced: Paced::default(),
        }
    }

    /// The session shall end; the first reason counts.
    pub(crate) fn stop(&self, reason: EndReason) {
        self.stop.borrow_mut().get_or_insert(reason);
        self.wake.notify();
    }

    pub(crate) fn stopped(&self) -> Option<EndReason> {
        self.stop.borrow().clone()
    }

    pub(crate) fn is_negotiating(&self) -> bool {
        self.export.borrow().is_none() && self.stop.borrow().is_none()
    }

    /// Whether the client has chosen its export and nothing of what it asked is under way.
    fn is_idle(&self) -> bool {
        self.window.get() == 0 && self.export.borrow().is_some()
    }

    /// Ends the session if its client has been waited for too long, and has one rest whose client asks nothing. Nobody looked for `missed` before `now`.
    pub(crate) fn look_after(&self, now: Nanos, missed: Nanos, stalled_after: Nanos, idle_after: Option<Nanos>) {
        let client = &self.client;
        client.excuse(missed);
        let quiet = now.since(client.heard.get());
        if let Some(began) = client.sending.get().filter(|&began| now.since(began) >= stalled_after) {
            self.stop(EndReason::NotReading(now.since(began)));
        } else if client.due.get().is_some_and(|due| now >= due) {
            self.stop(EndReason::Unfinished);
        } else if let Some(span) = idle_after
            && self.is_idle()
            && quiet >= span
        {
            self.stop(EndReason::Idle(span));
        } else if self.is_idle()
            && client.due.get().is_none()
            && quiet >= REST_AFTER
            && client.rest.get() == Rest::Awake
        {
            client.rest.set(Rest::Told);
            self.wake.notify();
        }
    }
}
