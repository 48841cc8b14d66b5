//! How much the sessions of a reactor do in one turn of its loop, and which of them comes first.
//!
//! A client may have thousands of requests in the reader's buffer, and a request may ask for the state of gigabytes. So
//! that neither keeps others waiting, work is counted in units of about a microsecond. When a turn's units are used up, the
//! rest of the work is done in later turns, and the session goes first that has had least ([`Fair`]).
//!
//! A request passes through several turns: it is received, read from a device, sent. So the length of a turn is what a client
//! with one small request at a time waits several times over. Long turns cost least for each request. They are short as long
//! as such a *modest* client is served beside *busy* ones; each receive and each send is short then, too.

use std::cell::Cell;
use std::rc::Rc;

use cygnus_runtime::Runtime;
use cygnus_types::Nanos;

use crate::fair::{Fair, Had, Place};

/// Units per turn: a thousand small requests. While all the work there is fits, no client waits.
const PER_TURN: i64 = 1024;
/// The same while modest and busy clients are served side by side.
const PER_SHORT_TURN: i64 = 4;
/// Units that sessions of clients which are not busy may take beyond those of a turn, before all that wait.
const EXTRA: i64 = 4;
/// Bytes that are copied at the price of one unit.
pub(crate) const UNIT_BYTES: usize = 16 << 10;
/// Bytes that are received, read or sent at a time while turns are short.
pub(crate) const SHORT_BYTES: usize = 32 << 10;
/// A request of more units is none of a modest client.
const MODEST: u32 = 8;
/// How long a client counts as modest or busy after the request that showed it.
const RECENT: Nanos = Nanos::millis(100);

/// See the module's text.
pub(crate) struct Pace {
    rt: Runtime,
    turn: Cell<u64>,
    left: Cell<i64>,
    waiting: Fair,
    ticking: Cell<bool>,
    /// When a modest client's request came last, and a busy one's.
    modest: Cell<Option<Nanos>>,
    busy: Cell<Option<Nanos>>,
}

/// What the pace knows of a session.
#[derive(Default)]
pub(crate) struct Paced {
    had: Had,
    /// When the client last asked for much, or for something while other requests of it were under way.
    busy: Cell<Option<Nanos>>,
}

impl Pace {
    pub(crate) fn new(rt: &Runtime) -> Rc<Self> {
        Rc::new(Self {
            rt: rt.clone(),
            turn: Cell::new(rt.turn()),
            left: Cell::new(PER_TURN),
            waiting: Fair::default(),
            ticking: Cell::new(false),
            modest: Cell::new(None),
            busy: Cell::new(None),
        })
    }

    /// A session's client asks for something. `is_alone`: nothing else of that client is under way.
    #[inline]
    pub(crate) fn asked(&self, session: &Paced, units: u32, is_alone: bool) {
        if !is_alone || units > MODEST {
            session.busy.set(Some(self.rt.now()));
            self.busy.set(Some(self.rt.now()));
        } else if !self.is_busy(session) {
            self.modest.set(Some(self.rt.now()));
        }
    }

    /// Whether the session's client had much under way lately.
    pub(crate) fn is_busy(&self, session: &Paced) -> bool {
        self.is_recent(&session.busy)
    }

    /// Whether turns are short at present: see the module's text.
    pub(crate) fn is_crowded(&self) -> bool {
        self.is_recent(&self.modest) && self.is_recent(&self.busy)
    }

    fn is_recent(&self, time: &Cell<Option<Nanos>>) -> bool {
        time.get().is_some_and(|time| self.rt.now().since(time) < RECENT)
    }

    /// Takes units of this turn if there are any left and no other session waits for them, or the session's client asks for little.
    #[inline]
    pub(crate) fn try_take(&self, session: &Paced, units: u32) -> bool {
        self.begin_turn();
        let left = self.left.get();
        let may = if self.ticking.get() { left > -EXTRA && !self.is_busy(session) } else { left > 0 };
        if may {
            self.waiting.count(&session.had, u64::from(units));
            self.left.set(left - i64::from(units));
        }
        may
    }

    fn begin_turn(&self) {
        let turn = self.rt.turn();
        if self.turn.replace(turn) != turn {
            self.left.set(if self.is_crowded() { PER_SHORT_TURN } else { PER_TURN });
            if !self.ticking.get() {
                self.waiting.forget();
            }
        }
    }

    /// Takes units of this turn or, when the session's turn has come, of a later one.
    pub(crate) async fn take(self: &Rc<Self>, session: &Paced, units: u32) {
        if self.try_take(session, units) {
            return;
        }
        let wish = Wish { pace: self, place: self.waiting.enter(&session.had, u64::from(units)) };
        if !self.ticking.replace(true) {
            let pace = self.clone();
            self.rt.spawn(async move { pace.tick().await });
        }
        self.waiting.until_let_in(wish.place).await;
    }

    /// Hands out the units of each turn for as long as anybody waits.
    async fn tick(&self) {
        loop {
            self.begin_turn();
            while self.left.get() > 0 {
                let Some(units) = self.waiting.let_in(|_| true) else {
                    self.ticking.set(false);
                    return;
                };
                self.left.set(self.left.get() - units as i64);
            }
            self.rt.yield_now().await;
        }
    }
}

/// A place among those that wait. Given up when dropped.
struct Wish<'a> {
    pace: &'a Pace,
    place: Place,
}

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        self.pace.waiting.leave(self.place);
    }
}
