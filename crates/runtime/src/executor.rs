//! The executor: polls ready tasks, hands operations to the driver, wakes whoever waits for what came back.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use cygnus_types::{Nanos, ReactorId};

use crate::claims::{Claim, Claims};
use crate::interposer::{Interposer, Interposers};
use crate::mailbox::Mailbox;
use crate::slab::{OpSlab, OpState};
use crate::task::{self, ReadyQueue, Tasks};
use crate::{
    Buf, BufPool, BufSlice, Capabilities, Completion, DeviceIx, DeviceLoad, DeviceWatch, Driver, Events, Extra, Halt,
    IoError, KeptFile, ListenerId, Message, Op, OpId, Outcome, Rng, SocketId, ZoneCounts, patience,
};

/// The slot that [`Tasks`] keeps free for the future given to [`Runtime::run`].
const MAIN_TASK: u32 = 0;

/// Most timers that are kept although nobody waits for them any more.
pub(crate) const UNWANTED_TIMERS: usize = 1024;

/// When a timer fires, and its place among those that fire at the same time.
type TimerKey = (Nanos, u64);

struct Inner {
    id: ReactorId,
    executor: u32,
    driver: RefCell<Box<dyn Driver>>,
    interposers: Interposers,
    claims: Claims,
    now: Cell<Nanos>,
    ops: RefCell<OpSlab>,
    watch: RefCell<Option<Weak<dyn DeviceWatch>>>,
    tasks: RefCell<Tasks>,
    ready: Rc<ReadyQueue>,
    timers: RefCell<BTreeMap<TimerKey, Waker>>,
    /// Timers that nobody waits for any more. They leave together: a connection sets several, for seconds, and may be gone after
    /// a millisecond.
    unwanted: RefCell<Vec<TimerKey>>,
    timer_order: Cell<u64>,
    turn: Cell<u64>,
    mailbox: Mailbox,
    pool: BufPool,
    rng: RefCell<Rng>,
}

/// A handle to this thread's reactor. Clones are cheap; it cannot leave its thread.
#[derive(Clone)]
pub struct Runtime(Rc<Inner>);

impl Runtime {
    /// A reactor over `driver`, with its buffer pool and the seed of its random choices.
    pub fn new(id: ReactorId, driver: Box<dyn Driver>, pool: BufPool, seed: u64) -> Self {
        let ready = Rc::new(ReadyQueue::default());
        let now = driver.now();
        Self(Rc::new(Inner {
            id,
            executor: task::register(ready.clone()),
            driver: RefCell::new(driver),
            interposers: Interposers::default(),
            claims: Claims::default(),
            now: Cell::new(now),
            ops: RefCell::default(),
            watch: RefCell::default(),
            tasks: RefCell::default(),
            ready,
            timers: RefCell::default(),
            unwanted: RefCell::default(),
            timer_order: Cell::new(0),
            turn: Cell::new(0),
            mailbox: Mailbox::default(),
            pool,
            rng: RefCell::new(Rng::new(seed)),
        }))
    }

    /// Which reactor this is.
    pub fn id(&self) -> ReactorId {
        self.0.id
    }

    /// The time at the start of this turn of the loop.
    pub fn now(&self) -> Nanos {
        self.0.now.get()
    }

    /// The time this very moment, for measuring inside a turn.
    pub fn precise_now(&self) -> Nanos {
        self.0.driver.borrow().now()
    }

    /// The number of this turn of the loop: every task that is ready has one poll in it.
    pub fn turn(&self) -> u64 {
        self.0.turn.get()
    }

    /// 64 bits of this reactor's seeded randomness.
    pub fn rng_u64(&self) -> u64 {
        self.0.rng.borrow_mut().next_u64()
    }

    /// A buffer from this reactor's pool; see [`BufPool::alloc`].
    pub fn alloc(&self, len: usize) -> Buf {
        self.0.pool.alloc(len)
    }

    /// A buffer of kept memory that is reserved.
    ///
    /// # Errors
    /// When the system does not map it.
    pub fn alloc_kept(&self, kept: &KeptFile, offset: u64, len: usize) -> std::io::Result<Buf> {
        kept.map(offset, len).map(|pages| self.0.pool.adopt(pages))
    }

    /// Returns to the system what buffers have not needed for a while; see [`BufPool::give_back`].
    pub fn give_back_buffers(&self) {
        self.0.pool.give_back();
    }

