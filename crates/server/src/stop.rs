//! Signals that ask for a stop. They are heard while the array is being opened too, which may take long and is not broken off:
//! whoever sent one is told so at once.

use crate::event::ServerEvent;
use crate::plan::Plan;
use cygnus_runtime::{Event, Runtime};
use cygnus_uring::Signals;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Whether a signal has asked for a stop.
pub struct StopAsked {
    is_open: Cell<bool>,
    is_asked: Cell<bool>,
    changed: Event,
}

impl StopAsked {
    /// Listens from now on.
    pub fn listen(rt: &Runtime, signals: Signals, plan: &Arc<Plan>) -> Rc<Self> {
        let asked = Rc::new(Self { is_open: Cell::new(false), is_asked: Cell::new(false), changed: Event::new() });
        rt.spawn(hear(asked.clone(), rt.clone(), signals, plan.clone()));
        asked
    }

    /// The array is open: from now on a stop begins when it is asked for.
    pub fn note_open(&self) {
        self.is_open.set(true);
    }

    /// Whether it has been asked for.
    pub fn is_asked(&self) -> bool {
        self.is_asked.get()
    }

    /// Waits until it is asked for.
    pub async fn wait(&self) {
        loop {
            let changed = self.changed.wait();
            if self.is_asked() {
                return;
            }
            changed.await;
        }
    }
}

async fn hear(asked: Rc<StopAsked>, rt: Runtime, signals: Signals, plan: Arc<Plan>) {
    // An error means that the reactor is being taken down, which is a stop too.
    if let Ok(signal) = signals.next(&rt).await {
        let signal = signal.name();
        plan.log.tell(&match asked.is_open.get() {
            true => ServerEvent::Signal(signal),
            false => ServerEvent::SignalTooEarly { signal, array: &plan.name },
        });
    }
    asked.is_asked.set(true);
    asked.changed.notify();
}
