//! Clients: tasks that make the requests of a script, check every answer against the oracle, and tell when something is
//! wrong.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use cygnus_engine::Broken;
use cygnus_runtime::{Event, Raced, Runtime, race};
use cygnus_types::{BLOCK, Nanos};

use crate::block::Ending;
use crate::coverage::During;
use crate::failure::{FailedRequest, Inexcusable, RunFailure, Step};
use crate::oracle::{Kind, Oracle, Since};
use crate::story::{Request, RequestKind};
use crate::target::{RequestError, Target};

/// Requests between two looks at the engine's invariants.
const INSPECT_EVERY: u64 = 8;

/// Bytes of the longest read that a sweep makes, or one in the place of a request that must not be made.
const LONGEST_READ: u64 = 64 * BLOCK as u64;

/// Pieces in which a volume is discarded, and bytes of each at least.
const PIECES: u64 = 64;
const LEAST_PIECE: u64 = 8 * BLOCK as u64;
/// How often a write is tried again that finds no room when all was discarded, and how long in between.
const WRITES: u32 = 500;
const BETWEEN_WRITES: Nanos = Nanos::millis(10);

/// A look at the whole engine; the error says which of its invariants does not hold.
pub(crate) type Inspection = Rc<dyn Fn() -> Result<(), Broken>>;

/// What the clients of a run share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) oracle: RefCell<Oracle>,
    /// The first thing that went wrong.
    pub(crate) failure: RefCell<Option<RunFailure>>,
    /// No more requests, please.
    pub(crate) stop: Cell<bool>,
    /// Whether running out of space is a legal answer.
    pub(crate) may_fill: Cell<bool>,
    /// Whether a suspended array may refuse requests.
    pub(crate) may_suspend: Cell<bool>,
    /// Whether nothing is lost for good, so that nothing excuses an error but the loss of caches.
    pub(crate) loses_nothing: Cell<bool>,
    /// How long one request may take; zero: as long as all of them together.
    pub(crate) patience: Cell<Nanos>,
    /// Whether blocks that cannot be read may keep all room.
    pub(crate) may_clog: Cell<bool>,
    /// Requests refused since they do.
    pub(crate) clogged: Cell<u64>,
    /// Requests refused for lack of space.
    pub(crate) refused: Cell<u64>,
    /// R-groups that got the number of one that had left.
    pub(crate) reused: Cell<u64>,
    /// Requests that failed because of damage beyond redundancy.
    pub(crate) excused: Cell<u64>,
    /// Looks at the engine's invariants.
    pub(crate) inspections: Cell<u64>,
    inspection: RefCell<Option<Inspection>>,
    requests: Cell<u64>,
    working: Cell<usize>,
    changed: Event,
}

impl Shared {
    /// Reports that something is wrong; the first report counts.
    pub(crate) fn fail(&self, failure: RunFailure) {
        self.failure.borrow_mut().get_or_insert(failure);
        self.stop.set(true);
        self.changed.notify();
    }

    /// Sets what looks at the engine; `None` while no array is open.
    pub(crate) fn inspect_with(&self, inspection: Option<Inspection>) {
        self.inspection.replace(inspection);
    }

    /// Looks at the engine's invariants now.
    pub(crate) fn inspect(&self) -> Result<(), RunFailure> {
        let Some(inspection) = self.inspection.borrow().clone() else { return Ok(()) };
        self.inspections.set(self.inspections.get() + 1);
        Ok(inspection()?)
    }

    fn inspect_now_and_then(&self) -> Result<(), RunFailure> {
        self.requests.set(self.requests.get() + 1);
        if self.requests.get().is_multiple_of(INSPECT_EVERY) { self.inspect() } else { Ok(()) }
    }

    /// Requests that were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.requests.get()
    }

    pub(crate) fn failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    /// Every client died, and with it what was not durable.
    pub(crate) fn power_was_cut(&self, at: Nanos, what: &str) {
        self.working.set(0);
        self.stop.set(false);
        self.oracle.borrow_mut().lose_power(at, what);
    }

    /// Every client died, and no device has lost what it had taken; what was on its way there is `kept` or not.
    pub(crate) fn process_was_killed(&self, at: Nanos, kept: bool) {
        self.working.set(0);
        self.stop.set(false);
        self.oracle.borrow_mut().lose_process(at, kept);
    }

    /// Starts a task that counts as working until it ends.
    pub(crate) fn spawn(self: &Rc<Self>, rt: &Runtime, work: impl Future<Output = ()> + 'static) {
        self.working.set(self.working.get() + 1);
        let shared = self.clone();
        rt.spawn(async move {
            work.await;
            shared.working.set(shared.working.get() - 1);
            shared.changed.notify();
        });
    }

    /// Waits until every task started by [`Shared::spawn`] has ended, or something has failed.
    pub(crate) async fn wait(&self) {
        while self.working.get() > 0 && !self.failed() {
            self.changed.wait().await;
        }
    }
}

