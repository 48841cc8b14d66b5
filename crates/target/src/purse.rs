//! What the sessions of a reactor hold of the network's memory, and who waits for some.
//!
//! Each connection has a small part to itself, which is enough for any request, if need be in small pieces. So a client that
//! takes its replies waits for no other client. Beyond that all reactors' sessions draw on one account, and no peer may hold more of
//! it, with all its connections, than is left for the others ([`MemoryPart::try_take_share`]). A client that gets none and has
//! used up its own part waits, which means that its socket is not read.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use cygnus_runtime::{MemoryPart, Runtime};
use cygnus_types::Nanos;

/// Bytes that each connection has to itself: its smallest buffers, and room for a few ordinary requests.
pub(crate) const RESERVE: usize = 128 << 10;
/// Bytes moved between the common account and a session's own at a time, so that few requests touch what reactors share.
const GRAIN: usize = 64 << 10;
/// How often those who wait look whether another reactor has given something back.
const LOOK: Nanos = Nanos::millis(1);

/// The common account as the sessions of one reactor see it.
pub(crate) struct Purse {
    rt: Runtime,
    memory: Arc<MemoryPart>,
    waiting: RefCell<Vec<Rc<Wish>>>,
    looking: Cell<bool>,
    /// How many requests are served with less than they wanted.
    curtailed: Cell<u32>,
}

/// What one session holds.
pub(crate) struct Account {
    purse: Rc<Purse>,
    /// Bytes in use.
    held: Cell<usize>,
    /// Bytes that may be in use: the session's own, and what it has drawn.
    taken: Cell<usize>,
    /// Bytes drawn for buffers that stay, beside what is in use for requests.
    lent: Cell<usize>,
    /// Bytes that all sessions of its peer have drawn.
    peers: Arc<AtomicUsize>,
}

/// A session that waits for memory.
struct Wish {
    account: Rc<Account>,
    bytes: usize,
    granted: Cell<bool>,
    waker: RefCell<Waker>,
}

impl Purse {
    pub(crate) fn new(rt: &Runtime, memory: Arc<MemoryPart>) -> Rc<Self> {
        let (looking, curtailed) = (Cell::new(false), Cell::new(0));
        Rc::new(Self { rt: rt.clone(), memory, waiting: RefCell::default(), looking, curtailed })
    }

    /// The account of a new session; `peers` counts what all sessions of its peer have drawn.
    pub(crate) fn open(self: &Rc<Self>, peers: Arc<AtomicUsize>) -> Rc<Account> {
        let (held, taken, lent) = (Cell::new(0), Cell::new(RESERVE), Cell::new(0));
        Rc::new(Account { purse: self.clone(), held, taken, lent, peers })
    }

    /// Whether anybody waits, or has to do with less than it wanted.
    pub(crate) fn is_short(&self) -> bool {
        self.curtailed.get() > 0 || !self.waiting.borrow().is_empty()
    }

    /// Grants whatever can be granted now, to those who have waited longest first.
    fn serve(&self) {
        let grant = |wish: &Wish| {
            let granted = wish.account.try_take(wish.bytes);
            if granted {
                wish.granted.set(true);
                wish.waker.borrow().wake_by_ref();
            }
            granted
        };
        // One whose future was dropped wants nothing any more.
        self.waiting.borrow_mut().retain(|wish| Rc::strong_count(wish) > 1 && !grant(wish));
    }

    fn enqueue(self: &Rc<Self>, wish: Rc<Wish>) {
        self.waiting.borrow_mut().push(wish);
        if self.looking.replace(true) {
            return;
        }
        let purse = self.clone();
        self.rt.spawn(async move {
            while !purse.waiting.borrow().is_empty() {
                purse.rt.sleep(LOOK).await;
                purse.serve();
            }
            purse.looking.set(false);
        });
    }
}

