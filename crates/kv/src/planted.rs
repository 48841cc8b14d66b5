//! Bugs that tests plant, to see that the tests would notice them. Outside of tests there are none.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The header names a half before the records in it are durable.
    NamedUnflushed,
    /// What an earlier time left behind the last record counts.
    LeftoversCount,
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
pub(crate) fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

#[cfg(test)]
pub(crate) fn is(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

#[cfg(not(test))]
pub(crate) const fn is(_: Bug) -> bool {
    false
}
