//! Who is looked after, and what is known of it: what the guardian keeps.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cygnus_types::{GroupId, MemberIx, Nanos};

/// How often a member that is awaited is asked. Requests wait for it.
pub(crate) const ASK_AWAITED: Nanos = Nanos::secs(1);

/// A member that is looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// The others of its group are being asked.
    Doubted,
    /// They are known to work, or to be in trouble too.
    Judged,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Watch {
    /// Members that are looked after.
    pub care: RefCell<BTreeMap<MemberIx, Care>>,
    /// How often members have left service because of trouble.
    pub departures: RefCell<BTreeMap<MemberIx, u32>>,
    /// Groups that wait for members, and since when.
    pub suspended: RefCell<BTreeMap<GroupId, Nanos>>,
    /// The array has ended: nobody is looked after any more.
    pub ended: Cell<bool>,
    /// Why the array was given up while it waited for members.
    pub given_up: RefCell<Option<String>>,
}
