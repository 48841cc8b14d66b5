//! What happened in the run of this thread so far, told when it ends badly.

use std::cell::RefCell;

/// Only the last lines matter; a run can have thousands.
const KEPT: usize = 400;

thread_local! {
    static STORY: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Forgets everything.
pub(crate) fn begin() {
    STORY.with_borrow_mut(Vec::clear);
}

/// Adds a line.
pub(crate) fn tell(line: impl Into<String>) {
    STORY.with_borrow_mut(|story| {
        if story.len() >= 2 * KEPT {
            // The first line says what was set up.
            story.drain(1..KEPT);
        }
        story.push(line.into());
    });
}

/// All of it.
pub(crate) fn so_far() -> String {
    STORY.with_borrow(|story| story.join("\n"))
}
