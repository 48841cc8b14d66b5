//! Several reactors on one thread, interleaved by the world's clock.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use cygnus_runtime::{Events, Halt, Runtime};
use cygnus_types::{Nanos, ReactorId};

use crate::cpu::CpuModel;
use crate::disk::DiskId;
use crate::state::State;
use crate::world::World;

/// Reactors 0, 1, .. of one world. Each turn polls what is ready on each of them, starting from a seeded one; a message
/// takes time, so no reactor sees another's present.
///
/// On modelled cores ([`Cluster::on_cores`]) a turn takes as long as the work in it, and the reactors work side by side:
/// each begins its next turn when its own core is free.
pub struct Cluster {
    world: World,
    reactors: Vec<(usize, Runtime)>,
    modelled: bool,
}

impl Cluster {
    /// `count` reactors that all see the same devices.
    pub fn new(world: &World, count: u16, disks: &[DiskId]) -> Self {
        let start = |n| {
            let rt = world.reactor(ReactorId(n), disks);
            (world.0.borrow().ports.len() - 1, rt)
        };
        Self { world: world.clone(), reactors: (0..count).map(start).collect(), modelled: false }
    }

    /// `count` reactors as by [`World::blank_reactor`], each on a core of its own.
    pub fn on_cores(world: &World, count: u16, disks: &[DiskId], cpu: Option<CpuModel>) -> Self {
        let start = |n| {
            let rt = world.blank_reactor(ReactorId(n), disks, cpu);
            (world.0.borrow().ports.len() - 1, rt)
        };
        Self { world: world.clone(), reactors: (0..count).map(start).collect(), modelled: cpu.is_some() }
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.reactors.len()
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
            let busy = if self.modelled { self.turn_of_free_cores() } else { self.turn() };
            if let Some(value) = result.take() {
                return Ok(value);
            }
            if !self.world.is_powered() {
                return Err(Halt::PowerCut);
            }
            match self.modelled {
                // Those that had a turn are busy now, but may have woken others.
                true if busy => {}
                true => self.jump_to_next_turn()?,
                false => self.advance(busy)?,
            }
        }
    }

    /// A turn of each reactor whose core is free and that has something to do; whether there was one.
    fn turn_of_free_cores(&self) -> bool {
        let mut any = false;
        let mut events = Events::default();
        for (port, rt) in &self.reactors {
            {
                let mut state = self.world.0.borrow_mut();
                if state.away_until(*port).is_some() {
                    continue;
                }
                state.take_events(*port, &mut events);
            }
            // Delivering reads the clock through the reactor's driver.
            rt.deliver(&mut events);
            if rt.run_ready() {
                let mut state = self.world.0.borrow_mut();
                let now = state.now;
                let core = &mut state.ports[*port].core;
                core.busy_until = now + core.end_turn();
                any = true;
            }
        }
        any
    }

    /// Time jumps to where a core becomes free, a timer fires on a free one, or something reaches a reactor.
    fn jump_to_next_turn(&self) -> Result<(), Halt> {
        let mut state = self.world.0.borrow_mut();
        let next = self.next_turn(&state);
        state.jump(next)
    }

    /// When a reactor can do something by itself: one that is away comes back, or a timer fires on another.
    fn next_turn(&self, state: &State) -> Option<Nanos> {
        let next = |(port, rt): &(usize, Runtime)| state.away_until(*port).or_else(|| rt.next_timer());
        self.reactors.iter().filter_map(next).min()
    }

    fn turn(&self) -> bool {
        let count = self.reactors.len();
        let first = self.world.0.borrow_mut().rng.below(count as u64) as usize;
        let mut busy = false;
        for n in 0..count {
            let (port, rt) = &self.reactors[(first + n) % count];
            let away = self.world.0.borrow().away_until(*port).is_some();
            busy |= !away && rt.run_ready();
        }
        busy
    }

    fn advance(&self, busy: bool) -> Result<(), Halt> {
        let mut state = self.world.0.borrow_mut();
        if busy {
            state.turn()?;
        } else {
            let next = self.next_turn(&state);
            state.jump(next)?;
        }
        let mut deliveries: Vec<(&Runtime, Events)> = Vec::new();
        for (port, rt) in &self.reactors {
            if state.away_until(*port).is_none() {
                let mut events = Events::default();
                state.take_events(*port, &mut events);
                deliveries.push((rt, events));
            }
        }
        // Delivering reads the clock through the reactor's driver.
        drop(state);
        for (rt, mut events) in deliveries {
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
