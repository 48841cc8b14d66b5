//! Several reactors on one thread, interleaved by the world's clock.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use cygnus_runtime::{Events, Halt, Runtime};
use cygnus_types::{Nanos, ReactorId};

use crate::disk::DiskId;
use crate::world::World;

/// Reactors 0, 1, .. of one world. Each turn polls what is ready on each of them, starting from a seeded one; a message
/// takes time, so no reactor sees another's present.
pub struct Cluster {
    world: World,
    reactors: Vec<(usize, Runtime)>,
}

impl Cluster {
    /// `count` reactors that all see the same devices.
    pub fn new(world: &World, count: u16, disks: &[DiskId]) -> Self {
        let start = |n| {
            let rt = world.reactor(ReactorId(n), disks);
            (world.0.borrow().ports.len() - 1, rt)
        };
        Self { world: world.clone(), reactors: (0..count).map(start).collect() }
    }

    /// The reactor of that number.
    pub fn reactor(&self, n: usize) -> &Runtime {
        &self.reactors[n].1
    }

    /// Runs all reactors until `main`, a task of reactor 0, has ended.
    pub fn run<T: 'static>(&self, main: impl Future<Output = T> + 'static) -> Result<T, Halt> {
        let result = Rc::new(Cell::new(None));
        let slot = result.clone();
        self.reactor(0).spawn(async move { slot.set(Some(main.await)) });
        loop {
            let busy = self.turn();
            if let Some(value) = result.take() {
                return Ok(value);
            }
            if !self.world.is_powered() {
                return Err(Halt::PowerCut);
            }
            self.advance(busy)?;
        }
    }

    fn turn(&self) -> bool {
        let count = self.reactors.len();
        let first = self.world.0.borrow_mut().rng.below(count as u64) as usize;
        let mut busy = false;
        for n in 0..count {
            busy |= self.reactors[(first + n) % count].1.run_ready();
        }
        busy
    }

    fn advance(&self, busy: bool) -> Result<(), Halt> {
        let mut state = self.world.0.borrow_mut();
        if busy {
            state.turn()?;
        } else {
            state.jump(self.reactors.iter().filter_map(|(_, rt)| rt.next_timer()).min())?;
        }
        let deliveries: Vec<Events> = self
            .reactors
            .iter()
            .map(|(port, _)| {
                let mut events = Events::default();
                state.take_events(*port, &mut events);
                events
            })
            .collect();
        // Delivering reads the clock through the reactor's driver.
        drop(state);
        for ((_, rt), mut events) in self.reactors.iter().zip(deliveries) {
            rt.deliver(&mut events);
        }
        Ok(())
    }

    /// The time now.
    pub fn now(&self) -> Nanos {
        self.world.now()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (_, rt) in &self.reactors {
            rt.drop_tasks();
        }
    }
}
