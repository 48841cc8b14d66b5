//! What a session's reader, workers and sender share while requests are served: above all, room for them.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use cygnus_runtime::{Runtime, SocketId};
use cygnus_types::Nanos;

use crate::asked::{Share, Shares, units_for};
use crate::context::Context;
use crate::event::EndReason;
use crate::exports::Export;
use crate::fair::Had;
use crate::handle::Handle;
use crate::jobs::{Jobs, Lane};
use crate::nbd::Agreed;
use crate::outbox::Outbox;
use crate::pace::{Pace, SHORT_BYTES};
use crate::queue::Queue;
use crate::receive::ReceiveBuffer;
use crate::select::{Either, first_of};
use crate::stats::Totals;
use crate::wait::receive;
use cygnus_volume::{BlockVolume, Tap};

/// Bytes of replies, and of writes waiting, that one session may have outstanding, whatever memory there is. Enough for
/// 1900 reads of 4 KiB. A single larger request still gets through, alone.
const WINDOW: usize = 16 << 20;
/// Bytes that a worker takes: a task with the future of a request.
pub(crate) const WORKER: usize = 4 << 10;

/// What a session's reader, workers and sender share.
pub(crate) struct Transmission<V> {
    pub(crate) rt: Runtime,
    pub(crate) volume: V,
    pub(crate) tap: Option<Rc<dyn Tap>>,
    pub(crate) agreed: Agreed,
    pub(crate) outbox: Outbox,
    pub(crate) totals: Rc<Totals>,
    pub(crate) handle: Rc<Handle>,
    pub(crate) pace: Rc<Pace>,
    pub(crate) queue: Rc<Queue>,
    /// What this session has had of the queue's turns.
    pub(crate) had: Had,
    /// By the lanes' numbers.
    jobs: [Jobs; Lane::ALL.len()],
    stalled_after: Nanos,
    /// How many wait for room in the window.
    waiting: Cell<u32>,
    /// Set by workers or the sender; the reader obeys.
    ended: RefCell<Option<EndReason>>,
}

impl<V: BlockVolume> Transmission<V> {
    pub(crate) fn new<E>(server: &Context<'_, E>, handle: &Rc<Handle>, agreed: Agreed, export: Export<V>) -> Rc<Self> {
        Rc::new(Self {
            rt: server.rt.clone(),
            volume: export.volume,
            tap: export.tap,
            agreed,
            outbox: Outbox::new(server.rt),
            totals: server.totals.clone(),
            handle: handle.clone(),
            pace: server.pace.clone(),
            queue: server.queue.clone(),
            had: Had::default(),
            jobs: Lane::ALL.map(|lane| Jobs::new(lane.most_workers())),
            stalled_after: server.config.stalled_after,
            waiting: Cell::new(0),
            ended: RefCell::default(),
        })
    }

    /// Nothing is served any more.
    pub(crate) fn close(&self) {
        self.jobs.iter().for_each(Jobs::close);
        self.outbox.close();
        // Workers that wait for room find that their replies are not wanted any more.
        self.handle.wake.notify();
    }

    /// Receives more. The buffer has room. Of a request that has begun, `missing` bytes have yet to come.
    pub(crate) async fn receive_more(
        &self,
        sock: SocketId,
        input: &mut ReceiveBuffer,
        missing: usize,
    ) -> Result<(), EndReason> {
        let client = &self.handle.client;
        let mut most = usize::MAX;
        if self.makes_small_steps() {
            most = SHORT_BYTES;
            self.take_turn(units_for(most)).await;
        }
        if missing > 0 {
            client.has_begun(self.rt.now(), missing, self.stalled_after);
        }
        receive(&self.rt, sock, input, most, &self.handle, None, || self.ended.borrow().clone()).await?;
        if client.is_resting() && input.filled().is_empty() {
            self.rest(input);
        } else {
            client.heard_of(self.rt.now());
        }
        Ok(())
    }

    /// Gives back what an idle connection does not need.
    fn rest(&self, input: &mut ReceiveBuffer) {
        input.rest();
        self.outbox.rest();
        let workers: u32 = self.jobs.iter().map(Jobs::rest).sum();
        self.handle.account.give(workers as usize * WORKER);
    }

    /// Takes units of work of this turn, or waits for one that has some left.
    pub(crate) async fn take_turn(&self, units: u32) {
        if !self.pace.try_take(&self.handle.paced, units) {
            self.pace.take(&self.handle.paced, units).await;
        }
    }

