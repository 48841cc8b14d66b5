//! Counts made afresh by a walk of all maps, beside those that have followed each change.

use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    #[error("volume {volume:?} has {held} blocks on disks, and {counted} are counted")]
    OfVolumeOnDisks { volume: String, held: u64, counted: u64 },
    #[error("all volumes hold {held} blocks, and {counted} are counted")]
    OfArray { held: u64, counted: u64 },
    #[error("{held} blocks lie on disks, and {counted} are counted")]
    OnDisks { held: u64, counted: u64 },
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
            let (mut held, mut on_disk, mut misplaced) = (0, 0, None);
            controller.for_each_held(MAX_VOLUME_BLOCKS, |lba, entry| {
                held += 1;
                if entry.is_mapped() {
                    tally.add(layout, entry.pba());
                    let medium = self.segments.medium(self.segments.of(entry.pba()));
                    on[medium.index()] += 1;
                    on_disk += u64::from(medium == Medium::Disk);
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
            let counted = controller.on_disk.load(Ordering::Relaxed);
            if self.held.counts_media() && counted != on_disk {
                return Err(Miscount::OfVolumeOnDisks { volume: name.clone(), held: on_disk, counted });
            }
            all += held;
        }
        if all != self.held.blocks() {
            return Err(Miscount::OfArray { held: all, counted: self.held.blocks() });
        }
        let (counted, held) = (self.held.on(Medium::Disk), on[Medium::Disk.index()]);
        if self.held.counts_media() && counted != held {
            return Err(Miscount::OnDisks { held, counted });
        }
        let differs = |&seg: &SegIx| tally.of(seg) != self.segments.live(seg);
        self.segments.all().find(differs).map_or(Ok(()), |seg| {
            let ((group, segment), counted) = (self.segments.locate(seg), self.segments.live(seg));
            Err(Miscount::OfSegment { group, segment, current: tally.of(seg), counted })
        })
    }
}
