//! What a reactor keeps in the transient areas of members: backup copies of what its open stripes hold, each until its stripe is
//! durable with its parity (ScalaAFA, section 3.2).
//!
//! Every reactor has a part of each member's area to itself, so nobody need be asked for room. It writes its part over and
//! over, like a log. A place is used again only when a durable backup says that what was there is needed no more: so an
//! opening that misses a backup can tell whether it was overwritten or is lost. A part that is full could not say that any more, so the
//! last quarter is for backups that say of earlier ones that they are needed no more.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use cygnus_types::MemberIx;

use crate::planted::{self, Bug};
use crate::write::lane::Lane;

/// One block in so many of a reactor's part is for backups that say something new of earlier ones.
const KEPT: u32 = 4;

/// Blocks that an area has at least: those of a copy of some blocks, with what describes it, beside those that are kept free.
pub(crate) const LEAST_BLOCKS: u32 = 8;

/// A reactor's part of one member's area.
struct Ring {
    part: Range<u32>,
    /// Where the next backup goes.
    head: u32,
    /// Backups whose places are taken, oldest first: number, and first block.
    taken: VecDeque<(u64, u32)>,
}

impl Ring {
    fn new(part: Range<u32>) -> Self {
        Self { head: part.start, part, taken: VecDeque::new() }
    }

    fn release_below(&mut self, number: u64) {
        while self.taken.front().is_some_and(|(oldest, _)| *oldest < number) {
            self.taken.pop_front();
        }
    }

    /// Where so many blocks would go, with `left` more behind them.
    fn room_for(&self, blocks: u32, left: u32) -> Option<u32> {
        let fits = |from: u32, to: u32| (from + blocks + left <= to).then_some(from);
        match self.taken.front() {
            None => fits(self.part.start, self.part.end),
            Some(&(_, tail)) if self.head > tail => {
                fits(self.head, self.part.end).or_else(|| fits(self.part.start, tail))
            }
            Some(&(_, tail)) => fits(self.head, tail),
        }
    }

    /// Blocks from the oldest backup that is needed to the newest.
    fn used(&self) -> u32 {
        match self.taken.front() {
            None => 0,
            Some(&(_, tail)) if self.head > tail => self.head - tail,
            Some(&(_, tail)) => self.part.end - self.part.start - (tail - self.head),
        }
    }

    fn take(&mut self, number: u64, at: u32, blocks: u32) {
        self.taken.push_back((number, at));
        self.head = at + blocks;
    }

    /// A backup lies in a place that an earlier one took: the place is needed as long as either is.
    fn hold(&mut self, number: u64, at: u32) {
        let holds = self.taken.iter_mut().filter(|(_, first)| *first <= at).max_by_key(|(_, first)| *first);
        let (holder, _) = holds.expect("the place was taken, and is needed by an open stripe");
        if !planted::is(Bug::HeldForTheFirst) {
            *holder = number;
        }
    }
}

/// Room that a backup wants on a member.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// So many blocks.
    Blocks(MemberIx, u32),
    /// None: it lies at this block, in a place that an earlier backup of its stripe took.
    Within(MemberIx, u32),
}

/// A backup that was written, or tried.
struct Listed {
    number: u64,
    /// The stream that its stripe is of.
    lane: Lane,
    /// The stripe's sequence, once it is closed.
    stripe: Option<u64>,
    /// Not every copy was taken: nobody may be told that it is durable.
    is_partial: bool,
}

/// What a backup says of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub number: u64,
    pub released: u64,
    pub durable: u64,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Transient {
    /// Whether it was said already that the copies of a whole stripe have no room.
    is_told: bool,
    rings: BTreeMap<MemberIx, Ring>,
    next: u64,
    /// Those that are needed still, oldest first.
    listed: VecDeque<Listed>,
    /// By stream: the first backup of its open stripe.
    first: [Option<u64>; Lane::OF_CLIENTS.len()],
    /// What each backup said of those before it: its number, and below which one they were released.
    said: VecDeque<(u64, u64)>,
    /// Below this number all were released, and a durable backup says so.
    reusable: u64,
    /// Those with lower numbers are durable, or were given up.
    durable: u64,
    /// Rounds of flush, and the number below which all were on their devices when the round asked.
    asked: VecDeque<(u64, u64)>,
}

