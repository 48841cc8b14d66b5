//! What happened in the run of this thread so far, told when it ends badly.

use std::cell::RefCell;

/// Only the last lines matter; a run can have thousands.
const KEPT: usize = 400;

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Forgets everything.
pub(crate) fn begin() {
    LINES.with_borrow_mut(Vec::clear);
}

/// Adds a line.
pub(crate) fn tell(line: impl Into<String>) {
    LINES.with_borrow_mut(|lines| {
        if lines.len() >= 2 * KEPT {
            lines.drain(..KEPT);
        }
        lines.push(line.into());
    });
}

/// All of it.
pub(crate) fn so_far() -> String {
    LINES.with_borrow(|lines| lines.join("\n"))
}
