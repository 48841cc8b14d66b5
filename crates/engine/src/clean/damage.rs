//! Segments that cleaning has left because of a current block that cannot be read, and what became of the array through them.
//!
//! What can be read of such a segment stays there too: to move it would take room and give none. The segment is looked at again
//! when that block was written anew or discarded, or when a member is back that may have it. Should such segments be all that
//! could give room, the array is *clogged*: it takes discards, for which it keeps room, and refuses writes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::clean::through::Unread;
use crate::shared::Shared;
use crate::space::segments::{SegIx, SegState};

/// Rounds of cleaning, and looks for something to clean, while writers wait, after which nothing counts as to be gained;
/// two more for each free segment that is not for them.
const FRUITLESS: u32 = 64;
/// The same while a checkpoint may give room.
const FRUITLESS_BESIDE_CHECKPOINT: u32 = 2000;

/// Victims without such a block after which it is not expected in the next one.
const WHOLE: u32 = 16;

/// What keeps a segment.
struct Kept {
    /// `None`: it is to be looked at again.
    by: Option<Unread>,
    /// The columns of the segment that could be read, as a bit each.
    columns: u32,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Damage {
    kept: RefCell<BTreeMap<SegIx, Kept>>,
    /// Victims that were looked through and are whole.
    whole: Cell<u32>,
    /// Rounds and looks since a writer last got room, or something else has changed.
    fruitless: Cell<u32>,
    /// What [`Damage::is_now`] was told last.
    seen: Cell<(u64, u64)>,
}

impl Damage {
    /// Whether cleaning has met a block that cannot be read, in a segment that is there still.
    pub(crate) fn any(&self) -> bool {
        !self.kept.borrow().is_empty()
    }

    /// A victim was looked through, and all of it can be read.
    pub(crate) fn is_whole(&self) {
        self.whole.set(self.whole.get().saturating_add(1));
    }

    /// Whether it is not known yet if cleaning will meet such blocks.
    pub(crate) fn is_unknown(&self) -> bool {
        self.whole.get() < WHOLE
    }

    /// Cleaning leaves a segment.
    pub(crate) fn leave(&self, seg: SegIx, by: Unread, columns: u32) {
        self.kept.borrow_mut().insert(seg, Kept { by: Some(by), columns });
    }

    /// Lets segments be cleaned again that may have changed for the better; `columns_of` are those that can be read now.
    pub(crate) fn look_again(&self, shared: &Shared, columns_of: impl Fn(SegIx) -> u32) {
        let table = &shared.segments;
        let is_still = |Unread { volume, lba, entry }: Unread| {
            shared.volume(volume).is_some_and(|of| of.controller.is_still(lba, entry))
        };
        self.kept.borrow_mut().retain(|&seg, Kept { by, columns }| {
            let state = table.state(seg);
            if by.is_some_and(|by| !is_still(by) || columns_of(seg) & !*columns != 0) {
                *by = None;
                self.fruitless.set(0);
                if state == SegState::Damaged {
                    table.set_state(seg, SegState::Sealed);
                }
            }
            matches!(state, SegState::Damaged | SegState::Sealed)
        });
    }

    /// A writer has got room.
    pub(crate) fn gives_room(&self) {
        self.fruitless.set(0);
    }

    /// Writers wait, and cleaning has gone round once more; whether nothing is to be gained. `kept_free`: free segments that are
    /// not for writers. `may_wait`: a checkpoint may give room.
    pub(crate) fn is_fruitless(&self, kept_free: u32, may_wait: bool) -> bool {
        self.fruitless.set(self.fruitless.get().saturating_add(1));
        let most = if may_wait { FRUITLESS_BESIDE_CHECKPOINT } else { FRUITLESS + 2 * kept_free };
        self.fruitless.get() > most
    }

    /// Notes what the array is like: what volumes hold, and below which stripe checkpoints cover discards. Where that has changed
    /// for the better, something may be gained again.
    pub(crate) fn is_now(&self, held: u64, covered: u64) {
        let (held_before, covered_before) = self.seen.replace((held, covered));
        if held < held_before || covered > covered_before {
            self.fruitless.set(0);
        }
    }

    /// Whether all that could be cleaned was, for nothing.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.fruitless.get() > FRUITLESS
    }
}
