//! What the way of a write asks of conversion ([`crate::write::convert`]), which is carried out above it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use cygnus_format::Rotation;
use cygnus_runtime::OpFuture;
use cygnus_types::{GroupId, MemberIx};

use crate::write::stripe::Stripe;

/// Members that do not convert: they cannot, or have refused to. What they are is found once in each session.
#[derive(Default)]
pub(crate) struct Lacking(pub RefCell<BTreeSet<MemberIx>>);

/// What is to be copied still before a stripe can be converted.
pub(crate) struct LastCopies(pub Vec<OpFuture>);

/// A reactor, as far as conversion goes.
pub(crate) trait Offload {
    /// Whether the members with the parity of such stripes of a group compute it.
    fn converts(&self, group: GroupId, columns: Rotation) -> bool;

    /// Rows of a stripe that is about to be closed whose parity its members are to compute.
    fn rows_to_convert(&self, stripe: &Stripe) -> u32;

    /// Sends the copies that are missing for the conversion of a stripe that was just closed.
    fn send_last_copies(&self, stripe: &Stripe) -> LastCopies;

    /// Has the members compute the parity of a stripe of which all else is on its way no more. Those who do not get it from here.
    async fn convert(&self, stripe: &Stripe, copies: LastCopies);
}