impl Transient {
    /// The open stripe of a stream got its sequence: the stream's backups that are of no stripe yet are of this one.
    pub(crate) fn stripe_closed(&mut self, lane: Lane, seq: u64) {
        let Some(first) = self.first[lane.index()].take() else { return };
        let for_all = planted::is(Bug::ClosedForAll);
        let since = self.listed.iter_mut().rev().take_while(|of| of.number >= first || for_all);
        since.filter(|of| of.lane == lane || for_all).for_each(|of| of.stripe = Some(seq));
    }

    /// The flush with this number makes durable what is on its devices by now.
    pub(crate) fn asked_by_flush(&mut self, round: u64) {
        self.asked.push_back((round, self.whole_below()));
    }

    /// All backups with lower numbers are on their devices.
    fn whole_below(&self) -> u64 {
        self.listed.iter().find(|of| of.is_partial).map_or(self.next, |of| of.number)
    }

    /// Stripes below `durable` are durable, and so is what flushes before `flushed` covered, that one too.
    pub(crate) fn learn(&mut self, durable: u64, flushed: u64) {
        while let Some(&(_, below)) = self.asked.front().filter(|(round, _)| *round <= flushed) {
            self.durable = self.durable.max(below);
            self.asked.pop_front();
        }
        while self.listed.front().is_some_and(|of| of.stripe.is_some_and(|seq| seq < durable)) {
            self.listed.pop_front();
        }
        let before = self.reusable;
        while let Some(&(_, released)) = self.said.front().filter(|(number, _)| *number < self.durable) {
            self.reusable = released;
            self.said.pop_front();
        }
        if self.reusable > before {
            self.rings.values_mut().for_each(|ring| ring.release_below(self.reusable));
        }
    }

    fn released(&self) -> u64 {
        self.listed.front().map_or(self.next, |of| of.number)
    }

    /// Takes room for a backup of a stream's open stripe in the areas of members, of which this reactor's part is `part`; says where it
    /// is. `None`: some member has no room now.
    pub(crate) fn take(&mut self, part: &Range<u32>, lane: Lane, wanted: &[Wanted]) -> Option<(Numbers, Vec<u32>)> {
        let mut places = Vec::with_capacity(wanted.len());
        let said = self.said.back().map_or(self.reusable, |&(_, released)| released);
        let left = if self.released() > said { 0 } else { (part.end - part.start) / KEPT };
        for &wanted in wanted {
            let (member, blocks) = match wanted {
                Wanted::Blocks(member, blocks) => (member, blocks),
                Wanted::Within(_, at) => {
                    places.push(at);
                    continue;
                }
            };
            let ring = self.rings.entry(member).or_insert_with(|| Ring::new(part.clone()));
            ring.release_below(if planted::is(Bug::BackupsOverwritten) { self.next } else { self.reusable });
            places.push(ring.room_for(blocks, left)?);
        }
        let number = self.next;
        self.next += 1;
        let numbers = Numbers { number, released: self.released().min(number), durable: self.durable };
        for (&wanted, &at) in wanted.iter().zip(&places) {
            let (Wanted::Blocks(member, _) | Wanted::Within(member, _)) = wanted;
            let ring = self.rings.get_mut(&member).expect("it has room");
            match wanted {
                Wanted::Blocks(_, blocks) => ring.take(number, at, blocks),
                Wanted::Within(..) => ring.hold(number, at),
            }
        }
        self.first[lane.index()].get_or_insert(number);
        self.listed.push_back(Listed { number, lane, stripe: None, is_partial: true });
        self.said.push_back((number, numbers.released));
        Some((numbers, places))
    }

    /// Whether a backup, and all before it, are durable with the blocks in their places.
    pub(crate) fn is_durable(&self, number: u64) -> bool {
        number < self.durable
    }

    /// Whether a part of an area of so many blocks ever has room for so many in a row.
    pub(crate) fn could_ever_hold(part: u32, blocks: u32) -> bool {
        blocks + part / KEPT <= part
    }

    /// Whether it is to be said that the copies of a whole stripe have no room: once, since that stays so.
    pub(crate) fn is_to_be_told(&mut self) -> bool {
        !std::mem::replace(&mut self.is_told, true)
    }

    /// Blocks of a member's part from the oldest backup that is needed to the newest.
    pub(crate) fn used(&self, member: MemberIx) -> u32 {
        self.rings.get(&member).map_or(0, Ring::used)
    }

    /// Of the room that copies may take, the percentage that is free, on the member where that is least.
    pub(crate) fn free_percent(&self) -> u32 {
        let free = |ring: &Ring| {
            let part = ring.part.end - ring.part.start;
            let room = part - part / KEPT;
            100 - (100 * ring.used() / room.max(1)).min(100)
        };
        self.rings.values().map(free).min().unwrap_or(100)
    }

