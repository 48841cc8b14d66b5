//! Members being filled, and devices that are to take over from one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_format::Holdings;
use cygnus_types::MemberIx;

use crate::care::places::Spare;
use crate::job::Job;

/// A member being filled, or the device that is to take over from one.
pub(crate) struct Fill {
    pub member: MemberIx,
    /// The spare that is filled to take over from the member, which is in service; `None`: the member itself is filled.
    pub successor: Option<Spare>,
    /// What it had when this began.
    pub had: Holdings,
    pub job: Job,
    /// Whether every segment begun since has its column.
    pub prepared: Cell<bool>,
    /// Current blocks that could be had from no device just now, and that the member which is drained may yet give.
    pub unread: Cell<u64>,
}

impl Fill {
    pub(crate) fn new(member: MemberIx, had: Holdings, job: Job) -> Self {
        Self { member, successor: None, had, job, prepared: Cell::new(false), unread: Cell::new(0) }
    }

    /// For a spare that is to take over from the member.
    pub(crate) fn of_successor(member: MemberIx, spare: Spare, job: Job) -> Self {
        Self { successor: Some(spare), ..Self::new(member, Holdings::default(), job) }
    }

    pub(crate) fn is_prepared(&self) -> bool {
        self.prepared.get()
    }
}

/// What the rebuilder keeps.
#[derive(Default)]
pub(crate) struct Fills {
    /// Members being filled.
    pub all: RefCell<Vec<Rc<Fill>>>,
    /// Whether the rebuilder is there.
    pub running: Cell<bool>,
}
