//! How long a run waits before it says that something never ends.

use std::task::Poll;

use cygnus_sim::Cluster;
use cygnus_types::Nanos;

use crate::failure::{RunFailure, Trouble};
use crate::{coverage, journal};

/// After so much virtual time in which nothing was answered a request is lost. Generous: the slowest honest one takes some
/// seconds, those that a hung device is given among them.
pub(crate) const PATIENCE: Nanos = Nanos::secs(120);

/// Runs the cluster until `main` is done. That may not take longer than anything may, counted from the last time that the number
/// `answered` has changed.
pub(crate) fn run_with_patience<T: 'static>(
    cluster: &Cluster,
    answered: impl Fn() -> u64 + 'static,
    main: impl Future<Output = T> + 'static,
) -> Result<T, Trouble> {
    let rt = cluster.reactor(0).clone();
    let mut main = Box::pin(main);
    let (mut before, mut limit) = (answered(), Box::pin(rt.sleep(PATIENCE)));
    let done = cluster.run(std::future::poll_fn(move |cx| {
        if let Poll::Ready(value) = main.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        while limit.as_mut().poll(cx).is_ready() {
            if std::mem::replace(&mut before, answered()) == answered() {
                journal::tell(format!("{} nothing comes of: {}", rt.now(), coverage::going_on()));
                return Poll::Ready(None);
            }
            limit = Box::pin(rt.sleep(PATIENCE));
        }
        Poll::Pending
    }))?;
    done.ok_or(Trouble::Failure(RunFailure::NoEnd { patience: PATIENCE }))
}