    /// Whether this session has to do things in small steps, since its client is a busy one beside a modest one.
    pub(crate) fn makes_small_steps(&self) -> bool {
        self.pace.is_crowded() && self.pace.is_busy(&self.handle.paced)
    }

    /// Takes room for a request, for the reader: the best share. If there is no memory for that, waits until there is, or
    /// until nothing else is under way and goes on with less; unless the session ends before.
    #[inline]
    pub(crate) async fn take_share(&self, shares: &Shares) -> Result<Share, EndReason> {
        if self.try_take_room(shares.best().room) {
            return Ok(shares.best());
        }
        // While it is we who do not read, the client is not late.
        self.handle.client.owes_nothing();
        let ended = || self.ended.borrow().clone().or_else(|| self.handle.stopped());
        self.wait_for_share(shares, || self.handle.window.get() == 0, ended).await
    }

    /// The same for bytes that are needed as they are.
    pub(crate) async fn take_room(&self, bytes: usize) -> Result<(), EndReason> {
        self.take_share(&Shares::one(bytes)).await.map(|_| ())
    }

    /// Takes room for the next part of what is under way, for a worker: the best share that is to be had. `None` if its
    /// reply is not wanted any more.
    pub(crate) async fn take_more_room(&self, shares: &Shares) -> Option<Share> {
        let closed = || self.outbox.is_closed().then_some(EndReason::Hangup);
        self.wait_for_share(shares, || true, closed).await.ok()
    }

    #[inline]
    fn try_take_room(&self, bytes: usize) -> bool {
        let takes = self.has_window(bytes) && self.handle.account.try_take(bytes);
        if takes {
            self.handle.window.set(self.handle.window.get() + bytes);
        }
        takes
    }

    /// A request larger than the window has room when it is alone.
    fn has_window(&self, bytes: usize) -> bool {
        let window = self.handle.window.get();
        window == 0 || window + bytes <= WINDOW
    }

    /// Waits for the best share, or for the least if less `may_do`. To have to wait for room in the window makes none smaller:
    /// that is the client's own doing.
    #[cold]
    async fn wait_for_share(
        &self,
        shares: &Shares,
        may_do: impl Fn() -> bool,
        ended: impl Fn() -> Option<EndReason>,
    ) -> Result<Share, EndReason> {
        let _waiting = Waiting::new(&self.waiting);
        loop {
            let mut wake = self.handle.wake.wait();
            if let Some(reason) = ended() {
                return Err(reason);
            }
            if !self.has_window(shares.best().room) {
                wake.await;
                continue;
            }
            let these = if may_do() { shares.as_slice() } else { &shares.as_slice()[..1] };
            if let Some(share) = these.iter().find(|share| self.try_take_room(share.room)) {
                return Ok(*share);
            }
            let wanted = these[these.len() - 1];
            let mut memory = pin!(self.handle.account.take(wanted.room));
            if let Either::First(()) = first_of(&mut memory, &mut wake).await {
                if self.has_window(wanted.room) {
                    self.handle.window.set(self.handle.window.get() + wanted.room);
                    return Ok(wanted);
                }
                // Another one of this session was faster.
                self.handle.account.give(wanted.room);
            }
        }
    }

    /// Waits until everything taken in is answered and sent, or the connection is broken, or `grace` is over.
    pub(crate) async fn drain(&self, grace: Nanos) {
        let mut deadline = self.rt.sleep(grace);
        let _waiting = Waiting::new(&self.waiting);
        while self.handle.window.get() > 0 && !self.outbox.is_closed() {
            let mut wake = self.handle.wake.wait();
            if let Either::Second(()) = first_of(&mut wake, &mut deadline).await {
                return;
            }
        }
    }

    #[inline]
    pub(crate) fn give_room(&self, bytes: usize) {
        self.handle.window.set(self.handle.window.get() - bytes);
        self.handle.account.give(bytes);
        if self.waiting.get() > 0 {
            self.handle.wake.notify();
        }
    }

    pub(crate) fn jobs(&self, lane: Lane) -> &Jobs {
        &self.jobs[lane as usize]
    }

    /// Sends nothing more, not even what is ready: part of a reply is missing.
    pub(crate) fn break_off(&self, reason: EndReason) {
        self.end(reason);
        self.outbox.close();
    }

    /// Makes the reader stop; the first reason counts.
    pub(crate) fn end(&self, reason: EndReason) {
        self.ended.borrow_mut().get_or_insert(reason);
        self.handle.wake.notify();
    }
}

/// Counts one more who waits, for as long as it is kept.
struct Waiting<'a>(&'a Cell<u32>);

impl<'a> Waiting<'a> {
    fn new(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
