//! The members that are looked after.

use std::collections::BTreeMap;

/// See the module's text.
#[derive(Default)]
pub(crate) struct LookedAfter {
    /// By member; `true`: the others of its group are still being asked.
    pub doubted: BTreeMap<usize, bool>,
    /// How often a member has left in this session.
    pub departures: BTreeMap<usize, u32>,
    pub ended: bool,
}
