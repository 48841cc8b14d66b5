//! What was lost with the caches of members: the stripes concerned, until a checkpoint says which of their blocks are lost.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cygnus_format::Entry;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Spoils {
    /// Stripes of which blocks are lost, and what their headers say since.
    pub stripes: RefCell<BTreeMap<u64, Vec<Entry>>>,
    /// How often a stripe was added to these.
    pub times: Cell<u64>,
    /// How often by the time of the newest checkpoint.
    pub on_record: Cell<u64>,
}

impl Spoils {
    /// Whether a checkpoint says of everything that is lost that it is.
    pub(crate) fn are_on_record(&self) -> bool {
        self.times.get() == self.on_record.get()
    }
}
