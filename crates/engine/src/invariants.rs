//! What must hold between any two steps of an open array, for tests: counts against maps, states against lists.

use std::collections::BTreeMap;

use cygnus_format::Place;
use cygnus_types::{GroupId, Lba, SegmentId};

use crate::array::Array;
use crate::reactor::Reactor;
use crate::space::segments::{SegIx, SegState};

/// What does not hold, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// More counts as durable than has been written.
    #[error("stripes below {durable} count as durable, and only those below {complete} are complete")]
    DurableAhead {
        /// Below which stripe all count as durable.
        durable: u64,
        /// Below which one all are written.
        complete: u64,
    },
    /// A block is mapped to where no group is.
    #[error("{lba} of {volume} is mapped beyond the array")]
    Beyond {
        /// Name.
        volume: String,
        /// Which block.
        lba: Lba,
    },
    /// A block is mapped to parity, or into a segment that has no data.
    #[error("{lba} of {volume} is mapped to {place:?}, in a segment that is {state}")]
    Astray {
        /// Name.
        volume: String,
        /// Which block.
        lba: Lba,
        /// Where it should be.
        place: Place,
        /// State of the segment there.
        state: &'static str,
    },
    /// A count of mapped blocks is not what the maps hold.
    #[error("{of} has {mapped} mapped blocks and counts {counted}")]
    Mapped {
        /// A volume, or the array.
        of: String,
        /// What the maps hold.
        mapped: u64,
        /// What is counted.
        counted: u64,
    },
    /// A segment's count of live blocks is not the number of entries that point to it.
    #[error("{group} {segment} ({state}) counts {counted} live blocks, and {live} are")]
    Live {
        /// Where.
        group: GroupId,
        /// Where.
        segment: SegmentId,
        /// State of the segment.
        state: &'static str,
        /// What is counted.
        counted: u32,
        /// What the maps hold.
        live: u32,
    },
    /// A segment is in the list of the free ones more or less often than its state says.
    #[error("{group} {segment} is {state} and is {times} times in the list of the free ones")]
    Listed {
        /// Where.
        group: GroupId,
        /// Where.
        segment: SegmentId,
        /// Its state.
        state: &'static str,
        /// How often it is in the list.
        times: u32,
    },
    /// A segment that is not pending is in the list of those.
    #[error("{group} {segment} is {state} and in the list of the pending ones")]
    NotPending {
        /// Where.
        group: GroupId,
        /// Where.
        segment: SegmentId,
        /// Its state.
        state: &'static str,
    },
}

impl Array {
    /// Walks the maps and the segment table and compares them. Costs a pass over all volumes and is meant for tests with
    /// small ones; not while a volume is being made smaller, whose blocks behind the new end still count.
    ///
    /// # Errors
    /// Says which invariant does not hold, and where.
    pub fn invariants(&self) -> Result<(), Broken> {
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

    fn invariants(&self) -> Result<(), Broken> {
        let pointed = self.count_entries()?;
        self.compare_counts(&pointed)?;
        self.compare_free_lists()?;
        let (durable, complete) = (self.reactor.shared.durable(), self.reactor.shared.stripes.complete_below());
        if durable > complete {
            return Err(Broken::DurableAhead { durable, complete });
        }
        Ok(())
    }

    /// Entries by segment. Each points to a data column of a segment that may hold data, and each volume's and the
    /// array's number of mapped blocks is what the maps hold.
    fn count_entries(&self) -> Result<BTreeMap<SegIx, u32>, Broken> {
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
                    wrong.get_or_insert_with(|| Broken::Beyond { volume: volume.name.clone(), lba });
                    return;
                };
                let seg = shared.segments.index(place.group, place.segment);
                *pointed.entry(seg).or_default() += 1;
                let state = shared.segments.state(seg);
                let parity = !self.reactor.columns_of(&place).is_data(place.column);
                let is_empty = matches!(state, SegState::Free | SegState::Meta | SegState::Withheld)
                    || state == SegState::Pending && !self.may_have_gone_back(seg);
                if parity || is_empty {
                    let (volume, state) = (volume.name.clone(), state.word());
                    wrong.get_or_insert(Broken::Astray { volume, lba, place, state });
                }
            });
            all += mapped;
            if mapped != volume.controller.held() {
                let (of, counted) = (volume.name.clone(), volume.controller.held());
                wrong.get_or_insert(Broken::Mapped { of, mapped, counted });
            }
        }
        // A volume being deleted counts until the last of its blocks is forgotten.
        if shared.held.blocks() != all
            && (self.reactor.home().regroup.deleting.get() == 0 || shared.held.blocks() < all)
        {
            let counted = shared.held.blocks();
            wrong.get_or_insert(Broken::Mapped { of: "the array".into(), mapped: all, counted });
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
    fn compare_counts(&self, pointed: &BTreeMap<SegIx, u32>) -> Result<(), Broken> {
        let table = &self.reactor.shared.segments;
        for seg in table.all().filter(|&seg| table.state(seg) != SegState::Open) {
            let (live, entries) = (table.live(seg), pointed.get(&seg).copied().unwrap_or(0));
            let forgetting = self.reactor.home().regroup.deleting.get() > 0 && live > entries;
            if live != entries && !forgetting {
                let ((group, segment), state) = (table.locate(seg), table.state(seg).word());
                return Err(Broken::Live { group, segment, state, counted: live, live: entries });
            }
        }
        Ok(())
    }

    /// What is free is in exactly one list, and what is in a list is free and empty.
    fn compare_free_lists(&self) -> Result<(), Broken> {
        let table = &self.reactor.shared.segments;
        let space = self.reactor.home().space.borrow();
        let mut listed: BTreeMap<SegIx, u32> = BTreeMap::new();
        space.listed().for_each(|seg| *listed.entry(seg).or_default() += 1);
        for seg in table.all() {
            let (times, state) = (listed.get(&seg).copied().unwrap_or(0), table.state(seg));
            let (group, segment) = table.locate(seg);
            if times != u32::from(state == SegState::Free) {
                return Err(Broken::Listed { group, segment, state: state.word(), times });
            }
        }
        let other = space.pending.iter().find(|&&seg| table.state(seg) != SegState::Pending);
        other.map_or(Ok(()), |&seg| {
            let ((group, segment), state) = (table.locate(seg), table.state(seg).word());
            Err(Broken::NotPending { group, segment, state })
        })
    }
}
