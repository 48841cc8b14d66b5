//! What clients read, and what they wait for. Each reactor has a tally of its own and alone writes to it, so a read neither locks the
//! memory bus nor waits for a cache line that another core has; whoever wants a sum adds up all tallies.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cygnus_format::{MAX_GROUPS, MAX_MEMBERS};
use cygnus_types::{GroupId, MemberIx, Nanos, ReactorId};

use crate::clean::throttle::{STEPS, step_of};

/// The tally of one reactor, apart from those of others by two cache lines, since processors fetch lines in pairs.
#[repr(align(128))]
pub(crate) struct ClientTally {
    /// Blocks that clients asked for.
    blocks: AtomicU64,
    /// Bytes of that asked of each member.
    members: Box<[AtomicU64; MAX_MEMBERS]>,
    groups: Box<[Waits; MAX_GROUPS]>,
    /// Answers to writes and flushes.
    answers: [Waits; 2],
    /// Reads by how long they waited for devices.
    waited: Box<[AtomicU32; STEPS]>,
}

/// An answer that clients get when devices have done something.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    /// To a write: members have it.
    Write,
    /// To a flush: all that was written is durable.
    Flush,
}

/// How often clients have waited, as for reads of a group; both wrap around.
#[derive(Default)]
struct Waits {
    begun: AtomicU32,
    ended: AtomicU32,
}

impl Waits {
    fn begun(&self) -> u32 {
        self.begun.load(Ordering::Relaxed)
    }

    fn under_way(&self) -> u32 {
        // Ended first: what ends meanwhile counts as under way, and never more have ended than begun.
        let ended = self.ended.load(Ordering::Acquire);
        self.begun.load(Ordering::Acquire).wrapping_sub(ended)
    }
}

/// Adds to a counter that no other thread writes.
fn add(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

/// The same, one more.
fn step(counter: &AtomicU32) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

impl ClientTally {
    fn new() -> Self {
        Self {
            blocks: AtomicU64::new(0),
            members: Box::new([const { AtomicU64::new(0) }; MAX_MEMBERS]),
            groups: Box::new(std::array::from_fn(|_| Waits::default())),
            answers: Default::default(),
            waited: Box::new([const { AtomicU32::new(0) }; STEPS]),
        }
    }

    #[inline]
    pub(crate) fn asked_for(&self, blocks: usize) {
        add(&self.blocks, blocks as u64);
    }

    #[inline]
    pub(crate) fn read_from(&self, member: MemberIx, bytes: usize) {
        add(&self.members[member.index()], bytes as u64);
    }

    #[inline]
    pub(crate) fn waited(&self, time: Nanos) {
        step(&self.waited[step_of(time)]);
    }

    #[inline]
    pub(crate) fn begins(&self, group: GroupId) {
        step(&self.groups[group.index()].begun);
    }

    #[inline]
    pub(crate) fn ends(&self, group: GroupId) {
        step(&self.groups[group.index()].ended);
    }

    /// A client waits for an answer for as long as there is the mark.
    pub(crate) fn awaits(&self, answer: Answer) -> AnswerMark<'_> {
        step(&self.answers[answer as usize].begun);
        AnswerMark { tally: self, answer }
    }

    /// The waits that meet with cleaning in a group: for its reads, for flushes, which are of all devices, and for writes if these go there.
    fn meeting(&self, group: GroupId, is_written_to: bool) -> impl Iterator<Item = &Waits> {
        let [writes, flushes] = &self.answers;
        [&self.groups[group.index()], flushes].into_iter().chain(is_written_to.then_some(writes))
    }
}

/// Counts an answer that a client waits for while it lasts, so that cleaning hurries less.
pub(crate) struct AnswerMark<'a> {
    tally: &'a ClientTally,
    answer: Answer,
}

impl Drop for AnswerMark<'_> {
    fn drop(&mut self) {
        step(&self.tally.answers[self.answer as usize].ended);
    }
}

