//! What was discarded behind the checkpoint, so that what was written before is left out.

use cygnus_format::Discard;

use crate::lsa::region_of;
use crate::recover::window::Candidate;

/// See the module's text. In order of volumes and regions: a record of a discard covers no more than a region.
pub(crate) struct Discards(Vec<Discard>);

impl Discards {
    pub(crate) fn new(mut all: Vec<Discard>) -> Self {
        all.sort_unstable_by_key(|discard| (discard.volume(), region_of(discard.lba()).start, discard.seq()));
        Self(all)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Discard> {
        self.0.iter()
    }

    /// Whether a block was discarded after it was written.
    pub(crate) fn cover(&self, candidate: &Candidate) -> bool {
        let (lba, region) = (candidate.lba.0, (candidate.volume, region_of(candidate.lba).start));
        let key = |discard: &Discard| (discard.volume(), region_of(discard.lba()).start);
        let newer = self.0.partition_point(|discard| (key(discard), discard.seq()) <= (region, candidate.seq));
        let in_region = self.0[newer..].iter().take_while(|discard| key(discard) == region);
        let covers = |d: &Discard| (d.lba().0..d.lba().0 + u64::from(d.count())).contains(&lba);
        in_region.into_iter().any(covers)
    }
}
