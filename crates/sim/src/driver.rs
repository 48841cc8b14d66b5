//! One reactor's door to the world.

use cygnus_runtime::{Driver, Events, Halt, Message, Op, OpId};
use cygnus_types::{Nanos, ReactorId};

use crate::disk::DiskId;
use crate::world::{State, World};

/// The virtual-time [`Driver`] of one reactor. Parking moves the clock of the whole world, so where several reactors
/// live together their [`crate::Cluster`] does that instead.
pub struct SimDriver {
    world: World,
    port: usize,
    disks: Vec<DiskId>,
}

impl SimDriver {
    pub(crate) fn new(world: World, port: usize, disks: Vec<DiskId>) -> Self {
        Self { world, port, disks }
    }
}

impl Driver for SimDriver {
    fn now(&self) -> Nanos {
        self.world.now()
    }

    fn submit(&mut self, id: OpId, op: Op) {
        let mut state = self.world.0.borrow_mut();
        if !state.ports[self.port].alive {
            return;
        }
        match &op {
            Op::Read { dev, .. } | Op::Write { dev, .. } | Op::Flush { dev } | Op::Trim { dev, .. } => {
                let disk = self.disks[dev.0 as usize];
                state.submit_io(self.port, id, disk, op);
            }
            Op::Accept { .. } | Op::Recv { .. } | Op::Send { .. } | Op::Close { .. } => {
                state.submit_net(self.port, id, op);
            }
        }
    }

    fn post(&mut self, to: ReactorId, message: Message) {
        let mut state = self.world.0.borrow_mut();
        if state.ports[self.port].alive {
            state.post(self.port, to, message);
        }
    }

    fn park(&mut self, until: Option<Nanos>, events: &mut Events) -> Result<(), Halt> {
        let mut state = self.world.0.borrow_mut();
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

impl Drop for SimDriver {
    fn drop(&mut self) {
        let mut state = self.world.0.borrow_mut();
        if state.ports[self.port].alive {
            state.close_port(self.port);
        }
    }
}

impl State {
    /// Moves a port's events to a reactor.
    pub(crate) fn take_events(&mut self, port: usize, events: &mut Events) {
        let mine = &mut self.ports[port].events;
        events.done.append(&mut mine.done);
        events.messages.append(&mut mine.messages);
    }
}
