//! Where what a killed process had in memory outlasts it: in one of two directories. Two openings keep it in the one and two in the other,
//! so some have it where the process before had it, and some elsewhere.

use std::cell::Cell;
use std::sync::Arc;

use cygnus_runtime::Keeper;
use cygnus_sim::Machine;

/// What an opening is told.
#[derive(Default)]
pub(crate) struct Kept {
    /// Who may have what the process before left.
    pub left_with: Vec<Arc<dyn Keeper>>,
    /// Who keeps what this one will leave.
    pub keeper: Option<Arc<dyn Keeper>>,
}

/// The directories.
pub(crate) struct Places {
    both: [Arc<Machine>; 2],
    openings: Cell<usize>,
}

impl Default for Places {
    fn default() -> Self {
        Self { both: ["a", "b"].map(|place| Arc::new(Machine::at(place))), openings: Cell::new(0) }
    }
}

impl Places {
    /// What the next opening is told.
    pub(crate) fn of_next(&self) -> Kept {
        let opening = self.openings.replace(self.openings.get() + 1);
        let all = self.both.clone().map(|place| place as Arc<dyn Keeper>);
        Kept { keeper: Some(all[opening / 2 % 2].clone()), left_with: all.into() }
    }

    /// The machine was without power.
    pub(crate) fn go_down(&self) {
        self.both.iter().for_each(|place| place.goes_down());
    }
}
