//! What the way of a write asks of conversion ([`crate::write::convert`]), which is carried out above it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use cygnus_format::Rotation;
use cygnus_runtime::{DeviceIx, OpFuture};
use cygnus_types::GroupId;

use crate::write::stripe::Stripe;

/// Devices that do not convert: they cannot, or have refused to. What they are is found once in each session; a device that replaces
/// one of them is asked anew.
#[derive(Default)]
pub(crate) struct Lacking(pub RefCell<BTreeSet<DeviceIx>>);

/// What is to be copied still before a stripe can be converted.
pub(crate) struct LastCopies(pub Vec<OpFuture>);

/// Whether members have copies of all of which they are to compute the parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// They had them before the stripe was closed.
    Before,
    /// They got the last ones just now.
    Now,
    /// Some may be missing, or a member of the group has gone or fallen silent since.
    InPart,
}

/// A reactor, as far as conversion goes.
pub(crate) trait Offload {
    /// Whether the members with the parity of such stripes of a group compute it.
    fn converts(&self, group: GroupId, columns: Rotation) -> bool;

    /// Rows of a stripe that is about to be closed whose parity its members are to compute.
    fn rows_to_convert(&self, stripe: &Stripe) -> u32;

    /// Sends the copies that are missing for the conversion of a stripe that was just closed.
    fn send_last_copies(&self, stripe: &Stripe) -> LastCopies;

    /// Waits for the last copies of a stripe.
    async fn complete_copies(&self, stripe: &Stripe, copies: LastCopies) -> Copied;

    /// Has the members compute the parity of a stripe of which all else is on its way no more. Those who do not get it from here.
    async fn convert(&self, stripe: &Stripe, copied: Copied);
}
