//! What answers wait for on a reactor: rounds that many of them share, and how far members' departures are on record.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use cygnus_runtime::{Event, Runtime};

use crate::error::VolumeError;

/// Rounds under way side by side at most. What is answered by one is asked anew while the other is under way, so that
/// members always have something to do; with more of them each would be about fewer blocks.
const SIDE_BY_SIDE: usize = 2;

/// A round, from the first who asks for it to its end.
#[derive(Default)]
struct Round {
    result: RefCell<Option<Result<(), VolumeError>>>,
    ended: Event,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Answering {
    /// The round that has not begun: whoever asks now is served by it.
    next: RefCell<Option<Rc<Round>>>,
    under_way: Cell<usize>,
    ended: Event,
    /// What [`Shared::membership`](crate::shared::Shared::membership) was when superblocks had all of it, as far as is known here.
    /// An opening writes them, so they have what it was then, which is 0.
    pub recorded_membership: Cell<u64>,
}

impl Answering {
    /// Waits until a round of `work` that begins after this call has ended, and gives its result. It begins when all have had
    /// their turn that are ready now, and goes on to its end whoever waits for it.
    pub(crate) async fn next_round<F>(
        self: &Rc<Self>,
        rt: &Runtime,
        work: impl FnOnce() -> F,
    ) -> Result<(), VolumeError>
    where
        F: Future<Output = Result<(), VolumeError>> + 'static,
    {
        let asked = self.next.borrow().clone();
        let round = asked.unwrap_or_else(|| {
            let (answering, round, work) = (self.clone(), Rc::<Round>::default(), work());
            self.next.replace(Some(round.clone()));
            let begun = round.clone();
            rt.spawn(async move { answering.carry_out(&begun, work).await });
            round
        });
        loop {
            let ended = round.ended.wait();
            if let Some(result) = &*round.result.borrow() {
                return result.clone();
            }
            ended.await;
        }
    }

    async fn carry_out(&self, round: &Round, work: impl Future<Output = Result<(), VolumeError>>) {
        while self.under_way.get() >= SIDE_BY_SIDE {
            self.ended.wait().await;
        }
        self.next.take();
        self.under_way.set(self.under_way.get() + 1);
        let result = work.await;
        round.result.replace(Some(result));
        self.under_way.set(self.under_way.get() - 1);
        self.ended.notify();
        round.ended.notify();
    }
}