    /// Bytes of memory that this reactor's buffers take, in use or not; see [`BufPool::resident`].
    pub fn buffer_bytes(&self) -> usize {
        self.0.pool.resident()
    }

    /// Starts a task. It is first polled in the next turn.
    pub fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        let slot = self.0.tasks.borrow_mut().insert(Box::pin(future));
        self.0.ready.push(slot);
    }

    /// Submits an operation now; the future waits for its end.
    pub fn submit(&self, op: Op) -> OpFuture {
        let id = self.0.ops.borrow_mut().insert(&op, self.now());
        match op.device().and_then(|dev| self.0.interposers.of(dev)) {
            None => self.pass_on(id, op),
            Some(interposer) => interposer.begin(self, id, op),
        }
        OpFuture { rt: self.clone(), id, ended: false }
    }

    /// From now on somebody stands between the engine and a device.
    pub fn interpose(&self, dev: DeviceIx, interposer: Rc<dyn Interposer>) {
        self.0.interposers.put(dev, interposer);
    }

    /// Has devices for oneself until the claim is dropped, as far as others on this reactor claim what they work with.
    ///
    /// # Errors
    /// The first that somebody else has; then nothing is claimed.
    pub fn claim(&self, devices: impl IntoIterator<Item = DeviceIx>) -> Result<Claim, DeviceIx> {
        self.0.claims.claim(devices.into_iter().collect())
    }

    /// Gives the driver an operation as it is; for interposers.
    pub fn pass_on(&self, id: OpId, op: Op) {
        self.0.driver.borrow_mut().submit(id, op);
    }

    /// Submits an operation for an interposer's own ends. Nobody watches over it: the operation that it is part of is watched.
    pub fn submit_beneath(&self, op: Op) -> OpFuture {
        self.submit_through(|id| self.pass_on(id, op))
    }

    /// The same of an operation that an interposer `begin`s in its own way: it passes something on or answers later.
    pub fn submit_through(&self, begin: impl FnOnce(OpId)) -> OpFuture {
        let id = self.0.ops.borrow_mut().insert_unwatched(self.now());
        begin(id);
        OpFuture { rt: self.clone(), id, ended: false }
    }

    /// Answers an operation that an interposer has carried out.
    pub fn answer(&self, id: OpId, result: Result<Outcome, IoError>) {
        self.complete(Completion { id, result });
    }

    /// Reads from a device; `offset` in bytes.
    pub fn read(&self, dev: DeviceIx, offset: u64, buf: BufSlice) -> OpFuture {
        self.submit(Op::Read { dev, offset, buf })
    }

    /// Writes to a device; `offset` in bytes.
    pub fn write(&self, dev: DeviceIx, offset: u64, buf: BufSlice) -> OpFuture {
        self.submit(Op::Write { dev, offset, buf, transient: false })
    }

    /// The same of what will soon be invalid, as a backup copy is: a device that can use that knowledge is told.
    pub fn write_transient(&self, dev: DeviceIx, offset: u64, buf: BufSlice) -> OpFuture {
        self.submit(Op::Write { dev, offset, buf, transient: true })
    }

    /// Makes a device's completed writes durable.
    pub fn flush(&self, dev: DeviceIx) -> OpFuture {
        self.submit(Op::Flush { dev })
    }

    /// Discards a range of a device; bytes.
    pub fn trim(&self, dev: DeviceIx, offset: u64, len: u64) -> OpFuture {
        self.submit(Op::Trim { dev, offset, len })
    }

    /// Has a device do what not every device can; see [`Extra`].
    pub fn extra(&self, dev: DeviceIx, what: Extra) -> OpFuture {
        self.submit(Op::Extra { dev, what })
    }

    /// Has all reads and writes of a device fail from the moment on at which its file has become shorter; see
    /// [`Driver::guard_length`](crate::Driver::guard_length).
    pub fn guard_length(&self, dev: DeviceIx) {
        self.0.driver.borrow_mut().guard_length(dev);
    }

    /// What a device is and what it can do.
    pub fn capabilities(&self, dev: DeviceIx) -> Capabilities {
        let own = self.0.driver.borrow().capabilities(dev);
        self.0.interposers.of(dev).map_or(own, |interposer| interposer.capabilities(own))
    }

    /// How far the zones of a device are written, as far as whoever keeps them in order knows; `None` of a device that is written
    /// anywhere.
    pub fn zone_counts(&self, dev: DeviceIx) -> Option<ZoneCounts> {
        self.0.interposers.of(dev).map(|interposer| interposer.zone_counts())
    }

    /// Opens a device anew; see [`Op::Reopen`].
    pub fn reopen(&self, dev: DeviceIx) -> OpFuture {
        self.submit(Op::Reopen { dev })
    }

    /// Operations of a device that the driver holds, those included that nobody waits for any more.
    pub fn in_flight(&self, dev: DeviceIx) -> usize {
        self.0.ops.borrow().in_flight(dev)
    }

    /// What a device has been given here and has not answered.
    pub fn load(&self, dev: DeviceIx) -> DeviceLoad {
        self.0.ops.borrow().load(dev)
    }

    /// Operations of all devices that the driver holds, but those of devices that hang.
    pub fn under_way(&self) -> u32 {
        self.0.ops.borrow().under_way()
    }

    /// Of the operations that [`Runtime::in_flight`] counts those that may still change what the device holds: all but reads.
    pub fn changes_in_flight(&self, dev: DeviceIx) -> usize {
        self.0.ops.borrow().changes_in_flight(dev)
    }

    /// For how long a device has owed an answer, if that is a tenth of what [`Runtime::set_patience`] gives that operation or
    /// more; of several operations the slowest.
    pub fn slow_to_answer(&self, dev: DeviceIx) -> Option<Nanos> {
        self.0.ops.borrow().slow_to_answer(dev, self.now())
    }

    /// From now on a read or write of a device that has no answer `limit` after its submission is answered by
    /// [`IoErrorKind::Hung`](crate::IoErrorKind::Hung), together with everything else in flight on that device; a flush
    /// may take twice that, a trim four times that and 2 s for each GiB. Time in which the reactor was kept from running does
    /// not count. The driver goes on owning those operations and their buffers.
    pub fn set_patience(&self, limit: Nanos) {
        self.0.ops.borrow_mut().patience = limit;
    }

    /// What [`Runtime::set_patience`] said; [`Nanos::MAX`] if it never was called.
    pub fn patience(&self) -> Nanos {
        self.0.ops.borrow().patience
    }

    /// Tells how devices keep pace to `watch`, in place of whom it was told before.
    pub fn watch_devices(&self, watch: Weak<dyn DeviceWatch>) {
        *self.0.watch.borrow_mut() = Some(watch);
    }

    /// Answers everything in flight on a device by [`IoErrorKind::Hung`](crate::IoErrorKind::Hung) now.
    pub fn give_up(&self, dev: DeviceIx) {
        self.0.ops.borrow_mut().give_up(dev);
    }

    /// Takes the next connection.
    pub async fn accept(&self, listener: ListenerId) -> Result<SocketId, IoError> {
        match self.submit(Op::Accept { listener }).await? {
            Outcome::Socket(socket, _) => Ok(socket),
            other => unreachable!("accept answered {other:?}"),
        }
    }

    /// Receives at least one byte; 0 means that the peer closed.
    pub async fn recv(&self, sock: SocketId, buf: BufSlice) -> Result<usize, IoError> {
        match self.submit(Op::Recv { sock, buf }).await? {
            Outcome::Bytes(n) => Ok(n as usize),
            other => unreachable!("recv answered {other:?}"),
        }
    }

    /// Sends all of the given buffers.
    pub fn send(&self, sock: SocketId, bufs: Vec<BufSlice>) -> OpFuture {
        self.submit(Op::Send { sock, bufs })
    }

    /// Closes a socket.
    pub fn close(&self, sock: SocketId) -> OpFuture {
        self.submit(Op::Close { sock })
    }

    /// Sends a message to a reactor.
    pub fn send_msg(&self, to: ReactorId, message: Message) {
        self.0.driver.borrow_mut().post(to, message);
    }

    /// The next message sent to this reactor. One task per reactor reads them.
    pub async fn recv_msg(&self) -> Message {
        self.0.mailbox.receive().await
    }

    /// Waits until `at`.
    pub fn sleep_until(&self, at: Nanos) -> Sleep {
        Sleep { rt: self.clone(), at, armed: None }
    }

    /// Waits for `span`.
    pub fn sleep(&self, span: Nanos) -> Sleep {
        self.sleep_until(Nanos(self.now().0.saturating_add(span.0)))
    }

    /// Lets every other ready task and the I/O have a turn.
    pub async fn yield_now(&self) {
        let mut yielded = false;
        std::future::poll_fn(|cx| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Runs until `main` ends; other tasks left over stay where they are.
    pub fn run<T>(&self, main: impl Future<Output = T>) -> Result<T, Halt> {
        let mut main = pin!(main);
        self.0.ready.push(MAIN_TASK);
        let waker = task::waker(self.0.executor, MAIN_TASK);
        let mut turn = Turn::default();
        loop {
            let mut outcome = None;
            self.poll_ready(&mut turn, || {
                if outcome.is_none()
                    && let Poll::Ready(value) = main.as_mut().poll(&mut Context::from_waker(&waker))
                {
                    outcome = Some(value);
                }
            });
            if let Some(value) = outcome {
                return Ok(value);
            }
            self.park(&mut turn)?;
        }
    }

    /// Polls once each task that is ready now (a turn of the loop, as in [`Runtime::run`], so that I/O gets its chance);
    /// for drivers that interleave several reactors on one thread. Returns whether anything was polled.
    pub fn run_ready(&self) -> bool {
        let any = !self.0.ready.is_empty();
        self.poll_ready(&mut Turn::default(), || {});
        any
    }

    /// When the earliest timer fires or an operation may be overdue, if there is such a time.
    pub fn next_timer(&self) -> Option<Nanos> {
        let timer = self.0.timers.borrow().first_key_value().map(|(key, _)| key.0);
        timer.into_iter().chain(self.0.ops.borrow().look_at()).min()
    }

    /// How many tasks exist; for tests and status.
    pub fn tasks(&self) -> usize {
        self.0.tasks.borrow().live()
    }

    /// How many timers are set; for tests and status.
    pub fn timers(&self) -> usize {
        self.0.timers.borrow().len()
    }

    fn poll_ready(&self, turn: &mut Turn, mut main: impl FnMut()) {
        self.0.ready.take(&mut turn.batch);
        self.0.turn.set(self.0.turn.get() + 1);
        for i in 0..turn.batch.len() {
            let slot = turn.batch[i];
            if slot == MAIN_TASK {
                main();
                continue;
            }
            // Bound to a name so that the borrow ends before the task runs.
            let taken = self.0.tasks.borrow_mut().take(slot);
            let Some(mut future) = taken else { continue };
            let waker = task::waker(self.0.executor, slot);
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => self.0.tasks.borrow_mut().put_back(slot, future),
                Poll::Ready(()) => {
                    drop(future);
                    self.0.tasks.borrow_mut().release(slot);
                }
            }
        }
        turn.batch.clear();
    }

    fn park(&self, turn: &mut Turn) -> Result<(), Halt> {
        let until = if self.0.ready.is_empty() { self.next_timer() } else { Some(Nanos(0)) };
        let parked = self.0.driver.borrow_mut().park(until, &mut turn.events);
        self.deliver(&mut turn.events);
        parked
    }

    /// Hands events to whoever waits for them and fires the timers that are due.
    pub fn deliver(&self, events: &mut Events) {
        let now = self.0.driver.borrow().now();
        let before = self.0.now.replace(now);
        let stalled = patience::stalled(now.since(before), std::mem::take(&mut events.waited));
        if stalled > Nanos::ZERO {
            self.stalled(stalled);
        }
        for completion in events.done.drain(..) {
            self.complete(completion);
        }
        for message in events.messages.drain(..) {
            self.0.mailbox.deliver(message);
        }
        self.look_for_overdue(now);
        let mut timers = self.0.timers.borrow_mut();
        while let Some(first) = timers.first_entry().filter(|first| first.key().0 <= now) {
            first.remove().wake();
        }
    }

    /// Nobody waits for this timer any more.
    fn forget_timer(&self, key: TimerKey) {
        let mut unwanted = self.0.unwanted.borrow_mut();
        unwanted.push(key);
        if unwanted.len() < UNWANTED_TIMERS {
            return;
        }
        let now = self.now();
        unwanted.retain(|key| key.0 > now);
        // Half of them at least, so that this costs each of them little.
        if unwanted.len() > UNWANTED_TIMERS / 2 {
            let mut timers = self.0.timers.borrow_mut();
            unwanted.drain(..).for_each(|key| drop(timers.remove(&key)));
        }
    }

    fn complete(&self, Completion { id, result }: Completion) {
        let (waker, ended) = self.0.ops.borrow_mut().complete(id, result, self.now());
        if let (Some(ended), Some(watch)) = (ended, self.watch()) {
            watch.ended(ended.io, ended.took, ended.result);
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn watch(&self) -> Option<Rc<dyn DeviceWatch>> {
        self.0.watch.borrow().as_ref().and_then(Weak::upgrade)
    }

    /// This reactor did not see what devices did during `span`.
    #[cold]
    fn stalled(&self, span: Nanos) {
        self.0.ops.borrow_mut().forgive(span);
        if let Some(watch) = self.watch() {
            watch.stalled(span);
        }
    }

    fn look_for_overdue(&self, now: Nanos) {
        if self.0.ops.borrow().look_at().is_none_or(|at| at > now) {
            return;
        }
        loop {
            let Some((io, since)) = self.0.ops.borrow_mut().overdue(now) else { return };
            self.give_up(io.dev);
            if let Some(watch) = self.watch() {
                watch.hung(io, now.since(since));
            }
        }
    }

    /// Drops every task. Used at shutdown and by power cuts: the tasks hold the runtime, and the runtime the tasks.
    pub fn drop_tasks(&self) {
        loop {
            let tasks = self.0.tasks.borrow_mut().drain();
            if tasks.is_empty() {
                return;
            }
            drop(tasks);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        task::unregister(self.executor);
    }
}

/// Scratch space of the loop, kept from turn to turn.
#[derive(Default)]
struct Turn {
    batch: Vec<u32>,
    events: Events,
}

/// An operation in flight. Dropping it abandons the result, not the operation.
#[must_use = "an operation's failure is only seen by whoever awaits it"]
pub struct OpFuture {
    rt: Runtime,
    id: OpId,
    ended: bool,
}

impl Future for OpFuture {
    type Output = Result<Outcome, IoError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.ended, "an operation was polled after its end");
        let id = self.id;
        let result = {
            let mut ops = self.rt.0.ops.borrow_mut();
            match ops.state(id) {
                OpState::Ended(result) => {
                    let result = *result;
                    ops.release(id);
                    result
                }
                OpState::Waiting(waker) => {
                    *waker = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                state @ OpState::GivenUp => {
                    *state = OpState::Abandoned;
                    Err(OpSlab::hung())
                }
                _ => unreachable!("a live future's operation is waiting, ended or given up"),
            }
        };
        self.ended = true;
        Poll::Ready(result)
    }
}

impl OpFuture {
    /// Waits until the operation has ended or it was submitted `after` ago. `None`: it goes on, and can be awaited
    /// further. Only for operations of devices.
    pub async fn within(&mut self, after: Nanos) -> Option<Result<Outcome, IoError>> {
        let rt = self.rt.clone();
        let id = self.id;
        {
            let mut ops = rt.0.ops.borrow_mut();
            let due = ops.began(id).saturating_add(after);
            ops.set_due(id, due);
        }
        std::future::poll_fn(|cx| match Pin::new(&mut *self).poll(cx) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if rt.0.ops.borrow().is_late(id, rt.now()) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
    }
}

impl OpFuture {
    /// Ends a receive for which nothing has come, so that its buffer is free for something else; see
    /// [`Driver::end_receive`]. The future is awaited as before.
    pub fn end_receive(&self) {
        if !self.ended {
            self.rt.0.driver.borrow_mut().end_receive(self.id);
        }
    }
}

impl Drop for OpFuture {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut ops = self.rt.0.ops.borrow_mut();
        match ops.state(self.id) {
            OpState::Ended(_) => ops.release(self.id),
            state => *state = OpState::Abandoned,
        }
    }
}

/// See [`Runtime::sleep_until`]. Once it is dropped its timer does nothing, and leaves with others or when its time has come.
pub struct Sleep {
    rt: Runtime,
    at: Nanos,
    armed: Option<TimerKey>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.rt.now() >= self.at {
            self.armed = None;
            return Poll::Ready(());
        }
        if self.armed.is_none() {
            let inner = &self.rt.0;
            let order = inner.timer_order.get();
            inner.timer_order.set(order + 1);
            let key = (self.at, order);
            inner.timers.borrow_mut().insert(key, cx.waker().clone());
            self.armed = Some(key);
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.armed {
            self.rt.forget_timer(key);
        }
    }
}
