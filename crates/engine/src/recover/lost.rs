//! Recovery, step "account": whether everything that was durable has been found.
//!
//! A power cut may take whatever no flush covered, so a chain of stripes that ends says nothing by itself. Three things tell
//! that something durable is gone, and that what it replaced must not be shown in its place:
//!
//! * *Numbers.* Stripes are numbered without gaps over the array, and each says below which number all were durable when it
//!   was written. Segments are given back only when a checkpoint covers their stripes, or the superblocks say from which
//!   number on all must be there. A number that is missing was lost.
//! * *Spoiled headers.* A header that was never written leaves what was there before. One that was written, and of which a
//!   device delivers nothing or bits have changed, does not look like that. This holds for what the last flush covered
//!   too, which no later stripe tells of.
//! * *Unknown entries.* A stripe is there, and every copy of what it says of one of its columns is spoiled.
//! * *Backups.* Of what open stripes held copies were durable, and they are not there ([`crate::recover::backups`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use cygnus_format::{GroupState, Place, StripeCommon};
use cygnus_types::MemberIx;

use crate::error::ArrayError;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::scan::SpoiledCopy;
use crate::recover::behind::Behind;
use crate::space::segments::SegIx;

/// Places that a message names; more are counted.
const NAMED: usize = 6;

/// What was durable and is not known any more.
#[derive(Default)]
pub(crate) struct Lost {
    /// Sequences of stripes that are not there.
    missing: Vec<RangeInclusive<u64>>,
    /// Headers that may be those of durable stripes.
    pub spoiled: Vec<SpoiledCopy>,
    /// Stripes, and the column of which they do not tell what it holds.
    unknown: Vec<(StripeCommon, u8)>,
    /// Copies of what open stripes held that are not there, in words.
    backups: Vec<String>,
}

impl Lost {
    pub(crate) fn is_nothing(&self) -> bool {
        let nothing = self.missing.is_empty() && self.spoiled.is_empty() && self.unknown.is_empty();
        nothing && self.backups.is_empty() || planted::is(Bug::LossIsOverlooked)
    }

    /// Adds the stripes that should be among those found, counted from a sequence on; headers `beyond` the chains' ends are
    /// not found, but tell of others.
    pub(crate) fn count(&mut self, stripes: &[Behind], beyond: &[StripeCommon], from: u64) {
        let found = stripes.iter().map(|stripe| &stripe.common);
        self.missing.extend(missing(found, beyond, from));
    }

    /// Adds copies of a header that may be a durable stripe's.
    pub(crate) fn add_spoiled(&mut self, copies: Vec<SpoiledCopy>) {
        self.spoiled.extend(copies);
    }

    /// Adds the columns of a stripe of which nobody knows what they hold; `is_whole` if all of it must be there.
    pub(crate) fn add_unknown(&mut self, stripe: &Behind, is_whole: bool) {
        self.unknown.extend(stripe.unknown_columns(is_whole).map(|column| (stripe.common, column)));
    }

    /// Adds what was durable in open stripes and is not there, in words.
    pub(crate) fn add_backups(&mut self, words: impl IntoIterator<Item = String>) {
        self.backups.extend(words);
    }

    /// Whether something is lost, and all of it was in stripes with sequences below `opened`.
    pub(crate) fn is_older_than(&self, opened: u64) -> bool {
        let missing = self.missing.iter().map(|range| *range.end());
        let unknown = self.unknown.iter().map(|(common, _)| common.stripe_seq);
        // Of what was where a header is spoiled, or in copies that are not there, nothing is known.
        self.spoiled.is_empty()
            && self.backups.is_empty()
            && missing.chain(unknown).max().is_some_and(|newest| newest < opened)
    }

    pub(crate) fn segments_of_spoiled(&self, reactor: &Reactor) -> BTreeSet<SegIx> {
        let segment = |copy: &SpoiledCopy| reactor.shared.segments.index(copy.place.group, copy.place.segment);
        self.spoiled.iter().map(segment).collect()
    }

    /// Each thing that is lost, in words, and where it was.
    pub(crate) fn describe(&self, reactor: &Reactor) -> Vec<String> {
        let at = |place: Place| {
            let offset = reactor.shared.layout.geometry().device_offset(place.segment.0, place.row);
            format!("{} at byte {offset}", reactor.shared.member(place.group, place.column).1.name())
        };
        let missing = self.missing.iter().map(|range| match range.end() - range.start() {
            0 => format!("stripe {} was durable, and no header leads to it", range.start()),
            more => format!("{} stripes from {} on were durable, and no header leads to them", more + 1, range.start()),
        });
        let spoiled = self.spoiled.iter().map(|copy| copy.describe(&reactor.shared));
        let unknown = self.unknown.iter().map(|(common, column)| {
            let place = Place { group: common.group, segment: common.segment, column: *column, row: common.start_row };
            let (group, segment, seq) = (common.group, common.segment, common.stripe_seq);
            format!("{}: all copies of what stripe {seq} of {group} {segment} holds there are spoiled", at(place))
        });
        missing.chain(spoiled).chain(unknown).chain(self.backups.iter().cloned()).collect()
    }

