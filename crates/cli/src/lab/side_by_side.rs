//! Work on several threads.

use crate::failure::Failure;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// Does the work of each item on several threads (`jobs`; one for each core if nobody says), in order as far as that goes,
/// while `take` receives what comes out. Once it returns, nothing new is begun.
pub(super) fn side_by_side<I: Sync, O: Send>(
    items: &[I],
    jobs: Option<NonZeroUsize>,
    work: impl Fn(&I) -> O + Sync,
    take: impl FnOnce(Receiver<O>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let jobs = jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let (sender, outcomes) = channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            let (next, work, sender) = (&next, &work, sender.clone());
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send(work(item)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        take(outcomes)
    })
}
