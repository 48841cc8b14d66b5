//! The queues between a session's reader and its workers, one for each [`Lane`], so that writes which wait for space hold up no
//! read, and a request that concerns gigabytes no other.
//!
//! Workers are tasks that live as long as the session and are started only when all others are busy, so a client of
//! depth 1 has one and nobody ever waits for a task to be made.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use cygnus_runtime::BufSlice;
use cygnus_volume::{Kind, Terms};

use crate::asked::Asked;
use crate::nbd::Fault;
use crate::reads::PIECE;

/// To trim or zero more bytes than this is long work.
const LONG: u32 = 1 << 20;

/// What is left to do for a request.
pub(crate) enum Work {
    /// All of it, as the command says.
    Whole,
    /// The write itself; the data was copied out of the receive buffer.
    Write(BufSlice),
    /// A piece of a write that is too long to be taken whole, to this offset; likewise copied.
    Piece(Rc<LongWrite>, u64, BufSlice),
    /// The effect is there, or there is none (FLUSH); all that was done before must become durable before the reply.
    Durable,
    /// The effect is there; these terms must be met before the reply.
    Answer(Terms),
}

/// Which queue a job goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Reads of one piece.
    Reads,
    /// Reads of several pieces. A few at a time keep the devices busy.
    LongReads,
    /// What is done step by step. One at a time, so that no client has more of it going on than another.
    Long,
    /// What waits for a flush. One flush does for all that have come before it begins.
    Durable,
    /// What waits for its terms. One wait does for all that have come before it begins; a few are under way, so that some
    /// requests are brought to the members while others are flushed there.
    Answers,
    Others,
}

impl Lane {
    /// In the order of their numbers.
    pub(crate) const ALL: [Lane; 6] =
        [Lane::Reads, Lane::LongReads, Lane::Long, Lane::Durable, Lane::Answers, Lane::Others];

    /// Most workers of its queue. What a client has in flight beyond that waits its turn.
    pub(crate) fn most_workers(self) -> u32 {
        match self {
            // The bits of the idle set.
            Lane::Reads | Lane::Others => u128::BITS,
            Lane::LongReads | Lane::Answers => 4,
            Lane::Long | Lane::Durable => 1,
        }
    }

    pub(crate) fn of(job: &Job) -> Lane {
        let request = &job.asked.request;
        match job.work {
            Work::Durable => return Lane::Durable,
            Work::Answer(_) => return Lane::Answers,
            Work::Whole | Work::Write(_) | Work::Piece(..) => {}
        }
        match request.kind() {
            Some(Kind::Read) if request.len() as usize > PIECE => Lane::LongReads,
            Some(Kind::Read) => Lane::Reads,
            Some(Kind::Extents) => Lane::Long,
            Some(Kind::Trim | Kind::WriteZeroes) if request.len() > LONG => Lane::Long,
            _ => Lane::Others,
        }
    }
}

const _: () = {
    let mut n = 0;
    while n < Lane::ALL.len() {
        assert!(Lane::ALL[n] as usize == n);
        n += 1;
    }
};

/// A write that is taken in pieces as they arrive, and answered once.
pub(crate) struct LongWrite {
    pub(crate) asked: Asked,
    /// Pieces that are not done, and one for the reader until it has seen the last.
    pub(crate) unfinished: Cell<u32>,
    pub(crate) trouble: Cell<Option<Fault>>,
    /// The connection has ended in the middle: no client waits for a reply.
    pub(crate) abandoned: Cell<bool>,
}

impl LongWrite {
    /// The first trouble is what the client is told.
    pub(crate) fn fail(&self, trouble: Fault) {
        self.trouble.set(self.trouble.get().or(Some(trouble)));
    }
}

pub(crate) struct Job {
    pub(crate) asked: Asked,
    pub(crate) work: Work,
}

pub(crate) struct Jobs {
    queue: RefCell<VecDeque<Job>>,
    /// Bit w: worker w waits, and its waker is in place.
    idle: Cell<u128>,
    wakers: RefCell<Vec<Waker>>,
    workers: Cell<u32>,
    /// Counts the times that all workers were sent home.
    shift: Cell<u32>,
    /// How many workers there may be.
    most: u32,
    closed: Cell<bool>,
}

impl Jobs {
    pub(crate) fn new(most: u32) -> Self {
        Self {
            queue: RefCell::default(),
            idle: Cell::new(0),
            wakers: RefCell::default(),
            workers: Cell::new(0),
            shift: Cell::new(0),
            most,
            closed: Cell::new(false),
        }
    }

    /// Queues a job. If a worker should be started for it, returns the new worker's number. The first one always is, others
    /// if there may be more.
    pub(crate) fn push(&self, job: Job, may_be_more: impl FnOnce() -> bool) -> Option<u32> {
        self.queue.borrow_mut().push_back(job);
        let idle = self.idle.get();
        if idle != 0 {
            let worker = idle.trailing_zeros();
            self.idle.set(idle & (idle - 1));
            self.wakers.borrow()[worker as usize].wake_by_ref();
            return None;
        }
        let workers = self.workers.get();
        (workers == 0 || workers < self.most && may_be_more()).then(|| {
            self.workers.set(workers + 1);
            self.wakers.borrow_mut().push(Waker::noop().clone());
            workers
        })
    }

    /// All jobs that have not begun.
    pub(crate) fn take_all(&self) -> VecDeque<Job> {
        self.queue.take()
    }

    /// Sends all workers home if none of them has anything to do; tells how many of them had been started where more than the
    /// first was allowed.
    pub(crate) fn rest(&self) -> u32 {
        let workers = self.workers.get();
        if workers == 0 || self.idle.get().count_ones() != workers || !self.queue.borrow().is_empty() {
            return 0;
        }
        self.shift.set(self.shift.get().wrapping_add(1));
        self.workers.set(0);
        self.idle.set(0);
        // Empty, and its memory goes too.
        *self.queue.borrow_mut() = VecDeque::new();
        self.wakers.take().iter().for_each(Waker::wake_by_ref);
        workers - 1
    }

    /// Which workers are at work now.
    pub(crate) fn shift(&self) -> u32 {
        self.shift.get()
    }

    /// The next job for a worker of this shift; None once that is over.
    pub(crate) async fn next(&self, shift: u32, worker: u32) -> Option<Job> {
        poll_fn(|cx| {
            if shift != self.shift.get() {
                return Poll::Ready(None);
            }
            if let Some(job) = self.queue.borrow_mut().pop_front() {
                // It may have found the job without having been woken for it.
                self.idle.set(self.idle.get() & !(1 << worker));
                return Poll::Ready(Some(job));
            }
            if self.closed.get() {
                return Poll::Ready(None);
            }
            self.wakers.borrow_mut()[worker as usize].clone_from(cx.waker());
            self.idle.set(self.idle.get() | 1 << worker);
            Poll::Pending
        })
        .await
    }

    /// Lets the workers end with what they are doing. No client waits for the answers to what has not begun: to do all that
    /// would take time, and its memory, long after the client has gone.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.queue.take();
        self.idle.set(0);
        self.wakers.borrow().iter().for_each(Waker::wake_by_ref);
    }
}
