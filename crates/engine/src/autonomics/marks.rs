//! What the reactors tell each other of contention, and count of what they did about it.
//!
//! Each reactor judges by what its own requests meet ([`crate::autonomics::sight`]); what it finds is marked here with the time until
//! which it holds, so that nobody need take a mark away. All of it is written when something is found, not for each request.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cygnus_policy::{AutonomicsRule, Decision, DecisionCounts, OutcomeCounts};
use cygnus_runtime::DeviceIx;
use cygnus_types::{GroupId, Lba, Nanos, VolumeId};

use crate::autonomics::links::Links;
use crate::counters::{count, read};
use crate::planted::{self, Bug};

/// Places that remember when a block was moved. Blocks that share one rest together, so a block may have to stay a while longer;
/// none ever moves too soon.
const REMEMBERED: usize = 1 << 14;

/// See the module's text.
pub(crate) struct Marks {
    pub links: Links,
    /// As one reactor goes by it.
    pub rule: AutonomicsRule,
    /// By cluster.
    hot_until: Box<[AtomicU64]>,
    /// By device: until when new writes avoid it.
    burdened_until: Box<[AtomicU64]>,
    /// Why, for people.
    why: Mutex<BTreeMap<DeviceIx, String>>,
    moved_at: Box<[AtomicU64]>,
    /// Blocks that have moved there, by cluster.
    given: Box<[AtomicU64]>,
    /// A bit for each group that would give a segment to what moves, as the home reactor last knew.
    roomy: AtomicU64,
    pub counts: Counts,
}

const _: () = assert!(cygnus_format::MAX_GROUPS <= u64::BITS as usize);

/// What became of blocks for one reason.
#[derive(Default)]
struct Outcomes {
    to_cluster: AtomicU64,
    to_module: AtomicU64,
    nowhere_cold: AtomicU64,
    no_sibling: AtomicU64,
    over_budget: AtomicU64,
}

impl Outcomes {
    fn add(&self, more: OutcomeCounts) {
        let OutcomeCounts { to_cluster, to_module, nowhere_cold, no_sibling, over_budget } = more;
        count(&self.to_cluster, to_cluster);
        count(&self.to_module, to_module);
        count(&self.nowhere_cold, nowhere_cold);
        count(&self.no_sibling, no_sibling);
        count(&self.over_budget, over_budget);
    }

    fn read(&self) -> OutcomeCounts {
        OutcomeCounts {
            to_cluster: read(&self.to_cluster),
            to_module: read(&self.to_module),
            nowhere_cold: read(&self.nowhere_cold),
            no_sibling: read(&self.no_sibling),
            over_budget: read(&self.over_budget),
        }
    }
}

/// Blocks, if not said otherwise.
#[derive(Default)]
pub(crate) struct Counts {
    hot_cluster: Outcomes,
    late: Outcomes,
    full_queue: Outcomes,
    /// Not moved: they were a short while ago.
    pub resting: AtomicU64,
    /// Not moved: no stripe had room at once, or clients wait for room.
    pub no_room: AtomicU64,
    /// Read for naive migrations.
    pub read_to_move: AtomicU64,
    /// Not moved: as many were being read for that as may be.
    pub too_many: AtomicU64,
    /// Reads that went around members that lag or share a contended link.
    pub read_around: AtomicU64,
    /// Segments for clients' writes that another group would have given.
    pub steered: AtomicU64,
    /// Segments for clients' writes that ended early, because their group had become burdened.
    pub left: AtomicU64,
}

impl Counts {
    /// Counts a decision about so many blocks.
    pub(crate) fn decided(&self, decision: &Decision, blocks: u32) {
        let mut one = DecisionCounts::default();
        one.count(decision, blocks);
        self.hot_cluster.add(one.hot_cluster);
        self.late.add(one.late);
        self.full_queue.add(one.full_queue);
    }

    pub(crate) fn decisions(&self) -> DecisionCounts {
        DecisionCounts {
            hot_cluster: self.hot_cluster.read(),
            late: self.late.read(),
            full_queue: self.full_queue.read(),
        }
    }
}

