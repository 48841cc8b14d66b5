//! What the superblocks say, and who has them: what is kept between two commits.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cygnus_runtime::Rounds;
use cygnus_types::{MemberIx, Uuid};

use crate::fault::Fault;
use crate::recover::assemble::Readmission;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Records {
    /// Generation of the newest superblocks.
    pub generation: Cell<u64>,
    /// Membership that they reflect.
    pub recorded_membership: Cell<u64>,
    pub committing: Rounds<Result<(), Fault>>,
    /// The next superblocks are the last ones of the session.
    pub ends: Cell<bool>,
    /// Members in service that did not get the newest superblocks, and the generation of the last that they got.
    pub behind: RefCell<BTreeMap<MemberIx, u64>>,
    /// Devices that have become members or spares, and of which no superblock says so yet.
    pub newcomers: RefCell<Vec<Uuid>>,
    /// Members that were re-admitted by force, which the superblocks call out of service until the next checkpoint.
    pub readmitted: RefCell<Vec<MemberIx>>,
    /// Members re-admitted only to see what would come of it: what they lack was not written.
    pub unwritten: RefCell<Vec<Readmission>>,
}

impl Records {
    pub(crate) fn new(generation: u64) -> Self {
        Self { generation: Cell::new(generation), ..Self::default() }
    }

    /// A member did not get the superblocks of this generation.
    pub(crate) fn falls_behind(&self, member: MemberIx, generation: u64) {
        self.behind.borrow_mut().entry(member).or_insert(generation - 1);
    }

    /// A member that has fallen behind has the newest superblocks, or needs none any more. Returns the generation of the
    /// last that it had got.
    pub(crate) fn is_not_behind(&self, member: MemberIx) -> Option<u64> {
        self.behind.borrow_mut().remove(&member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_falls_behind_stays_at_the_last_generation_that_was_taken() {
        let records = Records::new(7);
        records.falls_behind(MemberIx(1), 8);
        records.falls_behind(MemberIx(1), 9);
        assert_eq!(records.is_not_behind(MemberIx(1)), Some(7));
        assert_eq!(records.is_not_behind(MemberIx(1)), None);
    }
}
