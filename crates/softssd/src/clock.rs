//! The modelled drive that goes along: each command is put to it, and it tells what flash would have gone through and, if
//! answers are to take as long as that drive would take, when each is due.
//!
//! Without that, the model's time is real time, or ahead of it: where commands come faster than the modelled drive ends them,
//! it gets the time that it needs at once, so that no more are under way in it than its queue holds.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cygnus_ssd::{Command, Counters, Device, Done, Model, SsdConfig};
use cygnus_types::Nanos;

use crate::error::DriveError;

/// Commands under way in a model that nobody waits for.
const DEPTH: u32 = 64;

/// Sends an answer.
type Release = Box<dyn FnOnce() + Send>;

/// A command that the model was given.
#[derive(Clone, Copy, Debug)]
pub struct Ticket(Option<u64>);

struct State {
    model: Model,
    next: u64,
    /// Commands that the modelled drive has not ended, with their answers where they are ready.
    waiting: BTreeMap<u64, Option<Release>>,
    done: Vec<Done>,
    stopped: bool,
}

impl State {
    /// Lets the model's time come up to this. Answers that are due by then.
    fn advance(&mut self, now: Nanos) -> Vec<Release> {
        self.model.advance(now, &mut self.done);
        self.done.drain(..).filter_map(|done| self.waiting.remove(&done.id).flatten()).collect()
    }
}

struct Inner {
    state: Mutex<State>,
    changed: Condvar,
    epoch: Instant,
    timed: bool,
}

/// What a model has counted so far.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Its counters.
    pub counters: Counters,
    /// Smallest and greatest erase count.
    pub wear: (u32, u32),
    /// Its time.
    pub now: Nanos,
}

/// See the module's text. Clones are handles to the same.
#[derive(Clone)]
pub struct Clock(Arc<Inner>);

impl Clock {
    /// A new modelled drive of this construction. If `timed`, answers wait for it.
    ///
    /// # Errors
    /// If the construction makes no drive, or there is no thread to be had.
    pub fn new(config: SsdConfig, timed: bool) -> Result<Self, DriveError> {
        let (model, bytes) = (config.name.clone(), config.capacity);
        let refused = |why: String| DriveError::Model { model, bytes, why };
        let drive = match Model::new(config.into()) {
            Ok(drive) => drive,
            Err(error) => return Err(refused(error.to_string())),
        };
        let state = State { model: drive, next: 0, waiting: BTreeMap::new(), done: Vec::new(), stopped: false };
        let inner = Inner { state: Mutex::new(state), changed: Condvar::new(), epoch: Instant::now(), timed };
        let clock = Self(Arc::new(inner));
        if timed {
            let inner = clock.0.clone();
            let spawned = thread::Builder::new().name("clock".into()).spawn(move || inner.run());
            spawned.map_err(|error| refused(format!("there is no thread for it: {error}")))?;
        }
        Ok(clock)
    }

    /// Puts a command to the model.
    pub fn arrived(&self, command: Command) -> Ticket {
        let mut state = self.0.state.lock().expect("no holder panics");
        let (id, now) = (state.next, self.0.now().max(state.model.now()));
        state.next += 1;
        state.model.submit(now, id, command);
        if state.stopped {
            return Ticket(None);
        }
        if self.0.timed {
            state.waiting.insert(id, None);
            self.0.changed.notify_one();
            return Ticket(Some(id));
        }
        while state.model.outstanding() > DEPTH
            && let Some(next) = state.model.next_event()
        {
            state.advance(next);
        }
        Ticket(None)
    }

    /// The command was carried out: its answer goes when the model has ended it too.
    pub fn answered(&self, ticket: Ticket, release: impl FnOnce() + Send + 'static) {
        if let Ticket(Some(id)) = ticket {
            let mut state = self.0.state.lock().expect("no holder panics");
            if let Some(waiting) = state.waiting.get_mut(&id) {
                *waiting = Some(Box::new(release));
                return;
            }
        }
        release();
    }

    /// What the model has counted.
    pub fn counted(&self) -> Counted {
        let mut state = self.0.state.lock().expect("no holder panics");
        if !self.0.timed {
            let now = self.0.now().max(state.model.now());
            state.advance(now);
        }
        Counted { counters: *state.model.counters(), wear: state.model.wear(), now: state.model.now() }
    }

    /// Whether answers wait.
    pub fn is_timed(&self) -> bool {
        self.0.timed
    }

    /// Sends what waits, and nothing waits any more.
    pub fn stop(&self) {
        let mut state = self.0.state.lock().expect("no holder panics");
        state.stopped = true;
        let waiting = std::mem::take(&mut state.waiting);
        self.0.changed.notify_one();
        drop(state);
        waiting.into_values().flatten().for_each(|release| release());
    }
}

impl Inner {
    fn now(&self) -> Nanos {
        Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    /// Sends answers as they become due.
    fn run(&self) {
        let mut state = self.state.lock().expect("no holder panics");
        while !state.stopped {
            let now = self.now().max(state.model.now());
            let due = state.advance(now);
            if !due.is_empty() {
                drop(state);
                due.into_iter().for_each(|release| release());
                state = self.state.lock().expect("no holder panics");
                continue;
            }
            state = match state.model.next_event() {
                None => self.changed.wait(state).expect("no holder panics"),
                Some(at) => {
                    let nap = Duration::from(at.since(self.now())).max(Duration::from_micros(1));
                    self.changed.wait_timeout(state, nap).expect("no holder panics").0
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::construction::construction;
    use std::sync::mpsc::channel;

    #[test]
    fn a_model_that_nobody_waits_for_keeps_up() {
        let clock = Clock::new(construction("sata", 64 << 20).unwrap(), false).unwrap();
        for n in 0..4_000 {
            clock.arrived(Command::write(n % 1000 * 16, 16));
        }
        let counted = clock.counted();
        assert!(counted.counters.host_writes >= (4_000 - u64::from(DEPTH)) * 16, "{counted:?}");
        assert!(counted.counters.write_amplification() > 0.5);
    }

    #[test]
    fn timed_answers_come_when_the_model_says() {
        let clock = Clock::new(construction("sata", 64 << 20).unwrap(), true).unwrap();
        let (sender, receiver) = channel();
        let begun = Instant::now();
        let ticket = clock.arrived(Command::write(0, 1024));
        clock.answered(ticket, move || sender.send(begun.elapsed()).unwrap());
        // 4 MiB at 530 MB/s.
        let took = receiver.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(took >= Duration::from_millis(7), "{took:?}");
        // Nobody waits for a clock that has stopped, whatever comes yet.
        let (sender, receiver) = channel();
        let early = clock.arrived(Command::write(0, 1024));
        clock.stop();
        let late = clock.arrived(Command::write(0, 1024));
        for (n, ticket) in [early, late].into_iter().enumerate() {
            let sender = sender.clone();
            clock.answered(ticket, move || sender.send(n).unwrap());
        }
        assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(0), Ok(1)));
    }
}
