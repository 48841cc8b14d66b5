//! Which stream a block goes to: by the media on which its volume may be, and by its volume or its heat (SALSA section 3.1).
//!
//! Each medium has lanes of its own, so what a volume wants of media is kept by the choice of the lane, and whatever room a lane
//! waits for is on its medium. In an array on one medium there is nothing to choose.

use std::rc::Rc;

use cygnus_policy::Streams;
use cygnus_types::{ByteSize, Constraint, Lba, Medium};

use crate::counters::{count, read};
use crate::error::VolumeError;
use crate::hybrid::room;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::space::held::Held;
use crate::volume_state::VolumeState;
use crate::write::lane::{Lane, Own};

/// By how much fuller, in 256ths, a medium has to be than another one before volumes that may be on any leave it: what is written one
/// after the other should lie together.
const FULLER: u64 = 4;

/// Where a client's write goes: the volume's stream, or the one for the heat of its first block's range.
#[inline]
pub(crate) fn lane_of(reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba) -> Lane {
    let medium = medium_of(reactor, volume, lba);
    match &reactor.shared.heat {
        None => lane_on(reactor, volume, medium),
        Some(heat) => lane_by_heat(reactor, heat.is_hot(volume.id, lba), medium),
    }
}

/// The stream for a range's heat. While it has no segment that is the other one, which only costs cleaning.
fn lane_by_heat(reactor: &Rc<Reactor>, is_hot: bool, medium: Medium) -> Lane {
    let [its, other] = match is_hot {
        true => [Lane::Hot(medium), Lane::Clients(medium)],
        false => [Lane::Clients(medium), Lane::Hot(medium)],
    };
    if has_segment(reactor, its) {
        return its;
    }
    reactor.writer(its).borrow_mut().ask(reactor);
    // Nobody has to give the hot ones any: who waits, waits as a client.
    if has_segment(reactor, other) { other } else { Lane::Clients(medium) }
}

/// Where blocks of a volume go on a medium, whatever their heat.
#[inline]
pub(crate) fn lane_on(reactor: &Reactor, volume: &VolumeState, medium: Medium) -> Lane {
    own(reactor, volume).map_or(Lane::Clients(medium), |own| Lane::Own(medium, own))
}

/// The stream of a volume, if that is not the common one.
#[inline]
pub(crate) fn own(reactor: &Reactor, volume: &VolumeState) -> Option<Own> {
    let is_by_volume = reactor.shared.policies.streams == Streams::ByVolume;
    if is_by_volume { Own::of(volume.id) } else { None }
}

fn has_segment(reactor: &Rc<Reactor>, lane: Lane) -> bool {
    reactor.writer(lane).borrow_mut().has_segment(reactor)
}

/// Whether blocks of a volume may come to a medium: their places there are counted already, or there is room for the others.
fn takes(reactor: &Reactor, volume: &VolumeState, lba: Lba, blocks: u64, medium: Medium) -> bool {
    let comes = |n: &u64| lies_on(reactor, volume, lba.plus(*n)) != Some(medium);
    let held = &reactor.shared.held;
    held.has_room_on(medium, blocks) || (0..blocks).filter(comes).count() == 0
}

/// The medium on which a block lies now.
fn lies_on(reactor: &Reactor, volume: &VolumeState, lba: Lba) -> Option<Medium> {
    let (entry, segments) = (volume.controller.locate(lba), &reactor.shared.segments);
    entry.is_mapped().then(|| segments.medium(segments.of(entry.pba())))
}

/// Whether media matter to a volume at all.
#[inline]
fn is_choosy(reactor: &Reactor, volume: &VolumeState) -> bool {
    reactor.shared.held.only_medium().is_none() || matches!(volume.constraint, Constraint::Only(_))
}

/// Whether blocks can be written on some medium on which its volume may be, as far as the array can hold it at all.
#[inline]
pub(crate) fn is_room(reactor: &Reactor, volume: &VolumeState, lba: Lba, blocks: u64) -> bool {
    let may = |&medium: &Medium| volume.constraint.allows(medium) && takes(reactor, volume, lba, blocks, medium);
    !is_choosy(reactor, volume) || Medium::ALL.iter().any(may)
}