    /// Why the array is not opened, what may be concerned, and what helps.
    pub(crate) fn error(&self, reactor: &Reactor) -> ArrayError {
        let mut what = self.describe(reactor);
        let more = what.len().saturating_sub(NAMED);
        what.truncate(NAMED);
        if more > 0 {
            what.push(format!("and {more} more like these"));
        }
        ArrayError::Lost { what: what.join("; "), volumes: volume_names(reactor), remedy: remedy(reactor) }
    }
}

/// What the stripes of a session tell.
#[derive(Default)]
struct Told {
    /// Sequences of those that were found.
    found: BTreeSet<u64>,
    /// Below this sequence all were durable.
    durable: u64,
}

/// Sequences from one on of stripes that should be among those found, and are not.
///
/// A session numbers on behind a gap. Where an opening gave something up and was cut short before its checkpoint, its session and
/// the one before are both counted, and the gap between them is no stripe that was lost. Such an opening wrote nothing but
/// blocks that are still where they came from: that its first stripes are gone, in the gap's place, loses nothing.
fn missing<'a>(
    found: impl Iterator<Item = &'a StripeCommon>,
    beyond: &'a [StripeCommon],
    from: u64,
) -> Vec<RangeInclusive<u64>> {
    let mut sessions: BTreeMap<u64, Told> = BTreeMap::new();
    let found = found.map(|common| (common, true)).chain(beyond.iter().map(|common| (common, false)));
    for (common, is_found) in found.filter(|(common, _)| common.stripe_seq >= from) {
        let told = sessions.entry(common.session).or_default();
        told.durable = told.durable.max(common.durable);
        if is_found {
            told.found.insert(common.stripe_seq);
        }
    }
    let (mut missing, mut from) = (Vec::new(), Some(from));
    for Told { found, durable } in sessions.into_values() {
        let Some(mut next) = from.take().or(found.first().copied()) else { continue };
        for seq in found.range(..durable).copied().chain([durable]) {
            if seq > next {
                missing.push(next..=seq - 1);
            }
            next = seq + 1;
        }
    }
    missing
}

/// The volumes, for people.
pub(crate) fn volume_names(reactor: &Reactor) -> String {
    let names: Vec<String> = reactor.shared.volumes().iter().map(|volume| volume.name.clone()).collect();
    names.join(", ")
}

/// What may bring back what is lost: members that are away come first.
pub(crate) fn remedy(reactor: &Reactor) -> String {
    let layout = &reactor.shared.layout;
    let in_service = |ix: &usize| {
        let (group, _) = layout.column_of(MemberIx(*ix as u16));
        reactor.shared.group_state(group) != GroupState::Retired
    };
    let away = |ix: &usize| reactor.device_in_service(MemberIx(*ix as u16)).is_none();
    let names: Vec<String> = (0..reactor.shared.members.len())
        .filter(in_service)
        .filter(away)
        .map(|ix| format!("member {ix} ({})", reactor.shared.members[ix].name()))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("bring back {}, which may have it, and open again; or ", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::unflushed::tests::common;

    fn of(session: u64, stripe_seq: u64, durable: u64) -> StripeCommon {
        StripeCommon { session, stripe_seq, durable, ..common(stripe_seq) }
    }

    #[test]
    fn numbers_that_were_durable_are_missed() {
        let none = missing([of(3, 10, 10), of(3, 11, 10)].iter(), &[], 10);
        assert_eq!(none, []);
        let one = missing([of(3, 10, 10), of(3, 12, 12), of(3, 14, 12)].iter(), &[], 10);
        assert_eq!(one, [11..=11], "what no mark covers may be gone");
        let by_beyond = missing([of(3, 10, 10)].iter(), &[of(3, 15, 13)], 10);
        assert_eq!(by_beyond, [11..=12]);
        assert_eq!(missing([of(3, 10, 10), of(3, 12, 12)].iter(), &[], 11), [11..=11]);
        assert_eq!(missing([of(3, 5, 5)].iter(), &[], 10), [], "none of those that count tells anything");
    }

    /// A session begins behind a gap: an opening that gave something up and was cut short has not lost the numbers in the gap.
    #[test]
    fn the_gap_between_two_sessions_is_not_missed() {
        let before = [of(3, 10, 10), of(3, 12, 12)];
        let both = || before.iter().copied().chain([of(4, 1000, 1000), of(4, 1001, 1000), of(4, 1003, 1003)]);
        assert_eq!(missing(before.iter(), &[], 10), [11..=11]);
        assert_eq!(missing(both().collect::<Vec<_>>().iter(), &[], 10), [11..=11, 1002..=1002]);
        let of_the_second_only = [of(4, 1000, 1000)];
        assert_eq!(missing(of_the_second_only.iter(), &[], 10), [10..=999], "all that was counted is gone");
    }
}