impl Account {
    /// Takes `bytes` if they are to be had at once.
    #[inline]
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let held = self.held.get() + bytes;
        if held > self.taken.get() && !self.draw(held - self.taken.get()) {
            return false;
        }
        self.held.set(held);
        true
    }

    fn draw(&self, missing: usize) -> bool {
        let bytes = missing.next_multiple_of(GRAIN);
        let granted = self.take_share(bytes);
        if granted {
            self.taken.set(self.taken.get() + bytes);
        }
        granted
    }

    fn take_share(&self, bytes: usize) -> bool {
        let granted = self.purse.memory.try_take_share(bytes, self.peers.load(Ordering::Relaxed));
        if granted {
            self.peers.fetch_add(bytes, Ordering::Relaxed);
        }
        granted
    }

    fn give_share(&self, bytes: usize) {
        self.peers.fetch_sub(bytes, Ordering::Relaxed);
        self.purse.memory.give(bytes);
    }

    /// Draws `bytes` for a buffer that stays, if they are to be had at once. The session's own part is left for requests.
    pub(crate) fn try_lend(&self, bytes: usize) -> bool {
        let granted = self.take_share(bytes);
        if granted {
            self.lent.set(self.lent.get() + bytes);
        }
        granted
    }

    /// Gives back what was lent.
    pub(crate) fn return_lent(&self, bytes: usize) {
        self.lent.set(self.lent.get() - bytes);
        self.give_share(bytes);
        self.serve_others();
    }

    /// While the answer is kept, it is known that a request of this session has to do with less than it wanted.
    pub(crate) fn curtail(&self) -> Curtailed {
        self.purse.curtailed.set(self.purse.curtailed.get() + 1);
        Curtailed(self.purse.clone())
    }

    fn serve_others(&self) {
        if !self.purse.waiting.borrow().is_empty() {
            self.purse.serve();
        }
    }

    /// Keeps so much, and gives back the rest of what was drawn.
    fn keep(&self, bytes: usize) {
        let excess = self.taken.replace(bytes) - bytes;
        self.give_share(excess);
    }

    /// Whether it has drawn on the common account.
    pub(crate) fn has_drawn(&self) -> bool {
        self.taken.get() > RESERVE || self.lent.get() > 0
    }

    /// Takes `bytes` as soon as they are to be had.
    pub(crate) async fn take(self: &Rc<Self>, bytes: usize) {
        if self.try_take(bytes) {
            return;
        }
        let (account, granted, waker) = (self.clone(), Cell::new(false), RefCell::new(Waker::noop().clone()));
        let mut waits = Waits { wish: Rc::new(Wish { account, bytes, granted, waker }), over: false };
        self.purse.enqueue(waits.wish.clone());
        poll_fn(|cx| {
            if waits.wish.granted.get() {
                return Poll::Ready(());
            }
            waits.wish.waker.borrow_mut().clone_from(cx.waker());
            Poll::Pending
        })
        .await;
        waits.over = true;
    }

    /// Gives back what was taken.
    #[inline]
    pub(crate) fn give(&self, bytes: usize) {
        let held = self.held.get() - bytes;
        self.held.set(held);
        // A grain more is kept while there is work, for the next request.
        let keep = if held <= RESERVE { RESERVE } else { held.next_multiple_of(GRAIN) + GRAIN };
        if self.taken.get() > keep {
            self.keep(keep);
        }
        self.serve_others();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        // Those who wait hear of it at their next look: they may be looking just now, and find that this one has gone.
        self.keep(RESERVE);
    }
}

/// A place among those who wait; if it is left after the grant, the bytes go back.
struct Waits {
    wish: Rc<Wish>,
    over: bool,
}

impl Drop for Waits {
    fn drop(&mut self) {
        if self.wish.granted.get() && !self.over {
            self.wish.account.give(self.wish.bytes);
        }
    }
}

/// See [`Account::curtail`].
pub(crate) struct Curtailed(Rc<Purse>);

impl Drop for Curtailed {
    fn drop(&mut self) {
        self.0.curtailed.set(self.0.curtailed.get() - 1);
    }
}
