//! Long work and how far it has come: rebuild, scrub, drain and the like.
//!
//! Whoever works holds a [`Job`] and reports to it; whoever asks gets a [`JobStatus`]. The registry lives on the home
//! reactor and remembers the last few jobs that have ended, so that one who polls learns how. Dropping a job that was
//! not ended counts as failed: no path of the work can leave it running for ever.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use cygnus_runtime::Runtime;
use cygnus_types::Nanos;

/// Jobs remembered after their end.
const REMEMBERED: usize = 16;

/// The present rate is taken over at least this long, and at most twice as long.
const RATE_WINDOW: Nanos = Nanos::secs(4);

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Restores all that a member should hold.
    Rebuild,
    /// Restores what was written while a member was away.
    CatchUp,
    /// Verifies live data and mends what is wrong.
    Scrub,
    /// Makes copies and parity fit the data again after a crash.
    Resync,
    /// Moves data off a member that still works.
    Drain,
    /// Moves data off a member or group that is to leave the array.
    Retire,
}

impl JobKind {
    /// In a word, the same as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rebuild => "rebuild",
            Self::CatchUp => "catch-up",
            Self::Scrub => "scrub",
            Self::Resync => "resync",
            Self::Drain => "drain",
            Self::Retire => "retire",
        }
    }
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// At work.
    Running,
    /// Ended with everything done.
    Done,
    /// Ended early, and why.
    Failed(String),
    /// Ended because somebody asked for it.
    Cancelled,
}

/// A job at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStatus {
    /// Which; never used again while the array is open.
    pub id: u64,
    /// What it does.
    pub kind: JobKind,
    /// To what: a device, a group, the array.
    pub subject: String,
    /// How it stands.
    pub state: JobState,
    /// Bytes of live data dealt with.
    pub done: u64,
    /// Bytes of live data in all, as far as known now; it may change, since writing goes on.
    pub total: u64,
    /// When it began, on the runtime's clock.
    pub started: Nanos,
    /// How long it has been running, or ran.
    pub elapsed: Nanos,
    /// Bytes per second lately; once it has ended, on average.
    pub rate: f64,
    /// Time left at this rate; `None` when it has ended or nothing is known yet.
    pub eta: Option<Nanos>,
}

struct Entry {
    id: u64,
    kind: JobKind,
    subject: String,
    state: RefCell<JobState>,
    done: Cell<u64>,
    total: Cell<u64>,
    started: Nanos,
    ended: Cell<Option<Nanos>>,
    /// Two points of the past, (time, bytes done): the rate counts from the older one.
    marks: Cell<[(Nanos, u64); 2]>,
    cancelled: Cell<bool>,
}

impl Entry {
    fn is_running(&self) -> bool {
        self.ended.get().is_none()
    }

    fn status(&self, now: Nanos) -> JobStatus {
        let now = self.ended.get().unwrap_or(now);
        let (done, total) = (self.done.get(), self.total.get());
        let from = if self.is_running() { self.marks.get()[0] } else { (self.started, 0) };
        let span = now.since(from.0).as_secs_f64();
        let rate = if span > 0.0 { (done - from.1) as f64 / span } else { 0.0 };
        let left = total.saturating_sub(done) as f64;
        let eta = (self.is_running() && rate > 0.0).then(|| Nanos((left / rate * 1e9) as u64));
        JobStatus {
            id: self.id,
            kind: self.kind,
            subject: self.subject.clone(),
            state: self.state.borrow().clone(),
            done,
            total,
            started: self.started,
            elapsed: now.since(self.started),
            rate,
            eta,
        }
    }
}

/// The jobs of an array.
#[derive(Default)]
pub struct Jobs {
    next_id: Cell<u64>,
    entries: RefCell<VecDeque<Rc<Entry>>>,
}

