//! Counts made afresh by a walk of all maps, beside those that have followed each change.

use std::sync::Arc;

use cygnus_format::Layout;
use cygnus_types::{Constraint, GroupId, Lba, Medium, SegmentId};

use crate::lsa::common::Controllers;
use crate::lsa::controller::MAX_VOLUME_BLOCKS;
use crate::lsa::tally::Tally;
use crate::space::segments::SegIx;
use crate::volume_state::VolumeState;

/// A count that has not followed the maps, or a block that is where it must not be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Miscount {
    #[error("{lba} of volume {volume:?}, which is to be on {constraint}, lies on {medium}")]
    Misplaced { volume: String, lba: Lba, constraint: Constraint, medium: Medium },
    #[error("volume {volume:?} holds {held} blocks, and {counted} are counted")]
    OfVolume { volume: String, held: u64, counted: u64 },
    #[error("volume {volume:?} has {held} blocks on {medium}, and {counted} are counted")]
    OfVolumeOn { volume: String, medium: Medium, held: u64, counted: u64 },
    #[error("all volumes hold {held} blocks, and {counted} are counted")]
    OfArray { held: u64, counted: u64 },
    #[error("{held} blocks lie on {medium}, and {counted} are counted")]
    OnMedium { medium: Medium, held: u64, counted: u64 },
    #[error("{current} blocks of {group} {segment} are current, and {counted} are counted")]
    OfSegment { group: GroupId, segment: SegmentId, current: u32, counted: u32 },
}

impl Controllers {
    /// Counts afresh.
    ///
    /// # Errors
    /// When a count is another one, or a block lies on a medium on which its volume must not be.
    pub(crate) fn recount(&self, layout: &Layout, volumes: &[Arc<VolumeState>]) -> Result<(), Miscount> {
        let (mut tally, mut all, mut on) = (Tally::default(), 0, [0; Medium::ALL.len()]);
        for VolumeState { name, controller, constraint, .. } in volumes.iter().map(|volume| &**volume) {
            let (mut held, mut its, mut misplaced) = (0, [0; Medium::ALL.len()], None);
            controller.for_each_held(MAX_VOLUME_BLOCKS, |lba, entry| {
                held += 1;
                if entry.is_mapped() {
                    tally.add(layout, entry.pba());
                    let medium = self.segments.medium(self.segments.of(entry.pba()));
                    on[medium.index()] += 1;
                    its[medium.index()] += 1;
                    if !constraint.allows(medium) {
                        misplaced = Some((lba, medium));
                    }
                }
            });
            if let Some((lba, medium)) = misplaced {
                return Err(Miscount::Misplaced { volume: name.clone(), lba, constraint: *constraint, medium });
            }
            if held != controller.held() {
                return Err(Miscount::OfVolume { volume: name.clone(), held, counted: controller.held() });
            }
            if let Some(medium) = self.miscounted(its, |medium| controller.held_on(medium)) {
                let (held, counted) = (its[medium.index()], controller.held_on(medium));
                return Err(Miscount::OfVolumeOn { volume: name.clone(), medium, held, counted });
            }
            all += held;
        }
        if all != self.held.blocks() {
            return Err(Miscount::OfArray { held: all, counted: self.held.blocks() });
        }
        if let Some(medium) = self.miscounted(on, |medium| self.held.on(medium)) {
            return Err(Miscount::OnMedium { medium, held: on[medium.index()], counted: self.held.on(medium) });
        }
        let differs = |&seg: &SegIx| tally.of(seg) != self.segments.live(seg);
        self.segments.all().find(differs).map_or(Ok(()), |seg| {
            let ((group, segment), counted) = (self.segments.locate(seg), self.segments.live(seg));
            Err(Miscount::OfSegment { group, segment, current: tally.of(seg), counted })
        })
    }

    /// A medium on which other than so many blocks are counted. Those on flash are what is left, with those of which the data is lost.
    fn miscounted(&self, held: [u64; Medium::ALL.len()], counted: impl Fn(Medium) -> u64) -> Option<Medium> {
        let is_wrong = |medium: &Medium| *medium != Medium::Flash && held[medium.index()] != counted(*medium);
        Medium::ALL.into_iter().filter(|_| self.held.counts_media()).find(is_wrong)
    }
}
