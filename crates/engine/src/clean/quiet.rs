//! Segments that nothing is in any more go back when clients are quiet, though nobody is short of any: what was deleted or discarded gives
//! its space back below, to the file system or the drive. While clients are at work cleaning does that, when it is worth a flush.

use std::rc::Rc;

use cygnus_types::Nanos;

use crate::clean::cleaner::Cleaner;
use crate::clean::emptied::Emptied;
use crate::counters::read;
use crate::durable::checkpoint::Checkpointer;
use crate::reactor::Reactor;
use crate::space::segments::{SegIx, SegState};

/// Segments that go back with one flush; then it is looked whether clients are quiet still.
const AT_ONCE: usize = 64;

/// Gives back what is empty: see the module's text. On the home reactor.
pub(crate) struct Quiet {
    reactor: Rc<Reactor>,
    /// Clients that have asked for nothing for so long are quiet.
    after: Nanos,
}

impl Quiet {
    pub(crate) fn of(reactor: &Rc<Reactor>, after: Nanos) -> Self {
        Self { reactor: reactor.clone(), after }
    }

    /// Works until the array ends. Nothing is timed while nothing is empty.
    pub(crate) async fn run(self) {
        let home = self.reactor.home();
        while !self.reactor.is_ending() {
            let changed = home.space_changed.wait();
            if !self.is_any_empty() {
                changed.await;
                continue;
            }
            let served = self.served();
            self.reactor.rt.sleep(self.after).await;
            let changed = home.space_changed.wait();
            if self.served() == served && !self.give_back(served).await {
                changed.await;
            }
        }
    }

    /// Blocks that clients have written and read. Discards are not counted: they are what there is to be given back.
    fn served(&self) -> (u64, u64) {
        let totals = &self.reactor.shared.totals;
        (read(&totals.client_written), self.reactor.shared.clients.blocks())
    }

    /// Gives back all that is empty, unless clients begin anew; says whether there was any that may go.
    async fn give_back(&self, served: (u64, u64)) -> bool {
        let home = self.reactor.home();
        let mut any = false;
        while !self.reactor.is_ending() && self.served() == served && home.space.borrow().evacuation.is_none() {
            let empty = self.empty();
            if empty.is_empty() {
                break;
            }
            any = true;
            for &seg in &empty {
                self.reactor.shared.segments.set_state(seg, SegState::Pending);
            }
            home.space.borrow_mut().pending.extend(empty);
            Cleaner::of(&self.reactor).start_release();
            while home.cleaning.releasing.get() {
                let changed = home.space_changed.wait();
                if home.cleaning.releasing.get() {
                    changed.await;
                }
            }
        }
        any
    }

    fn is_any_empty(&self) -> bool {
        let table = &self.reactor.shared.segments;
        !self.reactor.home().candidates(&self.reactor.shared).without_current_blocks(table).is_empty()
    }

    /// Some segments that nothing is in and that may go back. Where records of discards keep them, a checkpoint is begun, after which they
    /// may.
    fn empty(&self) -> Vec<SegIx> {
        let (home, table) = (self.reactor.home(), &self.reactor.shared.segments);
        let mut empty = home.candidates(&self.reactor.shared).without_current_blocks(table);
        empty.retain(|&seg| table.live(seg) == 0 && matches!(table.state(seg), SegState::Sealed | SegState::Damaged));
        let waits = |seg: &SegIx| !home.checkpoints.covers_discard(table.newest_discard(*seg));
        if empty.iter().any(waits) {
            Checkpointer::of(&self.reactor).start_checkpoint_at_once();
        }
        empty.retain(|&seg| Emptied::of(&self.reactor).may_clean(seg));
        empty.truncate(AT_ONCE);
        empty
    }
}