    /// Whether a flush is due for the sake of room: some member's area is half full, and the flush would bring room. Each reactor is
    /// asked to settle in each flush and looks at its own room then, so flushes that bring none would follow each other for ever.
    pub(crate) fn wants_flush(&self) -> bool {
        let is_half_full = self.rings.values().any(|ring| 2 * ring.used() > ring.part.end - ring.part.start);
        is_half_full && (self.awaits_stripe() || self.awaits_word())
    }

    /// Whether the oldest backup is needed only until its stripe, which is closed, is durable.
    fn awaits_stripe(&self) -> bool {
        self.listed.front().is_some_and(|of| of.stripe.is_some())
    }

    /// Whether a backup on its devices says more of earlier ones than durable backups do.
    fn awaits_word(&self) -> bool {
        let below = self.whole_below();
        let last = self.said.iter().rev().find(|(number, _)| *number < below);
        last.is_some_and(|&(_, released)| released > self.reusable)
    }

    /// Every copy of a backup is on its device.
    pub(crate) fn is_whole(&mut self, number: u64) {
        if let Some(of) = self.listed.iter_mut().rfind(|of| of.number == number) {
            of.is_partial = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use cygnus_types::Medium;

    use super::*;

    const LANE: Lane = Lane::Clients(Medium::Flash);

    fn one(
        transient: &mut Transient,
        part: &Range<u32>,
        blocks: u32,
        durable: u64,
        flushed: u64,
    ) -> Option<(Numbers, u32)> {
        transient.learn(durable, flushed);
        let (numbers, places) = transient.take(part, LANE, &[Wanted::Blocks(MemberIx(3), blocks)])?;
        transient.is_whole(numbers.number);
        Some((numbers, places[0]))
    }

    #[test]
    fn room_comes_back_when_a_durable_backup_says_so() {
        let (part, mut t) = (10..20, Transient::default());
        assert_eq!(one(&mut t, &part, 4, 0, 0).unwrap().1, 10);
        assert_eq!(one(&mut t, &part, 4, 0, 0).unwrap().1, 14);
        t.stripe_closed(LANE, 7);
        assert!(one(&mut t, &part, 4, 7, 0).is_none(), "stripe 7 is not durable");
        let (numbers, at) = one(&mut t, &part, 2, 8, 0).unwrap();
        assert_eq!((numbers, at), (Numbers { number: 2, released: 2, durable: 0 }, 18));
        assert!(one(&mut t, &part, 4, 8, 0).is_none(), "nobody would know that they were released");
        t.asked_by_flush(5);
        assert!(one(&mut t, &part, 4, 8, 4).is_none());
        let (numbers, at) = one(&mut t, &part, 4, 8, 5).unwrap();
        assert_eq!((numbers, at), (Numbers { number: 3, released: 2, durable: 3 }, 10));
    }

    /// One stripe's backups fill the area, so nothing is there that says that they are needed no more.
    #[test]
    fn an_area_that_was_full_is_used_again() {
        let (part, mut t) = (0..16, Transient::default());
        let taken = (0..16).take_while(|_| one(&mut t, &part, 2, 0, 0).is_some()).count();
        assert_eq!(taken, 6);
        t.stripe_closed(LANE, 7);
        t.asked_by_flush(1);
        assert_eq!(one(&mut t, &part, 2, 8, 1).unwrap().0.released, 6);
        t.asked_by_flush(2);
        t.stripe_closed(LANE, 8);
        let taken = (0..16).take_while(|_| one(&mut t, &part, 2, 9, 2).is_some()).count();
        assert!(taken >= 4, "{taken} of the first six places");
    }

    /// Flushes go on only as long as each brings room, whatever is open, failed or on its way.
    #[test]
    fn flushes_for_room_end() {
        proptest!(|(steps in proptest::collection::vec((0..3u8, 1..6u32, any::<bool>()), 1..60))| {
            const LANES: [Lane; 2] = [LANE, Lane::Hot(Medium::Flash)];
            let (part, mut t, mut seq, mut round) = (0..32, Transient::default(), 0, 0);
            for (what, blocks, all) in steps {
                let lane = LANES[usize::from(all)];
                match what {
                    0 => {
                        seq += 1;
                        t.stripe_closed(lane, seq);
                    }
                    _ => {
                        let Some((numbers, _)) = t.take(&part, lane, &[Wanted::Blocks(MemberIx(3), blocks)]) else { continue };
                        if what == 1 {
                            t.is_whole(numbers.number);
                        }
                    }
                }
            }
            // Only what a flush makes durable can change anything from here on.
            for _ in 0..4 {
                round += 1;
                t.asked_by_flush(round);
                t.learn(seq + 1, round);
            }
            prop_assert!(!t.wants_flush());
        });
    }

    /// A stream whose stripe stays open keeps its copies, and the room of all that were made after them.
    #[test]
    fn a_stripe_that_ends_takes_only_its_own_streams_copies() {
        const HOT: Lane = Lane::Hot(Medium::Flash);
        let (part, mut t) = (0..100, Transient::default());
        let backup = |t: &mut Transient, lane, durable| {
            t.learn(durable, 0);
            t.take(&part, lane, &[Wanted::Blocks(MemberIx(3), 1)]).unwrap().0.released
        };
        assert_eq!(backup(&mut t, LANE, 0), 0);
        assert_eq!(backup(&mut t, HOT, 0), 0);
        t.stripe_closed(HOT, 7);
        assert_eq!(backup(&mut t, HOT, 8), 0, "backup 0 is of a stripe that is open");
        t.stripe_closed(LANE, 8);
        assert_eq!(backup(&mut t, LANE, 9), 2, "backup 2 is of the next hot stripe");
        t.stripe_closed(HOT, 9);
        assert_eq!(backup(&mut t, HOT, 10), 3);
    }

    /// The backup between them is of another stream. It may be needed no more while the later one is.
    #[test]
    fn a_place_is_needed_as_long_as_any_backup_that_lies_there() {
        let mut ring = Ring::new(0..20);
        ring.take(4, 0, 8);
        ring.take(5, 8, 2);
        ring.hold(6, 3);
        ring.release_below(6);
        assert_eq!((ring.used(), ring.room_for(8, 0)), (10, Some(10)), "number 6 lies at block 3");
        ring.take(7, 10, 8);
        ring.hold(8, 11);
        ring.release_below(7);
        assert_eq!((ring.used(), ring.room_for(8, 0)), (8, Some(0)));
        ring.take(9, 0, 8);
        ring.hold(10, 17);
        ring.release_below(10);
        assert_eq!(ring.used(), 18, "what lies behind the head is held too");
        ring.release_below(11);
        assert_eq!(ring.used(), 0);
    }

    #[test]
    fn what_not_every_member_took_is_not_called_durable() {
        let (part, mut t) = (0..100, Transient::default());
        one(&mut t, &part, 1, 0, 0).unwrap();
        t.take(&part, LANE, &[Wanted::Blocks(MemberIx(3), 1)]).unwrap();
        t.asked_by_flush(1);
        let (numbers, _) = one(&mut t, &part, 1, 0, 1).unwrap();
        assert_eq!(numbers.durable, 1);
        t.stripe_closed(LANE, 4);
        let (numbers, _) = one(&mut t, &part, 1, 5, 1).unwrap();
        assert_eq!((numbers.released, numbers.durable), (3, 1), "its stripe is durable, and nobody needs it");
    }

    proptest! {
        /// Whatever happens, no place is used twice while it is needed, nor before a durable backup says that it is not.
        #[test]
        fn places_do_not_overlap(steps in prop::collection::vec((0..4_u8, 1..6_u32), 1..200)) {
            let (part, mut t) = (5..45, Transient::default());
            let (mut stripe, mut durable, mut round) = (1, 1, 0);
            let mut said: BTreeMap<u64, Numbers> = BTreeMap::new();
            let mut placed: Vec<(u64, Range<u32>)> = Vec::new();
            let mut covered = 0;
            for (what, blocks) in steps {
                match what {
                    0 => { t.stripe_closed(LANE, stripe); stripe += 1 }
                    1 => {
                        durable = stripe;
                        round += 1;
                        t.asked_by_flush(round);
                        covered = said.len() as u64;
                    }
                    _ => if let Some((numbers, at)) = one(&mut t, &part, blocks, durable, round) {
                        let range = at..at + blocks;
                        prop_assert!(part.start <= range.start && range.end <= part.end);
                        let known = said.range(..covered).map(|(_, said)| said.released).max().unwrap_or(0);
                        placed.retain(|(number, _)| *number >= known);
                        for (_, other) in &placed {
                            prop_assert!(range.end <= other.start || other.end <= range.start);
                        }
                        placed.push((numbers.number, range));
                        said.insert(numbers.number, numbers);
                    }
                }
            }
        }
    }
}