/// What a client is told who writes a block for which there is none.
pub(crate) fn no_space(reactor: &Rc<Reactor>, volume: &VolumeState) -> VolumeError {
    room::is_wanted_by(reactor, volume);
    let held = &reactor.shared.held;
    match volume.constraint.medium() {
        None => VolumeError::NoSpace { usable: ByteSize::of_blocks(held.usable()) },
        Some(medium) => {
            let usable = ByteSize::of_blocks(held.usable_on(medium));
            VolumeError::NoSpaceOn { medium, volume: volume.name.clone(), usable }
        }
    }
}

/// Whether so many blocks have room where a lane writes, whichever they are.
#[inline]
pub(crate) fn is_room_for(reactor: &Reactor, volume: &VolumeState, lane: Lane, blocks: u64) -> bool {
    let has_room = |medium| reactor.shared.held.has_room_on(medium, blocks);
    !is_choosy(reactor, volume) || lane.medium().is_some_and(has_room)
}

/// The medium to which a client's write goes.
#[inline]
fn medium_of(reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba) -> Medium {
    match (volume.constraint, reactor.shared.held.only_medium()) {
        (Constraint::Only(_), None) if planted::is(Bug::ConstraintIgnored) => any(reactor, volume, lba),
        (Constraint::Only(medium), _) => medium,
        (_, Some(only)) => only,
        (Constraint::Prefers(wanted), None) => offered(reactor, volume, lba, wanted),
        (Constraint::Hybrid(tiers), None) => offered(reactor, volume, lba, tiers.slow()),
        (Constraint::None, None) => any(reactor, volume, lba),
    }
}

/// The first medium that takes a block of those that are offered to a volume which would have it on `wanted`; if none does, the last one.
fn offered(reactor: &Reactor, volume: &VolumeState, lba: Lba, wanted: Medium) -> Medium {
    let (first, blocks) = (volume.controller.page_of(lba), volume.controller.page_blocks());
    let there =
        || volume.constraint.offers(wanted).into_iter().filter(|&medium| reactor.shared.held.has_medium(medium));
    let takes = |medium: &Medium| takes(reactor, volume, first, blocks, *medium);
    there().find(takes).or_else(|| there().next_back()).unwrap_or(wanted)
}

/// One of all media for a volume that may be on any: they are to become equally full, and nobody waits for a segment on the one
/// while another has some.
fn any(reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba) -> Medium {
    let order = emptiest_first(&reactor.shared.held, reactor.last_medium.get());
    let there = || order.into_iter().filter(|&medium| reactor.shared.held.has_medium(medium));
    let may = |medium: &Medium| {
        takes(reactor, volume, volume.controller.page_of(lba), volume.controller.page_blocks(), *medium)
    };
    let is_ready = |medium: &Medium| {
        let lane = Lane::Clients(*medium);
        let is_ready = has_segment(reactor, lane);
        if !is_ready {
            reactor.writer(lane).borrow_mut().ask(reactor);
        }
        is_ready
    };
    let chosen = there().find(|medium| may(medium) && is_ready(medium));
    let chosen = chosen.or_else(|| there().find(may)).or_else(|| there().next()).unwrap_or_default();
    reactor.last_medium.set(chosen);
    chosen
}

/// All media, that of which the least part of the room is taken first, unless the `last` one is only a little fuller.
fn emptiest_first(held: &Held, last: Medium) -> [Medium; Medium::ALL.len()] {
    let fill = |medium: Medium| if held.has_medium(medium) { held.fill(medium) } else { 0 };
    let mut order = Medium::BY_SPEED.map(|medium| match medium == last {
        true => ((fill(medium), 0), medium),
        false => ((fill(medium) + FULLER, 1), medium),
    });
    order.sort_by_key(|&(rank, _)| rank);
    order.map(|(_, medium)| medium)
}

