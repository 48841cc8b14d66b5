//! How long a run waits before it says that something never ends.

use std::task::Poll;

use cygnus_runtime::Halt;
use cygnus_sim::Cluster;
use cygnus_types::Nanos;

/// After so much virtual time a request that has no answer is lost. Generous: the slowest honest one takes some seconds,
/// those that a hung device is given among them.
pub(crate) const PATIENCE: Nanos = Nanos::secs(120);

/// Runs the cluster until `main` is done; `None` if that takes longer than anything may.
pub(crate) fn run_with_patience<T: 'static>(
    cluster: &Cluster,
    main: impl Future<Output = T> + 'static,
) -> Result<Option<T>, Halt> {
    let mut main = Box::pin(main);
    let mut limit = Box::pin(cluster.reactor(0).sleep(PATIENCE));
    cluster.run(std::future::poll_fn(move |cx| {
        if let Poll::Ready(value) = main.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        limit.as_mut().poll(cx).map(|()| None)
    }))
}
