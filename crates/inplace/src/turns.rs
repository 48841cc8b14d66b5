//! The turns at stripes: who takes one may renew parity, or make data from it; writes that wait are carried out with it.

use std::rc::Rc;

use cygnus_runtime::{BufSlice, oneshot};
use cygnus_types::BLOCK;

use crate::core::Core;
use crate::error::RaidError;
use crate::stripes::Waiting;

/// The right to work at a stripe.
pub(crate) struct Turn {
    core: Rc<Core>,
    stripe: u64,
    /// It was made for writes that wait, and nobody has taken those up.
    unused: bool,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let stripes = &self.core.stripes;
        let waiting = stripes.busy.borrow().get(&self.stripe).is_some_and(|waiting| !waiting.is_empty());
        if waiting && !self.unused {
            // Writes that came meanwhile are next.
            let turn = Turn { core: self.core.clone(), stripe: self.stripe, unused: true };
            self.core.rt.spawn(work(turn));
        } else {
            // Whose worker was dropped before it began will not be written: the reactor is being taken down.
            let dropped = stripes.busy.borrow_mut().remove(&self.stripe);
            drop(dropped);
            stripes.freed.notify();
        }
    }
}

impl Core {
    /// Waits until nobody works at a stripe.
    pub(crate) async fn stripe_turn(self: &Rc<Self>, stripe: u64) -> Turn {
        loop {
            let freed = self.stripes.freed.wait();
            if let Some(turn) = self.try_turn(stripe) {
                return turn;
            }
            freed.await;
        }
    }

    fn try_turn(self: &Rc<Self>, stripe: u64) -> Option<Turn> {
        let mut busy = self.stripes.busy.borrow_mut();
        if busy.contains_key(&stripe) {
            return None;
        }
        busy.insert(stripe, Vec::new());
        Some(Turn { core: self.clone(), stripe, unused: false })
    }

    /// Writes to the data columns of stripes with parity.
    pub(crate) async fn write_striped(
        self: &Rc<Self>,
        first: u64,
        blocks: u64,
        data: BufSlice,
    ) -> Result<(), RaidError> {
        let mut answers = Vec::new();
        for piece in self.layout.pieces(first, blocks) {
            let from = piece.at as usize * BLOCK;
            let part = data.slice(from..from + piece.rows as usize * BLOCK);
            let (done, answer) = oneshot();
            answers.push(answer);
            let waiting = Waiting { column: piece.column, row: piece.row, data: part, done };
            let turn = self.try_turn(piece.stripe);
            self.stripes.busy.borrow_mut().entry(piece.stripe).or_default().push(waiting);
            if let Some(mut turn) = turn {
                turn.unused = true;
                self.rt.spawn(work(turn));
            }
        }
        let mut result = Ok(());
        for answer in answers {
            // A worker that is dropped unfinished belongs to an array that is being dropped.
            result = result.and(answer.await.unwrap_or(Err(RaidError::Failed)));
        }
        result
    }
}

/// Carries out the writes that wait for a stripe.
async fn work(mut turn: Turn) {
    let core = turn.core.clone();
    // Whoever writes a stripe by several requests gets them carried out as one.
    core.rt.yield_now().await;
    turn.unused = false;
    let writes = std::mem::take(core.stripes.busy.borrow_mut().get_mut(&turn.stripe).expect("the turn is ours"));
    let result = core.carry_out(turn.stripe, &writes).await;
    for write in writes {
        write.done.send(result.clone());
    }
}