/// A client of one volume.
pub(crate) struct Client<T> {
    pub(crate) rt: Runtime,
    pub(crate) target: T,
    pub(crate) shared: Rc<Shared>,
    /// The oracle's number of the volume.
    pub(crate) volume: u32,
    /// The volume's size in bytes.
    pub(crate) size: u64,
    /// When a flush of this client ended last, or the client began. A write that fails tells of that write only.
    pub(crate) heard: Cell<Since>,
}

impl<T: Target> Client<T> {
    /// Makes the requests, or fewer if told to stop.
    pub(crate) async fn work(mut self, requests: Vec<Request>) {
        for request in requests {
            if self.shared.stop.get() {
                return;
            }
            let outcome = self.request_in_time(&request).await.and_then(|()| self.shared.inspect_now_and_then());
            if let Err(failure) = outcome {
                return self.shared.fail(failure);
            }
            if request.pause > Nanos::ZERO {
                self.rt.sleep(request.pause).await;
            }
        }
    }

    /// No request may take longer than trouble lasts, and some time.
    async fn request_in_time(&mut self, request: &Request) -> Result<(), RunFailure> {
        let (rt, patience) = (self.rt.clone(), self.shared.patience.get());
        if patience == Nanos::ZERO {
            return self.request(request).await;
        }
        match race(self.request(request), rt.sleep(patience)).await {
            Raced::First(outcome) => outcome,
            Raced::Second(()) => Err(RunFailure::Unanswered { patience, request: request.to_string(), at: rt.now() }),
        }
    }

    async fn request(&mut self, request: &Request) -> Result<(), RunFailure> {
        if request.kind == RequestKind::Flush {
            return self.flush().await;
        }
        let (offset, len) = self.inside(request);
        let crowded = || self.shared.oracle.borrow_mut().is_crowded(self.volume, offset, len);
        let kind = match request.kind {
            RequestKind::Write if !crowded() => Kind::Write,
            RequestKind::Zero if !crowded() => Kind::Zero,
            RequestKind::Trim if !crowded() => Kind::Trim,
            _ => return self.read(offset, len.min(LONGEST_READ)).await,
        };
        self.change(kind, offset, len, request.fua).await
    }

    /// The request's range, moved into the volume if need be.
    fn inside(&self, request: &Request) -> (u64, u64) {
        let len = request.len.clamp(1, self.size);
        let offset = match request.offset + len {
            end if end <= self.size => request.offset,
            _ => request.offset.min(self.size - len) / BLOCK as u64 * BLOCK as u64,
        };
        (offset, len)
    }

    async fn read(&mut self, offset: u64, len: u64) -> Result<(), RunFailure> {
        let _step = During::new("read");
        let since = self.shared.oracle.borrow_mut().begin_read(self.volume);
        let mut buf = self.rt.alloc(len as usize);
        // A read that "succeeds" without touching the buffer must not find the right answer there.
        buf.bytes_mut().fill(0xA5);
        let result = self.target.read(offset, buf.full()).await;
        let now = self.rt.now();
        match result {
            Ok(buf) => {
                let mut oracle = self.shared.oracle.borrow_mut();
                Ok(oracle.end_read(self.volume, offset, buf.bytes(), since, now)?)
            }
            Err(error) => {
                self.shared.oracle.borrow_mut().end_failed_read(self.volume, since);
                self.judge("read", offset..offset + len, error).await
            }
        }
    }

    async fn change(&mut self, kind: Kind, offset: u64, len: u64, fua: bool) -> Result<(), RunFailure> {
        let _step = During::new(if kind == Kind::Trim { "trim" } else { "write" });
        let ticket = self.shared.oracle.borrow_mut().begin(self.volume, kind, offset, len, fua);
        let result = match kind {
            Kind::Write => {
                let mut buf = self.rt.alloc(len as usize);
                ticket.fill(buf.bytes_mut());
                self.target.write(offset, buf.full(), fua).await
            }
            Kind::Zero => self.target.write_zeroes(offset, len, fua).await,
            Kind::Trim => match self.target.trim(offset, len).await {
                Ok(()) if fua => self.target.flush().await,
                result => result,
            },
        };
        let ending = if result.is_ok() { Ending::Done } else { Ending::Failed };
        self.shared.oracle.borrow_mut().end(&ticket, ending, self.rt.now());
        match result {
            Ok(()) => Ok(()),
            // Writing less than a block may need a new block even for zeros and trims.
            Err(RequestError::NoSpace) if self.shared.may_fill.get() => {
                self.shared.refused.set(self.shared.refused.get() + 1);
                Ok(())
            }
            // Of a discard the blocks at the ends, of which it covers a part only, are left as they are.
            Err(RequestError::Clogged) if self.shared.may_clog.get() && kind != Kind::Trim => {
                self.shared.clogged.set(self.shared.clogged.get() + 1);
                Ok(())
            }
            Err(error) => self.judge(kind.name(), offset..offset + len, error).await,
        }
    }

