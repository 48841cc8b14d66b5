//! What is planted in a model, so that it must fail.

use std::cell::Cell;

/// Something wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Nothing.
    Nothing,
    /// Every atomic operation of the shared code is relaxed, and fences do nothing.
    Relaxed,
    /// Two steps of the model are the wrong way round; each model says which.
    Swapped,
}

thread_local! {
    // Loom's threads are all on the thread that runs the model.
    static RELAXED: Cell<bool> = const { Cell::new(false) };
}

/// Whether orderings are to be ignored.
pub(crate) fn is_relaxed() -> bool {
    RELAXED.get()
}

/// Tries all orders of events in `model`, with something planted.
pub(crate) fn try_all(plant: Plant, model: impl Fn() + Sync + Send + 'static) {
    RELAXED.set(plant == Plant::Relaxed);
    let mut loom = loom::model::Builder::new();
    // All orders in which threads take turns unasked at most so often: what goes wrong does so with few of them.
    loom.preemption_bound = Some(2);
    // Whoever waits for its turn looks again and again.
    loom.max_branches = 20_000;
    loom.check(model);
}
