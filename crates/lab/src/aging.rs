//! What is written before the clock starts: as fast as the array takes it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_runtime::{Event, Rng};
use cygnus_types::{BLOCK, zeros};

use crate::error::Stop;
use crate::scenario::AgingSection;
use crate::store::{RequestError, Store, blank};
use crate::testbed::Seat;

/// Bytes of a sequential write.
const LARGE: usize = 256 << 10;
/// Requests at once, if not said otherwise.
const DEPTH: usize = 32;
/// Requests between two looks at how far it is.
const PROGRESS_EVERY: u64 = 1 << 14;

/// Writes at offsets that `next` gives until it gives no more.
async fn write_all(
    seat: &Seat,
    (depth, len): (usize, usize),
    mut next: impl FnMut() -> Option<u64> + 'static,
) -> Result<(), RequestError> {
    let (store, mut ahead) = (seat.store.clone(), next());
    let next = move || {
        let offset = std::mem::replace(&mut ahead, next())?;
        ahead.iter().for_each(|&ahead| store.announce(ahead));
        Some(offset)
    };
    let next = Rc::new(RefCell::new(next));
    let failure = Rc::new(Cell::new(None));
    let (running, ended) = (Rc::new(Cell::new(depth)), Rc::new(Event::new()));
    for _ in 0..depth {
        let (rt, store) = (seat.rt.clone(), seat.store.clone());
        let (next, failure, running, ended) = (next.clone(), failure.clone(), running.clone(), ended.clone());
        seat.rt.spawn(async move {
            let buf = blank(&rt, len);
            loop {
                let offset = (*next.borrow_mut())();
                let Some(offset) = offset else { break };
                let data = zeros::of_len(len).expect("there are that many");
                let result = match store.try_write(offset, data) {
                    true => Ok(()),
                    false => store.write(offset, buf.clone()).await,
                };
                if let Err(error) = result {
                    failure.set(Some(error));
                    break;
                }
                rt.yield_now().await;
            }
            running.set(running.get() - 1);
            ended.notify();
        });
    }
    while running.get() > 0 {
        ended.wait().await;
    }
    failure.take().map_or(Ok(()), Err)
}

/// Ages the volume; `progress` is told the share that is done.
pub(crate) async fn age(seat: &Seat, aging: &AgingSection, progress: Rc<dyn Fn(f64)>) -> Result<(), Stop> {
    let size = seat.store.size();
    let fill = (size as f64 * aging.fill.share()) as u64 / LARGE as u64 * LARGE as u64;
    let span = if fill == 0 { size } else { fill };
    let depth = aging.depth.map_or(DEPTH, |depth| depth as usize);
    let block = aging.overwrite_block.map_or(BLOCK as u64, |size| size.0);
    let blocks = span / block;
    let overwrites = (blocks as f64 * aging.overwrite) as u64;
    let all = ((fill / block) + overwrites).max(1) as f64;
    let (mut at, told) = (0, progress.clone());
    let sequential = move || {
        let here = at;
        at += LARGE as u64;
        if (here / LARGE as u64).is_multiple_of(PROGRESS_EVERY / 64) {
            told((here / block) as f64 / all);
        }
        (here < fill).then_some(here)
    };
    write_all(seat, (depth, LARGE), sequential).await?;
    let (mut rng, mut done) = (Rng::new(seat.rt.rng_u64()), 0);
    let random = move || {
        if done % PROGRESS_EVERY == 0 {
            progress(((fill / block) + done) as f64 / all);
        }
        done += 1;
        (done <= overwrites).then(|| rng.below(blocks) * block)
    };
    write_all(seat, (depth, block as usize), random).await?;
    settle(&seat.store).await
}

/// What was written is on the devices when the clock starts.
async fn settle(store: &Store) -> Result<(), Stop> {
    Ok(store.flush().await?)
}
