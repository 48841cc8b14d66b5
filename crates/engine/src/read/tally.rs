//! What clients' reads count. Each reactor has a tally of its own and alone writes to it, so a read neither locks the memory bus
//! nor waits for a cache line that another core has; whoever wants a sum adds up all tallies.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cygnus_format::{MAX_GROUPS, MAX_MEMBERS};
use cygnus_types::{GroupId, MemberIx, Nanos, ReactorId};

use crate::clean::throttle::{STEPS, step_of};

/// The tally of one reactor, apart from those of others by two cache lines, since processors fetch lines in pairs.
#[repr(align(128))]
pub(crate) struct ReadTally {
    /// Blocks that clients asked for.
    blocks: AtomicU64,
    /// Bytes of that asked of each member.
    members: Box<[AtomicU64; MAX_MEMBERS]>,
    groups: Box<[Waits; MAX_GROUPS]>,
    /// Writes that are answered when members have them.
    answers: Waits,
    /// Reads by how long they waited for devices.
    waited: Box<[AtomicU32; STEPS]>,
}

/// What clients have waited for, as the reads of a group; both wrap around.
#[derive(Default)]
struct Waits {
    begun: AtomicU32,
    ended: AtomicU32,
}

impl Waits {
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

impl ReadTally {
    fn new() -> Self {
        Self {
            blocks: AtomicU64::new(0),
            members: Box::new([const { AtomicU64::new(0) }; MAX_MEMBERS]),
            groups: Box::new(std::array::from_fn(|_| Waits::default())),
            answers: Waits::default(),
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

    pub(crate) fn answer_is_due(&self) {
        step(&self.answers.begun);
    }

    pub(crate) fn answered(&self) {
        step(&self.answers.ended);
    }
}

/// The tallies of all reactors.
pub(crate) struct ReadTallies(Box<[ReadTally]>);

impl ReadTallies {
    pub(crate) fn new(reactors: usize) -> Self {
        Self((0..reactors).map(|_| ReadTally::new()).collect())
    }

    /// The one that a reactor writes, and nobody else.
    pub(crate) fn of(&self, reactor: ReactorId) -> &ReadTally {
        &self.0[usize::from(reactor.0)]
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.0.iter().map(|tally| tally.blocks.load(Ordering::Relaxed)).sum()
    }

    /// Bytes that clients' reads asked of a member since the array was opened, whichever device it had.
    pub(crate) fn bytes_from(&self, member: MemberIx) -> u64 {
        self.0.iter().map(|tally| tally.members[member.index()].load(Ordering::Relaxed)).sum()
    }

    /// Reads begun in a group; wraps around.
    pub(crate) fn begun(&self, group: GroupId) -> u32 {
        let begun = |tally: &ReadTally| tally.groups[group.index()].begun.load(Ordering::Relaxed);
        self.0.iter().map(begun).fold(0, u32::wrapping_add)
    }

    /// Reads under way in a group.
    pub(crate) fn under_way(&self, group: GroupId) -> u32 {
        self.0.iter().map(|tally| tally.groups[group.index()].under_way()).sum()
    }

    /// Writes begun that are answered when members have them; wraps around.
    pub(crate) fn answers_begun(&self) -> u32 {
        self.0.iter().map(|tally| tally.answers.begun.load(Ordering::Relaxed)).fold(0, u32::wrapping_add)
    }

    /// The same that are not answered.
    pub(crate) fn answers_under_way(&self) -> u32 {
        self.0.iter().map(|tally| tally.answers.under_way()).sum()
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
        let tallies = ReadTallies::new(2);
        tallies.of(ReactorId(0)).asked_for(3);
        tallies.of(ReactorId(1)).asked_for(4);
        tallies.of(ReactorId(0)).read_from(MemberIx(7), 4096);
        tallies.of(ReactorId(1)).read_from(MemberIx(7), 4096);
        let group = GroupId(1);
        tallies.of(ReactorId(0)).begins(group);
        tallies.of(ReactorId(1)).begins(group);
        tallies.of(ReactorId(0)).ends(group);
        assert_eq!((tallies.blocks(), tallies.bytes_from(MemberIx(7)), tallies.bytes_from(MemberIx(6))), (7, 8192, 0));
        assert_eq!((tallies.begun(group), tallies.under_way(group), tallies.under_way(GroupId(0))), (2, 1, 0));
    }

    #[test]
    fn what_begins_wraps_around_and_is_still_under_way() {
        let tallies = ReadTallies::new(1);
        let reads = &tallies.0[0].groups[0];
        reads.begun.store(u32::MAX, Ordering::Relaxed);
        reads.ended.store(u32::MAX, Ordering::Relaxed);
        tallies.of(ReactorId(0)).begins(GroupId(0));
        assert_eq!((tallies.begun(GroupId(0)), tallies.under_way(GroupId(0))), (0, 1));
    }
}
