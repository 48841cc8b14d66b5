//! Which members get the copies of what is new in an open stripe.
//!
//! Any m members do that have none of the new blocks in their places: recovery looks for copies in all areas. Where drives compute the
//! parity from copies, these have to be the members that will have the parity (ScalaAFA, section 3.2). Elsewhere those get them that have
//! least to do, and of these the ones whose areas are emptiest. All stripes of a segment have their parity on the same members: if
//! those had all copies too, they would be written as many bytes as all others together, and the area of each would be full
//! while the others' are empty.

use cygnus_format::{Layout, Rotation};
use cygnus_runtime::{DeviceIx, Runtime};
use cygnus_types::MemberIx;

use crate::planted::{self, Bug};
use crate::write::stripe::Stripe;

/// Whether a device has no place that can be written round and round, as transient areas are: copies are kept nowhere in its group then.
pub(crate) fn keeps_no_backups(rt: &Runtime, dev: DeviceIx) -> bool {
    rt.capabilities(dev).resets.is_some() && !planted::is(Bug::BackupsInZones)
}

/// The members that get copies of a stripe's blocks from slot `from` on, of which `witness` has what says so: as many as the stripe has
/// parity columns, those with the least `load`.
pub(super) fn of_copies<L: Ord>(
    layout: &Layout,
    stripe: &Stripe,
    (from, witness): (u32, u8),
    load: impl Fn(MemberIx) -> L,
) -> Vec<MemberIx> {
    let (group, columns) = (stripe.place.group, stripe.place.columns);
    let mut taken = vec![false; usize::from(columns.width())];
    taken[usize::from(witness)] = true;
    if !planted::is(Bug::CopiesBesideTheBlocks) {
        (from..stripe.used()).for_each(|slot| taken[usize::from(stripe.slot(slot).0)] = true);
    }
    let mut free: Vec<MemberIx> = parity_first(columns)
        .filter(|&column| !taken[usize::from(column)])
        .map(|column| layout.member(group, column))
        .collect();
    free.sort_by_key(|&member| load(member));
    free.truncate(usize::from(columns.parity));
    free
}

/// The members that will have a stripe's parity.
pub(super) fn of_parity(layout: &Layout, stripe: &Stripe) -> Vec<MemberIx> {
    let (group, columns) = (stripe.place.group, stripe.place.columns);
    (0..columns.parity).map(|p| layout.member(group, columns.parity_column(p))).collect()
}

/// Physical columns, those with parity first.
fn parity_first(columns: Rotation) -> impl Iterator<Item = u8> {
    let data = (0..columns.data).map(move |d| columns.data_column(d));
    (0..columns.parity).map(move |p| columns.parity_column(p)).chain(data)
}