    async fn flush(&mut self) -> Result<(), RunFailure> {
        let since = self.shared.oracle.borrow_mut().begin_flush();
        match self.target.flush().await {
            Ok(()) => {
                self.shared.oracle.borrow_mut().end_flush(self.volume, since, self.rt.now());
                self.heard.set(self.shared.oracle.borrow().now());
                Ok(())
            }
            Err(error) => {
                let told = matches!(error, RequestError::Lost);
                self.judge("flush", 0..self.size, error).await?;
                if told {
                    self.heard.set(self.shared.oracle.borrow().now());
                }
                Ok(())
            }
        }
    }

    /// A request failed: fine if damage beyond redundancy is the reason, and nothing else is.
    async fn judge(&self, what: &'static str, bytes: Range<u64>, error: RequestError) -> Result<(), RunFailure> {
        let doubt = match &error {
            RequestError::Suspended if self.shared.may_suspend.get() => {
                self.shared.refused.set(self.shared.refused.get() + 1);
                return Ok(());
            }
            RequestError::Unreadable(block) if self.shared.oracle.borrow_mut().may_be_lost(self.volume, *block) => {
                Ok(())
            }
            RequestError::Unreadable(block) if self.shared.oracle.borrow_mut().may_be_forgone(self.volume, *block) => {
                Ok(())
            }
            RequestError::Lost => {
                let mut oracle = self.shared.oracle.borrow_mut();
                let may_be = oracle.told_of_loss(self.volume, self.heard.get(), self.rt.now());
                if may_be { Ok(()) } else { Err(Some(Inexcusable::AllIsDurable)) }
            }
            RequestError::Unreadable(_) if self.shared.loses_nothing.get() => Err(Some(Inexcusable::NothingLost)),
            RequestError::Unreadable(block) => self.target.excuse(*block).await.map_err(Some),
            _ => Err(None),
        };
        match doubt {
            Ok(()) => {
                self.shared.excused.set(self.shared.excused.get() + 1);
                Ok(())
            }
            Err(why) => {
                let (volume, at) = (self.volume, self.rt.now());
                Err(FailedRequest { volume, what, bytes, at, error, why }.into())
            }
        }
    }

    /// Discards the whole volume piece by piece, which is never refused; then it takes writes again.
    pub(crate) async fn gives_room(mut self) {
        let page = self.shared.oracle.borrow_mut().page(self.volume) * BLOCK as u64;
        let piece = ((self.size / PIECES).max(LEAST_PIECE) / page).max(1) * page;
        for (n, at) in (0..self.size).step_by(piece as usize).enumerate() {
            let len = piece.min(self.size - at);
            if let Err(failure) = self.change(Kind::Trim, at, len, n % 2 == 0).await {
                return self.shared.fail(failure.during(Step::Discarding));
            }
        }
        for _ in 0..WRITES {
            let refused = self.shared.clogged.get();
            if let Err(failure) = self.change(Kind::Write, 0, LEAST_PIECE.min(self.size), false).await {
                return self.shared.fail(failure);
            }
            if self.shared.clogged.get() == refused {
                return;
            }
            self.rt.sleep(BETWEEN_WRITES).await;
        }
        self.shared.fail(RunFailure::NoRoomAgain);
    }

    /// Reads the whole volume and checks every block, of one too large for that those that may hold anything.
    pub(crate) async fn verify(mut self) {
        let known = self.shared.oracle.borrow_mut().known(self.volume);
        let pieces = known.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(LONGEST_READ as usize / BLOCK));
        for piece in pieces {
            let offset = piece[0] * BLOCK as u64;
            let len = ((piece.len() * BLOCK) as u64).min(self.size.saturating_sub(offset));
            if len == 0 || self.shared.failed() {
                return;
            }
            if let Err(failure) = self.verify_piece(offset, len).await {
                self.shared.fail(failure.during(Step::Sweep));
            }
        }
    }

    async fn verify_piece(&mut self, offset: u64, len: u64) -> Result<(), RunFailure> {
        let excused = self.shared.excused.get();
        self.read(offset, len).await?;
        if self.shared.excused.get() > excused && len > BLOCK as u64 {
            // A block of the piece is beyond redundancy; the others are not excused.
            for at in (offset..offset + len).step_by(BLOCK) {
                self.read(at, BLOCK as u64).await?;
            }
        }
        Ok(())
    }
}
