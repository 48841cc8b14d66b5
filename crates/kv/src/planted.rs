//! Bugs that tests plant, to see that the tests would notice them.

use std::cell::Cell;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The header names a half before the records in it are durable.
    NamedUnflushed,
    /// What an earlier time left behind the last record counts.
    LeftoversCount,
}

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

pub(crate) fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

pub(crate) fn is(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}
