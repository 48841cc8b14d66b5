//! Scrubs in a run, and what must be true when one has got to its end: whatever a current block depends on is whole on
//! the devices, as far as redundancy went. The judge is the truth, not what the scrub says of itself.

use cygnus_engine::{Array, BlockLocation, ScrubReport, SegmentInfo};
use cygnus_format::Geometry;
use cygnus_types::{BLOCK, Lba};

use crate::truth::Truth;

/// Scrubs to the end, and judges.
///
/// `reliable`, by member: whether the device does what it is told. Of the others anything may be wrong again at once.
pub(crate) async fn scrub_and_judge(
    array: &Array,
    truth: &Truth,
    geometry: Geometry,
    reliable: &[bool],
) -> Result<(), String> {
    let report = array.scrub(0).await;
    let status = array.status();
    if status.fault.is_some() {
        return Ok(());
    }
    if !report.complete {
        return Err("the scrub ended before it was done, though the array goes on".into());
    }
    lost_are_lost(array, truth, &report).await?;
    let counted: Vec<usize> =
        (0..status.members.len()).filter(|&n| reliable[n] && status.members[n].is_online()).collect();
    if report.without_room > 0 {
        return Ok(());
    }
    let judge = Judge { array, truth, geometry, counted };
    judge.all_whole().await?;
    // With nothing left to mend there is nothing to find.
    if report.lost == 0 && reliable.iter().all(|&reliable| reliable) {
        let again = array.scrub(0).await;
        let same_members = array.status().members.iter().zip(&status.members).all(|(a, b)| a.state == b.state);
        if again.complete && again.found() > 0 && same_members {
            return Err(format!("a second scrub finds what the first should have mended: {again:?} after {report:?}"));
        }
    }
    Ok(())
}

/// What the scrub gave up must be beyond redundancy.
async fn lost_are_lost(array: &Array, truth: &Truth, report: &ScrubReport) -> Result<(), String> {
    for block in &report.lost_blocks {
        let excuse = truth.excuse(array, &block.volume, block.lba.0).await;
        excuse.map_err(|why| format!("the scrub gave up block {} of {} {why}", block.lba.0, block.volume))?;
    }
    Ok(())
}

struct Judge<'a> {
    array: &'a Array,
    truth: &'a Truth,
    geometry: Geometry,
    /// Members whose contents count.
    counted: Vec<usize>,
}

impl Judge<'_> {
    async fn all_whole(&self) -> Result<(), String> {
        for name in self.array.volume_names() {
            let Some(volume) = self.array.volume(&name) else { continue };
            for block in 0..volume.size() / BLOCK as u64 {
                self.whole(&name, block).await?;
            }
        }
        Ok(())
    }

    async fn whole(&self, volume: &str, block: u64) -> Result<(), String> {
        let Some(suspect) = self.wrong(volume, block).await else { return Ok(()) };
        // Cleaning may have moved it while its old place was looked at.
        match self.wrong(volume, block).await {
            Some(still) if still == suspect => {
                Err(format!("after a whole scrub, block {block} of {volume}: {}", still.1))
            }
            _ => Ok(()),
        }
    }

    /// The block's place, and what is wrong with anything that it depends on.
    async fn wrong(&self, volume: &str, block: u64) -> Option<(u64, String)> {
        let at = self.array.locate(volume, Lba(block)).await?;
        // Written or moved since the scrub began, and perhaps in memory still, on the way to where something old is wrong.
        let is_open = |s: &SegmentInfo| (s.group, s.segment) == (at.group, at.segment) && s.state == "open";
        if self.array.segments().iter().any(is_open) {
            return None;
        }
        if self.truth.excuse(self.array, volume, block).await.is_ok() {
            return None;
        }
        let Some(summary) = at.summary else {
            return Some((at.offset, "no header describes it".into()));
        };
        let header = self.geometry.header_blocks(self.geometry.full_rows_at(summary.stripe_row));
        let header = (0..header).map(|n| (summary.stripe_row + n, "the header of its stripe"));
        let needed = header.chain([(at.row, "its row")]);
        for (row, what) in needed {
            let offset = self.geometry.device_offset(at.segment.0, row);
            if let Some(member) = self.unsound(&at, offset) {
                return Some((at.offset, format!("{what} is not as it was written at byte {offset} of d{member}")));
            }
        }
        None
    }

    fn unsound(&self, at: &BlockLocation, offset: u64) -> Option<usize> {
        let (group, width) = (usize::from(at.group.0), usize::from(self.geometry.width()));
        let members = group * width..(group + 1) * width;
        let mut counted = self.counted.iter().copied().filter(|member| members.contains(member));
        counted.find(|&member| !self.truth.world.is_sound(self.truth.disks[member], offset))
    }
}