/// Where a block goes that is written anew beside what clients write, since it is to leave its place on a medium: it stays on that if
/// its volume wants no other, and unless more is there than should be.
pub(crate) fn lane_of_moved(reactor: &Reactor, volume: &VolumeState, lba: Lba, from: Medium) -> Lane {
    let held = &reactor.shared.held;
    let wanted = match volume.constraint {
        Constraint::Only(medium) => return Lane::Clients(medium),
        Constraint::Prefers(medium) => medium,
        Constraint::Hybrid(tiers) if from != tiers.fast() => tiers.slow(),
        Constraint::Hybrid(_) => cools_to(reactor, volume, lba, from).unwrap_or(from),
        Constraint::None => from,
    };
    let fits = |medium: &Medium| match *medium == from {
        true => held.has_medium(from) && held.on(from) <= held.usable_on(from),
        false => held.has_room_on(*medium, volume.controller.page_blocks()),
    };
    let nearest = || from.nearest_first().into_iter().find(|&medium| held.has_medium(medium)).unwrap_or(from);
    Lane::Clients(volume.constraint.offers(wanted).into_iter().find(fits).unwrap_or_else(nearest))
}

/// The medium to which a block of a hybrid volume that is to be written anew should leave the faster one: its range is not hot, and there
/// is room.
pub(crate) fn cools_to(reactor: &Reactor, volume: &VolumeState, lba: Lba, from: Medium) -> Option<Medium> {
    let is_hot = reactor.shared.temperatures.as_ref().is_some_and(|of| of.is_hot(volume.id, lba));
    if is_hot { None } else { below(reactor, volume, from) }
}

/// Where what leaves the faster medium of a hybrid volume finds room: on the slower one, or when that is full on whatever else is slower
/// than the faster one.
pub(crate) fn below(reactor: &Reactor, volume: &VolumeState, from: Medium) -> Option<Medium> {
    let tiers = volume.constraint.tiers().filter(|tiers| tiers.fast() == from)?;
    let has_room = |&on: &Medium| reactor.shared.held.has_room_on(on, volume.controller.page_blocks());
    volume.constraint.offers(tiers.slow()).into_iter().filter(|&on| from.is_faster_than(on)).find(has_room)
}

/// The lanes that may take a record of a discard, the best first: records are of no medium.
pub(crate) fn lanes_of_discards(reactor: &Reactor, volume: &VolumeState) -> impl Iterator<Item = Lane> {
    let held = &reactor.shared.held;
    let first = held.only_medium().or(volume.constraint.medium()).unwrap_or(reactor.last_medium.get());
    let there = volume.constraint.offers(first).into_iter().filter(|&medium| held.has_medium(medium));
    there.map(Lane::Clients)
}

/// Notes what a client has written to a lane.
#[inline]
pub(crate) fn note(reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba, blocks: u64, lane: Lane) {
    room::is_wanted_by(reactor, volume);
    // A hard constraint is never left.
    if volume.constraint.medium().is_some_and(|medium| lane.medium() != Some(medium)) {
        count(&reactor.shared.totals.fell_back, blocks);
    }
    let Some(heat) = &reactor.shared.heat else { return };
    heat.goes_on(read(&reactor.shared.totals.client_written), reactor.shared.held.blocks());
    heat.note(volume.id, lba, blocks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::held::Usable;

    #[test]
    fn the_emptiest_medium_comes_first_and_the_last_one_keeps_its_turn_for_a_while() {
        let held = Held::new(Usable([Some(2560), Some(2560), None, Some(2560)]));
        held.count_media();
        held.add(600);
        for (medium, blocks) in [(Medium::Flash, 300), (Medium::Disk, 200), (Medium::Smr, 100)] {
            held.come_to(medium, blocks);
        }
        let there = |last| {
            let order = emptiest_first(&held, last).into_iter().filter(|&medium| held.has_medium(medium));
            order.collect::<Vec<_>>()
        };
        assert_eq!(there(Medium::Flash), [Medium::Smr, Medium::Disk, Medium::Flash]);
        assert_eq!(there(Medium::Nvm), [Medium::Smr, Medium::Disk, Medium::Flash], "no group is there any more");
        held.come_to(Medium::Smr, 140);
        held.add(140);
        assert_eq!(there(Medium::Smr), [Medium::Smr, Medium::Disk, Medium::Flash], "only a little fuller");
        assert_eq!(there(Medium::Disk), [Medium::Disk, Medium::Smr, Medium::Flash]);
    }
}
