//! Which members get the copies of what is new in an open stripe.
//!
//! Any m members do that have none of the new blocks in their places: recovery looks for copies in all areas. Where drives compute the
//! parity from copies, these have to be the members that will have the parity (ScalaAFA, section 3.2). Elsewhere those get them that have
//! least to do, and of these the ones whose areas are emptiest. All stripes of a segment have their parity on the same members: if
//! those had all copies too, they would be written as many bytes as all others together, and the area of each would be full
//! while the others' are empty.

use cygnus_format::Rotation;
use cygnus_policy::UntilFull;
use cygnus_types::MemberIx;

use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::write::stripe::Stripe;

/// The members that get copies of a stripe's blocks from slot `from` on, of which `witness` has what says so: as many as the stripe has
/// parity columns.
pub(super) fn of_copies(reactor: &Reactor, stripe: &Stripe, from: u32, witness: u8) -> Vec<MemberIx> {
    let (group, columns, layout) = (stripe.place.group, stripe.place.columns, &reactor.shared.layout);
    if reactor.shared.until_full == UntilFull::Offload {
        return of_parity(reactor, stripe);
    }
    let mut taken = vec![false; usize::from(columns.width())];
    taken[usize::from(witness)] = true;
    if !planted::is(Bug::CopiesBesideTheBlocks) {
        (from..stripe.used()).for_each(|slot| taken[usize::from(stripe.slot(slot).0)] = true);
    }
    let mut free: Vec<MemberIx> = parity_first(columns)
        .filter(|&column| !taken[usize::from(column)])
        .map(|column| layout.member(group, column))
        .collect();
    let transient = reactor.transient.borrow();
    free.sort_by_key(|&member| {
        let under_way = reactor.device_in_service(member).map_or(usize::MAX, |dev| reactor.rt.in_flight(dev));
        (under_way, transient.used(member))
    });
    free.truncate(usize::from(columns.parity));
    free
}

/// The members that will have a stripe's parity.
pub(super) fn of_parity(reactor: &Reactor, stripe: &Stripe) -> Vec<MemberIx> {
    let (group, columns) = (stripe.place.group, stripe.place.columns);
    (0..columns.parity).map(|p| reactor.shared.layout.member(group, columns.parity_column(p))).collect()
}

/// Physical columns, those with parity first.
fn parity_first(columns: Rotation) -> impl Iterator<Item = u8> {
    let data = (0..columns.data).map(move |d| columns.data_column(d));
    (0..columns.parity).map(move |p| columns.parity_column(p)).chain(data)
}
