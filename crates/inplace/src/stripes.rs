//! Whose turn it is at a stripe.
//!
//! Parity belongs to a whole row of blocks, so of everything that renews it, or makes data from it, only one may be at
//! work in a stripe. Writes that come meanwhile are collected, and carried out together afterwards.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_runtime::{BufSlice, Event, OneshotSender, oneshot};
use cygnus_types::BLOCK;

use crate::error::RaidError;
use crate::raid::Core;

/// A write to a data column that waits for its stripe.
pub(crate) struct Waiting {
    pub column: usize,
    pub row: u32,
    pub data: BufSlice,
    done: OneshotSender<Result<(), RaidError>>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Stripes {
    /// Stripes at which somebody is at work, with the writes that wait for them.
    busy: RefCell<BTreeMap<u64, Vec<Waiting>>>,
    freed: Event,
}

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
