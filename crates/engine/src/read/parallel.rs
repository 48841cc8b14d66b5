//! Many independent pieces of I/O-bound work at once, a bounded number of them at a time.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use cygnus_runtime::{Event, Runtime};

/// Pieces of work under way at once: enough to keep every device's queue filled.
const WORKERS: usize = 32;

/// Runs `work` on every item and returns the results in the items' order.
pub(crate) async fn for_each<T, R, F>(rt: &Runtime, items: Vec<T>, work: impl Fn(T) -> F + 'static) -> Vec<R>
where
    T: 'static,
    R: 'static,
    F: Future<Output = R>,
{
    for_each_of(rt, WORKERS, items, work).await
}

/// The same with `workers` pieces under way at once, for work that holds much memory.
pub(crate) async fn for_each_of<T, R, F>(
    rt: &Runtime,
    workers: usize,
    items: Vec<T>,
    work: impl Fn(T) -> F + 'static,
) -> Vec<R>
where
    T: 'static,
    R: 'static,
    F: Future<Output = R>,
{
    let count = items.len();
    let results: Rc<RefCell<Vec<Option<R>>>> = Rc::new(RefCell::new((0..count).map(|_| None).collect()));
    let queue = Rc::new(RefCell::new(items.into_iter().enumerate()));
    let running = Rc::new(Cell::new(workers.min(count)));
    let (done, work) = (Rc::new(Event::new()), Rc::new(work));
    for _ in 0..running.get() {
        let (results, queue, running, done, work) =
            (results.clone(), queue.clone(), running.clone(), done.clone(), work.clone());
        rt.spawn(async move {
            loop {
                let next = queue.borrow_mut().next();
                let Some((index, item)) = next else { break };
                let result = work(item).await;
                results.borrow_mut()[index] = Some(result);
            }
            running.set(running.get() - 1);
            done.notify();
        });
    }
    while running.get() > 0 {
        let changed = done.wait();
        if running.get() > 0 {
            changed.await;
        }
    }
    results.take().into_iter().map(|r| r.expect("every worker has ended")).collect()
}