impl Jobs {
    /// Registers a job that begins now with `total` bytes to deal with.
    pub fn begin(&self, rt: &Runtime, kind: JobKind, subject: impl Into<String>, total: u64) -> Job {
        let id = self.next_id.get() + 1;
        self.next_id.set(id);
        let now = rt.now();
        let entry = Rc::new(Entry {
            id,
            kind,
            subject: subject.into(),
            state: RefCell::new(JobState::Running),
            done: Cell::new(0),
            total: Cell::new(total),
            started: now,
            ended: Cell::new(None),
            marks: Cell::new([(now, 0); 2]),
            cancelled: Cell::new(false),
        });
        let mut entries = self.entries.borrow_mut();
        entries.push_back(entry.clone());
        while entries.iter().filter(|e| !e.is_running()).count() > REMEMBERED {
            let oldest = entries.iter().position(|e| !e.is_running()).expect("just counted");
            entries.remove(oldest);
        }
        Job { rt: rt.clone(), entry }
    }

    /// All jobs that run, and the last ones that have ended, oldest first.
    pub fn statuses(&self, now: Nanos) -> Vec<JobStatus> {
        self.entries.borrow().iter().map(|e| e.status(now)).collect()
    }

    /// Asks a job to end early; `false` if there is none of this number at work.
    pub fn cancel(&self, id: u64) -> bool {
        let entries = self.entries.borrow();
        let found = entries.iter().find(|e| e.id == id && e.is_running());
        found.inspect(|e| e.cancelled.set(true)).is_some()
    }
}

/// A job as the one who works sees it.
pub struct Job {
    rt: Runtime,
    entry: Rc<Entry>,
}

impl Job {
    /// Its number.
    pub fn id(&self) -> u64 {
        self.entry.id
    }

    /// So many more bytes are dealt with.
    pub fn advance(&self, bytes: u64) {
        let entry = &self.entry;
        entry.done.set(entry.done.get() + bytes);
        let now = self.rt.now();
        let [_, newer] = entry.marks.get();
        if now.since(newer.0) >= RATE_WINDOW {
            entry.marks.set([newer, (now, entry.done.get())]);
        }
    }

    /// So many bytes are left: writing goes on, and what is there to be dealt with changes.
    pub fn set_left(&self, bytes: u64) {
        self.entry.total.set(self.entry.done.get() + bytes);
    }

    /// Whether somebody asked for an early end. To be looked at between two pieces of work.
    pub fn is_cancelled(&self) -> bool {
        self.entry.cancelled.get()
    }

    /// Ends the job.
    pub fn end(&self, state: JobState) {
        debug_assert_ne!(state, JobState::Running);
        self.entry.state.replace(state);
        self.entry.ended.set(Some(self.rt.now()));
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.entry.is_running() {
            self.end(JobState::Failed("the array was closed".into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(marks: [(Nanos, u64); 2]) -> Entry {
        Entry {
            id: 1,
            kind: JobKind::Rebuild,
            subject: "d4".into(),
            state: RefCell::new(JobState::Running),
            done: Cell::new(0),
            total: Cell::new(1000),
            started: Nanos::ZERO,
            ended: Cell::new(None),
            marks: Cell::new(marks),
            cancelled: Cell::new(false),
        }
    }

    #[test]
    fn rate_and_eta_are_those_of_the_last_seconds() {
        let entry = entry([(Nanos::secs(10), 100), (Nanos::secs(14), 300)]);
        entry.done.set(500);
        let status = entry.status(Nanos::secs(18));
        assert_eq!((status.rate, status.eta), (50.0, Some(Nanos::secs(10))));
        entry.ended.set(Some(Nanos::secs(20)));
        let status = entry.status(Nanos::secs(99));
        assert_eq!((status.rate, status.eta, status.elapsed), (25.0, None, Nanos::secs(20)));
    }

    #[test]
    fn nothing_is_known_at_the_start() {
        let status = entry([(Nanos::ZERO, 0); 2]).status(Nanos::ZERO);
        assert_eq!((status.rate, status.eta), (0.0, None));
    }
}
