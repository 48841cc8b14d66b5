//! What must hold between any two steps of an open array, for tests: counts against maps, states against lists.

use std::collections::BTreeMap;

use crate::array::Array;
use crate::reactor::Reactor;
use crate::space::segments::{SegIx, SegState};

impl Array {
    /// Walks the maps and the segment table and compares them. Costs a pass over all volumes and is meant for tests with
    /// small ones; not while a volume is being made smaller, whose blocks behind the new end still count.
    ///
    /// # Errors
    /// Says which invariant does not hold, and where.
    pub fn invariants(&self) -> Result<(), String> {
        Invariants::of(&self.reactor).invariants()
    }
}

/// Compares counts with maps, and states with lists.
pub(crate) struct Invariants<'a> {
    reactor: &'a Reactor,
}

impl<'a> Invariants<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    fn invariants(&self) -> Result<(), String> {
        let pointed = self.count_entries()?;
        self.compare_counts(&pointed)?;
        self.compare_free_lists()?;
        let (durable, complete) = (self.reactor.shared.durable(), self.reactor.shared.stripes.complete_below());
        if durable > complete {
            return Err(format!(
                "stripes below {durable} count as durable, and only those below {complete} are complete"
            ));
        }
        Ok(())
    }

    /// Entries by segment. Each points to a data column of a segment that may hold data, and each volume's and the
    /// array's number of mapped blocks is what the maps hold.
    fn count_entries(&self) -> Result<BTreeMap<SegIx, u32>, String> {
        let shared = &self.reactor.shared;
        let mut pointed: BTreeMap<SegIx, u32> = BTreeMap::new();
        let mut wrong = None;
        let mut all = 0;
        for volume in shared.volumes() {
            let mut mapped = 0;
            volume.controller.for_each_held(volume.blocks(), |lba, entry| {
                mapped += 1;
                if !entry.is_mapped() {
                    return;
                }
                let Some(place) = shared.layout.locate(entry.pba()) else {
                    wrong.get_or_insert_with(|| format!("{lba} of {} is mapped beyond the array", volume.name));
                    return;
                };
                let seg = shared.segments.index(place.group, place.segment);
                *pointed.entry(seg).or_default() += 1;
                let state = shared.segments.state(seg);
                let parity = !self.reactor.columns_of(&place).is_data(place.column);
                let is_empty = matches!(state, SegState::Free | SegState::Meta | SegState::Withheld)
                    || state == SegState::Pending && !self.may_have_gone_back(seg);
                if parity || is_empty {
                    wrong.get_or_insert_with(|| {
                        format!("{lba} of {} is mapped to {place:?}, in a segment that is {state:?}", volume.name)
                    });
                }
            });
            all += mapped;
            if mapped != volume.controller.held() {
                let says = volume.controller.held();
                wrong.get_or_insert_with(|| format!("{} has {mapped} mapped blocks and counts {says}", volume.name));
            }
        }
        // A volume being deleted counts until the last of its blocks is forgotten.
        if shared.held.blocks() != all
            && (self.reactor.home().regroup.deleting.get() == 0 || shared.held.blocks() < all)
        {
            let says = shared.held.blocks();
            wrong.get_or_insert_with(|| format!("the array has {all} mapped blocks and counts {says}"));
        }
        wrong.map_or(Ok(pointed), Err)
    }

    /// Whether a block may be current again in a segment that is being given back, since the copy of it was lost with the cache of a
    /// device. Whoever gives the segment back finds that, and keeps it.
    fn may_have_gone_back(&self, seg: SegIx) -> bool {
        let home = self.reactor.home();
        let space = home.space.borrow();
        home.spoils.times.get() > 0 && space.releases > 0 && !space.pending.contains(&seg)
    }

    /// The live blocks of every segment are the entries that point to it, but of open ones: the blocks of the open stripe
    /// are not counted yet.
    fn compare_counts(&self, pointed: &BTreeMap<SegIx, u32>) -> Result<(), String> {
        let table = &self.reactor.shared.segments;
        for seg in table.all().filter(|&seg| table.state(seg) != SegState::Open) {
            let (live, entries) = (table.live(seg), pointed.get(&seg).copied().unwrap_or(0));
            let forgetting = self.reactor.home().regroup.deleting.get() > 0 && live > entries;
            if live != entries && !forgetting {
                let ((group, segment), state) = (table.locate(seg), table.state(seg));
                return Err(format!("{group} {segment} ({state:?}) counts {live} live blocks, and {entries} are"));
            }
        }
        Ok(())
    }

    /// What is free is in exactly one list, and what is in a list is free and empty.
    fn compare_free_lists(&self) -> Result<(), String> {
        let table = &self.reactor.shared.segments;
        let space = self.reactor.home().space.borrow();
        let mut listed: BTreeMap<SegIx, u32> = BTreeMap::new();
        space.listed().for_each(|seg| *listed.entry(seg).or_default() += 1);
        for seg in table.all() {
            let (times, state) = (listed.get(&seg).copied().unwrap_or(0), table.state(seg));
            let (group, segment) = table.locate(seg);
            if times != u32::from(state == SegState::Free) {
                return Err(format!(
                    "{group} {segment} is {state:?} and is {times} times in the list of the free ones"
                ));
            }
        }
        match space.pending.iter().find(|&&seg| table.state(seg) != SegState::Pending) {
            Some(&seg) => {
                Err(format!("{:?} is {:?} and in the list of the pending ones", table.locate(seg), table.state(seg)))
            }
            None => Ok(()),
        }
    }
}
