//! Scrubs in a run, and what must be true when one has got to its end: whatever a current block depends on is whole on
//! the devices, as far as redundancy went. The judge is the truth, not what the scrub says of itself.

use std::collections::{BTreeMap, BTreeSet};

use cygnus_engine::{Array, ArrayStatus, BlockLocation, LostBlock, ScrubReport, SegmentInfo};
use cygnus_format::Geometry;
use cygnus_types::Lba;

use crate::array::mapped_blocks;
use crate::failure::{ScrubFault, Unsound};
use crate::members::device_of;
use crate::truth::Truth;

/// Judges a scrub. Made before it begins.
#[derive(Clone)]
pub(crate) struct Judge {
    array: Array,
    truth: Truth,
    geometry: Geometry,
    /// By device: whether it does what it is told. Of the others anything may be wrong again at once.
    reliable: Vec<bool>,
    /// Blocks that were given up by force, volume and address, and whether the array must know of each.
    forgone: BTreeMap<(String, u64), bool>,
    before: ArrayStatus,
}

impl Judge {
    pub(crate) fn new(
        array: &Array,
        truth: &Truth,
        geometry: Geometry,
        reliable: Vec<bool>,
        forgone: BTreeMap<(String, u64), bool>,
    ) -> Self {
        Self { array: array.clone(), truth: truth.clone(), geometry, reliable, forgone, before: array.status() }
    }

    /// Judges the scrub that has just ended. The answer is whether another one would have nothing to find.
    pub(crate) async fn judge(&self, report: &ScrubReport) -> Result<bool, ScrubFault> {
        let status = self.array.status();
        if status.fault.is_some() {
            return Ok(false);
        }
        if !report.complete {
            return Err(ScrubFault::EndedEarly);
        }
        self.lost_are_lost(report).await?;
        if report.without_room > 0 {
            return Ok(false);
        }
        self.all_whole(&self.counted(&status)).await?;
        Ok(report.lost == 0 && self.reliable.iter().all(|&reliable| reliable) && self.same_members(&status))
    }

    /// Judges another scrub, which had nothing to find after `first`.
    pub(crate) fn judge_again(&self, first: &ScrubReport, again: &ScrubReport) -> Result<(), ScrubFault> {
        if again.complete && again.found() > 0 && self.same_members(&self.array.status()) {
            let (first, again) = (Box::new(first.clone()), Box::new(again.clone()));
            return Err(ScrubFault::FoundAgain { first, again });
        }
        Ok(())
    }

    fn same_members(&self, status: &ArrayStatus) -> bool {
        let same =
            status.members.iter().zip(&self.before.members).all(|(a, b)| (a.state, &a.name) == (b.state, &b.name));
        same && status.members.len() == self.before.members.len()
    }

    /// Members whose contents count: one that came online meanwhile was not looked at before.
    fn counted(&self, status: &ArrayStatus) -> Vec<usize> {
        let online = |status: &ArrayStatus, n: usize| {
            status.members.get(n).filter(|m| m.is_online()).and_then(|m| device_of(&m.name))
        };
        let counts = |n: &usize| {
            let device = online(status, *n);
            device == online(&self.before, *n) && device.is_some_and(|device| self.reliable[device])
        };
        (0..status.members.len()).filter(counts).collect()
    }

    /// What the scrub gave up must be beyond redundancy, or have been given up before; and of that it lists all, unless more is lost than
    /// it lists.
    async fn lost_are_lost(&self, report: &ScrubReport) -> Result<(), ScrubFault> {
        let of = |lost: &LostBlock| (lost.volume.clone(), lost.lba.0);
        let listed: BTreeSet<_> = report.lost_blocks.iter().map(of).collect();
        let mut known = self.forgone.iter().filter(|&(_, &is_certain)| is_certain).map(|(block, _)| block);
        let lists_all = report.lost <= ScrubReport::LISTED as u64;
        if let Some((volume, block)) = known.find(|block| lists_all && !listed.contains(block)) {
            return Err(ScrubFault::Unlisted { volume: volume.clone(), block: *block });
        }
        for block in report.lost_blocks.iter().filter(|lost| !self.forgone.contains_key(&of(lost))) {
            let excuse = self.truth.excuse(&self.array, &block.volume, block.lba.0).await;
            let (volume, block) = (block.volume.clone(), block.lba.0);
            excuse.map_err(|why| ScrubFault::GaveUp { volume, block, why })?;
        }
        Ok(())
    }

    async fn all_whole(&self, counted: &[usize]) -> Result<(), ScrubFault> {
        for name in self.array.volume_names() {
            let Some(volume) = self.array.volume(&name) else { continue };
            for block in mapped_blocks(&volume) {
                self.whole(&name, block, counted).await?;
            }
        }
        Ok(())
    }

    async fn whole(&self, volume: &str, block: u64, counted: &[usize]) -> Result<(), ScrubFault> {
        let Some(suspect) = self.wrong(volume, block, counted).await else { return Ok(()) };
        // Cleaning may have moved it while its old place was looked at.
        match self.wrong(volume, block, counted).await {
            Some(still) if still == suspect => {
                Err(ScrubFault::NotWhole { volume: volume.to_owned(), block, unsound: still.1 })
            }
            _ => Ok(()),
        }
    }

    /// The block's place, and what is wrong with anything that it depends on.
    async fn wrong(&self, volume: &str, block: u64, counted: &[usize]) -> Option<(u64, Unsound)> {
        let at = self.array.locate(volume, Lba(block)).await?;
        // Written or moved since the scrub began, and perhaps in memory still, on the way to where something old is wrong.
        let is_open = |s: &SegmentInfo| (s.group, s.segment) == (at.group, at.segment) && s.state == "open";
        if self.array.segments().iter().any(is_open) {
            return None;
        }
        if self.truth.excuse(&self.array, volume, block).await.is_ok() {
            return None;
        }
        let Some(summary) = at.summary else {
            return Some((at.offset, Unsound::NoHeader));
        };
        let header = (0..summary.header_rows).map(|n| (summary.stripe_row + n, "the header of its stripe"));
        let needed = header.chain([(at.row, "its row")]);
        for (row, what) in needed {
            let offset = self.geometry.device_offset(at.segment.0, row);
            if let Some(member) = self.unsound(&at, offset, counted) {
                return Some((at.offset, Unsound::NotAsWritten { what, offset, member }));
            }
        }
        None
    }

    /// A member that does not hold what was written there, of those on which a block depends: its own, and with parity all
    /// that its parity is made of.
    fn unsound(&self, at: &BlockLocation, offset: u64, counted: &[usize]) -> Option<usize> {
        let status = self.array.status();
        let first = at.member.index() - usize::from(at.column);
        let members = match at.protection.losses() {
            0 => at.member.index()..at.member.index() + 1,
            _ => first..first + usize::from(status.groups[at.group.index()].raid.width()),
        };
        let mut counted = counted.iter().copied().filter(|member| members.contains(member));
        counted.find(|&member| !self.truth.is_sound(&status, member, offset))
    }
}
