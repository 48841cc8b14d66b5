//! One reactor's door to the world.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_runtime::{Capabilities, DeviceIx, Driver, Events, Halt, Message, Op, OpId};
use cygnus_types::{Nanos, ReactorId};

use crate::state::{State, What};

/// The virtual-time [`Driver`] of one reactor. Parking moves the clock of the whole world, so where several reactors
/// live together their [`crate::Cluster`] does that instead.
pub struct SimDriver {
    state: Rc<RefCell<State>>,
    port: usize,
}

impl SimDriver {
    pub(crate) fn new(state: Rc<RefCell<State>>, port: usize) -> Self {
        Self { state, port }
    }
}

impl Driver for SimDriver {
    fn now(&self) -> Nanos {
        let state = self.state.borrow();
        state.now + state.ports[self.port].core.spent()
    }

    fn submit(&mut self, id: OpId, op: Op) {
        let mut state = self.state.borrow_mut();
        let port = self.port;
        if !state.ports[port].alive {
            return;
        }
        let paused_until = state.paused_until(port);
        if state.ports[port].core.is_modelled() || paused_until.is_some() {
            state.ports[port].core.submit(id, op);
            let at = (state.now + state.ports[port].core.spent()).max(paused_until.unwrap_or_default());
            state.schedule(at, What::Leave { port });
        } else {
            state.submit(port, id, op);
        }
    }

    fn capabilities(&self, dev: DeviceIx) -> Capabilities {
        let state = self.state.borrow();
        let disk = state.ports[self.port].disks.get(usize::from(dev.0));
        disk.map_or(Capabilities::default(), |disk| state.disks[disk.0 as usize].capabilities)
    }

    fn guard_length(&mut self, dev: DeviceIx) {
        let mut state = self.state.borrow_mut();
        if let Some(disk) = state.ports[self.port].disks.get(usize::from(dev.0)).copied() {
            state.disks[disk.0 as usize].length.is_guarded = true;
        }
    }

    fn end_receive(&mut self, id: OpId) {
        self.state.borrow_mut().end_receive(self.port, id);
    }

    fn post(&mut self, to: ReactorId, message: Message) {
        let mut state = self.state.borrow_mut();
        if state.ports[self.port].alive {
            state.post(self.port, to, message);
        }
    }

    fn park(&mut self, until: Option<Nanos>, events: &mut Events) -> Result<(), Halt> {
        let mut state = self.state.borrow_mut();
        if state.ports[self.port].core.is_modelled() {
            return self.park_modelled(&mut state, until, events);
        }
        state.sit_out_pause(self.port);
        loop {
            let only_look = until.is_some_and(|until| until <= state.now);
            if only_look {
                state.turn()?;
            }
            if !state.ports[self.port].alive {
                return Err(Halt::PowerCut);
            }
            state.take_events(self.port, events);
            if only_look || !events.is_empty() {
                return Ok(());
            }
            state.jump(until)?;
        }
    }
}

impl SimDriver {
    /// The turn took its time; then, unless something came meanwhile, the core idles.
    fn park_modelled(&self, state: &mut State, until: Option<Nanos>, events: &mut Events) -> Result<(), Halt> {
        state.end_turn(self.port);
        state.sit_out_pause(self.port);
        loop {
            if !state.ports[self.port].alive {
                return Err(Halt::PowerCut);
            }
            state.take_events(self.port, events);
            if !events.is_empty() || until.is_some_and(|until| until <= state.now) {
                return Ok(());
            }
            state.jump(until)?;
        }
    }
}

impl Drop for SimDriver {
    fn drop(&mut self) {
        let mut state = self.state.borrow_mut();
        if state.ports[self.port].alive {
            state.close_port(self.port);
        }
    }
}