/// The tallies of all reactors.
pub(crate) struct ClientTallies(Box<[ClientTally]>);

impl ClientTallies {
    pub(crate) fn new(reactors: usize) -> Self {
        Self((0..reactors).map(|_| ClientTally::new()).collect())
    }

    /// The one that a reactor writes, and nobody else.
    pub(crate) fn of(&self, reactor: ReactorId) -> &ClientTally {
        &self.0[usize::from(reactor.0)]
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.0.iter().map(|tally| tally.blocks.load(Ordering::Relaxed)).sum()
    }

    /// Bytes that clients' reads asked of a member since the array was opened, whichever device it had.
    pub(crate) fn bytes_from(&self, member: MemberIx) -> u64 {
        self.0.iter().map(|tally| tally.members[member.index()].load(Ordering::Relaxed)).sum()
    }

    /// Reads under way in a group.
    pub(crate) fn under_way(&self, group: GroupId) -> u32 {
        self.0.iter().map(|tally| tally.groups[group.index()].under_way()).sum()
    }

    /// How often clients have waited for what cleaning in a group may hold up, wrapping around, and whether some do now.
    pub(crate) fn waits(&self, group: GroupId, is_written_to: bool) -> (u32, bool) {
        let all = || self.0.iter().flat_map(|tally| tally.meeting(group, is_written_to));
        (all().map(Waits::begun).fold(0, u32::wrapping_add), all().any(|waits| waits.under_way() > 0))
    }

    /// Reads by how long they waited for devices, since the array was opened; each count wraps around.
    pub(crate) fn waited(&self) -> [u32; STEPS] {
        std::array::from_fn(|step| {
            self.0.iter().fold(0, |sum: u32, tally| sum.wrapping_add(tally.waited[step].load(Ordering::Relaxed)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_over_all_reactors() {
        let tallies = ClientTallies::new(2);
        tallies.of(ReactorId(0)).asked_for(3);
        tallies.of(ReactorId(1)).asked_for(4);
        tallies.of(ReactorId(0)).read_from(MemberIx(7), 4096);
        tallies.of(ReactorId(1)).read_from(MemberIx(7), 4096);
        let group = GroupId(1);
        tallies.of(ReactorId(0)).begins(group);
        tallies.of(ReactorId(1)).begins(group);
        tallies.of(ReactorId(0)).ends(group);
        assert_eq!((tallies.blocks(), tallies.bytes_from(MemberIx(7)), tallies.bytes_from(MemberIx(6))), (7, 8192, 0));
        assert_eq!((tallies.under_way(group), tallies.under_way(GroupId(0))), (1, 0));
    }

    #[test]
    fn cleaning_meets_with_flushes_and_with_what_goes_to_its_group() {
        let tallies = ClientTallies::new(2);
        let [here, there] = [GroupId(1), GroupId(2)];
        tallies.of(ReactorId(0)).begins(there);
        let write = tallies.of(ReactorId(1)).awaits(Answer::Write);
        assert_eq!((tallies.waits(here, false), tallies.waits(here, true)), ((0, false), (1, true)));
        let flush = tallies.of(ReactorId(0)).awaits(Answer::Flush);
        assert_eq!((tallies.waits(here, false), tallies.waits(there, true)), ((1, true), (3, true)));
        drop((write, flush));
        assert_eq!((tallies.waits(here, true), tallies.waits(there, true)), ((2, false), (3, true)));
    }

    #[test]
    fn what_begins_wraps_around_and_is_still_under_way() {
        let tallies = ClientTallies::new(1);
        let reads = &tallies.0[0].groups[0];
        reads.begun.store(u32::MAX, Ordering::Relaxed);
        reads.ended.store(u32::MAX, Ordering::Relaxed);
        tallies.of(ReactorId(0)).begins(GroupId(0));
        assert_eq!((tallies.waits(GroupId(0), false), tallies.under_way(GroupId(0))), ((0, true), 1));
    }
}