fn zeros(count: usize) -> Box<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl Marks {
    pub(crate) fn new(links: Links, rule: AutonomicsRule) -> Self {
        Self {
            hot_until: zeros(links.clusters.len()),
            burdened_until: zeros(links.device_numbers()),
            why: Mutex::default(),
            moved_at: zeros(REMEMBERED),
            given: zeros(links.clusters.len()),
            // Until the home reactor has looked: who asks in vain is told so.
            roomy: AtomicU64::new(u64::MAX),
            counts: Counts::default(),
            links,
            rule,
        }
    }

    /// These groups, and no others, would give a segment to what moves.
    pub(crate) fn have_room(&self, groups: impl Iterator<Item = GroupId>) {
        self.roomy.store(groups.fold(0, |bits, group| bits | 1 << group.index()), Ordering::Relaxed);
    }

    /// Whether a group would give a segment to what moves.
    pub(crate) fn has_room(&self, group: GroupId) -> bool {
        self.roomy.load(Ordering::Relaxed) >> group.index() & 1 == 1
    }

    /// So many blocks have moved to a cluster.
    pub(crate) fn is_given(&self, cluster: usize, blocks: u64) {
        count(&self.given[cluster], blocks);
    }

    /// Blocks that have moved to a cluster.
    pub(crate) fn given(&self, cluster: usize) -> u64 {
        read(&self.given[cluster])
    }

    /// A reactor finds a cluster hot.
    pub(crate) fn is_found_hot(&self, cluster: usize, now: Nanos) {
        self.hot_until[cluster].fetch_max((now + self.rule.rest).0, Ordering::Relaxed);
    }

    /// Whether any reactor found a cluster hot.
    pub(crate) fn is_hot(&self, cluster: usize, now: Nanos) -> bool {
        self.hot_until[cluster].load(Ordering::Relaxed) > now.0
    }

    /// New writes avoid a device from now on; says whether that is new, and why is asked only then.
    pub(crate) fn burden(&self, dev: DeviceIx, now: Nanos, why: impl FnOnce() -> String) -> bool {
        let Some(until) = self.burdened_until.get(usize::from(dev.0)) else { return false };
        let was = until.fetch_max((now + self.rule.avoid_for).0, Ordering::Relaxed);
        let is_new = was <= now.0;
        if is_new {
            self.why.lock().expect("no holder panics").insert(dev, why());
        }
        is_new
    }

    /// Whether new writes avoid a device.
    pub(crate) fn is_burdened(&self, dev: DeviceIx, now: Nanos) -> bool {
        self.burdened_until.get(usize::from(dev.0)).is_some_and(|until| until.load(Ordering::Relaxed) > now.0)
    }

    /// Why new writes avoid a device.
    pub(crate) fn why(&self, dev: DeviceIx, now: Nanos) -> Option<String> {
        self.is_burdened(dev, now).then(|| self.why.lock().expect("no holder panics").get(&dev).cloned())?
    }

    /// Whether so many blocks may move together now, which they may if each of them has rested: blocks of a page move by themselves too.
    /// If so, none of them may again for a while.
    pub(crate) fn may_move(&self, volume: VolumeId, first: Lba, blocks: usize, now: Nanos) -> bool {
        let places = || (0..blocks as u64).map(|n| self.moved_at(volume, first.plus(n)));
        // Zero is for never. Blocks of one page may share a place.
        let has_rested = |at: u64| at == 0 || at == now.0 || self.rule.may_move_again(Nanos(at), now);
        if !places().all(|place| has_rested(place.load(Ordering::Relaxed))) && !planted::is(Bug::MovesUnrested) {
            return false;
        }
        self.has_moved(volume, first, blocks, now);
        true
    }

    /// So many blocks have moved together, or are about to: they rest from now on.
    pub(crate) fn has_moved(&self, volume: VolumeId, first: Lba, blocks: usize, now: Nanos) {
        for n in 0..blocks as u64 {
            self.moved_at(volume, first.plus(n)).store(now.0.max(1), Ordering::Relaxed);
        }
    }

    fn moved_at(&self, volume: VolumeId, lba: Lba) -> &AtomicU64 {
        let spread = (lba.0 ^ u64::from(volume.0) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.moved_at[(spread >> 32) as usize % REMEMBERED]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autonomics::links::Strangers;

    fn marks() -> Marks {
        let devices = [0, 1].map(|n| cygnus_runtime::DeviceInfo {
            ix: DeviceIx(n),
            name: format!("d{n}"),
            size: 0,
            logical_block: 4096,
        });
        Marks::new(Links::resolve(&[], &devices, Strangers::AreRefused).unwrap().0, AutonomicsRule::for_blocks(1 << 30))
    }

    #[test]
    fn a_block_rests_after_it_has_moved() {
        let marks = marks();
        let moves = |lba, at| marks.may_move(VolumeId(3), Lba(lba), 1, Nanos::millis(at));
        assert_eq!(
            [moves(7, 1), moves(7, 1000), moves(8, 1000), moves(7, 1001), moves(7, 2000)],
            [true, false, true, true, false]
        );
    }

    #[test]
    fn a_page_rests_when_any_of_its_blocks_does_and_they_when_it_does() {
        let marks = marks();
        let moves = |lba, blocks, at| marks.may_move(VolumeId(3), Lba(lba), blocks, Nanos::millis(at));
        assert!(moves(16, 16, 1) && !moves(21, 1, 500), "a block of a page that has moved");
        assert!(moves(21, 1, 1500) && !moves(16, 16, 2000), "a page of which a block has moved");
        assert!(moves(16, 1, 2001), "a page that may not move keeps none of its blocks");
        // However the blocks of a page share places.
        assert!((0..1000).all(|page| moves(1000 + 16 * page, 16, 10_000 * (page + 1))));
    }

    #[test]
    fn marks_fade_and_are_explained_once() {
        let marks = marks();
        let burden = |at| marks.burden(DeviceIx(1), Nanos::secs(at), || format!("at {at}"));
        assert_eq!((burden(1), burden(20), burden(49), burden(80)), (true, false, false, true));
        assert_eq!(marks.why(DeviceIx(1), Nanos::secs(109)).as_deref(), Some("at 80"));
        assert!(!marks.is_burdened(DeviceIx(1), Nanos::secs(110)) && !marks.is_burdened(DeviceIx(9), Nanos::ZERO));
        marks.is_found_hot(1, Nanos::secs(5));
        assert_eq!([5, 6].map(|at| marks.is_hot(1, Nanos::secs(at))), [true, false]);
    }
}
