//! What is gone when members that are out of service take part again by force, and what is left.

use std::collections::BTreeSet;

use cygnus_format::{MAP_PAGE_ENTRIES, MemberState, Place};
use cygnus_types::{BLOCK, ByteSize, GroupId, Lba, MemberIx, SegmentId, counted};

use crate::read::scan::FoundStripe;

/// Places of blocks that nobody has any more.
#[derive(Default)]
pub(crate) struct LostBlocks {
    places: BTreeSet<Key>,
    /// Places of columns of which no header tells what they held, and that cannot be restored either.
    untold: BTreeSet<Key>,
    /// Sequences of stripes that have columns of which no header tells what they held.
    stripes: BTreeSet<u64>,
}

type Key = (GroupId, SegmentId, u32, u8);

impl LostBlocks {
    pub(crate) fn len(&self) -> usize {
        self.places.len() + self.untold.len()
    }

    /// Adds blocks of a stripe: column and row below the headers. Of columns without entries all are lost, unless there is
    /// `enough` to restore them from.
    pub(crate) fn add(&mut self, stripe: &FoundStripe, blocks: &[(u8, u32)], enough: bool) {
        let common = stripe.common;
        let at = |column, below| (common.group, common.segment, common.first_data_row() + below, column);
        self.places.extend(blocks.iter().map(|&(column, below)| at(column, below)));
        for column in stripe.unknown_columns(true) {
            self.stripes.insert(common.stripe_seq);
            let rows = if enough { 0 } else { common.rows };
            self.untold.extend((0..rows).map(|below| at(column, below)));
        }
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.places.extend(others.places);
        self.untold.extend(others.untold);
        self.stripes.extend(others.stripes);
    }

    pub(crate) fn contains(&self, place: &Place) -> bool {
        self.places.contains(&key(*place))
    }

    /// Whether there may be blocks that are lost and of which nobody but a map knows.
    pub(crate) fn has_any_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    /// Whether a block is lost of which nobody but a map knows that it was there. Nobody could tell whether what lies in its
    /// place passes for it.
    pub(crate) fn is_untold(&self, place: &Place) -> bool {
        self.untold.contains(&key(*place))
    }

    /// Whether no header tells what some column of this stripe held.
    pub(crate) fn has_untold(&self, stripe: u64) -> bool {
        self.stripes.contains(&stripe)
    }
}

fn key(Place { group, segment, column, row }: Place) -> Key {
    (group, segment, row, column)
}

/// What comes of re-admitting members by force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readmitted {
    /// Who: number, path, and what the superblocks called it.
    pub members: Vec<(MemberIx, String, MemberState)>,
    /// What the volumes have then.
    pub volumes: Vec<VolumeAfter>,
    /// Pages of the maps that nobody has: what they said of the volumes' blocks is not known.
    pub lost_pages: u64,
    /// Blocks that nobody has, by volume.
    pub blocks: Vec<(String, Lba)>,
}

/// What a volume has when members have been re-admitted by force, in blocks that hold data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeAfter {
    /// Its name.
    pub name: String,
    /// Blocks that can be read.
    pub readable: u64,
    /// Blocks that nobody has.
    pub lost: u64,
    /// Blocks that may not be the newest, and are unreadable for that reason.
    pub given_up: u64,
    /// What was never written, as far as is known, is unreadable too.
    pub in_doubt: bool,
}

impl Readmitted {
    /// All of it for people.
    pub fn lines(&self) -> Vec<String> {
        let size = |blocks: u64| format!("{} ({})", counted(blocks, "block"), ByteSize(blocks * BLOCK as u64));
        let members = self.members.iter().map(|(member, name, was)| {
            format!(
                "{name}, member {}, recorded as {}, is re-admitted: it lacks what was written since",
                member.0,
                was.word()
            )
        });
        let volumes = self.volumes.iter().map(|volume| {
            let VolumeAfter { name, readable, lost, given_up, in_doubt } = volume;
            let doubt = if *in_doubt { "; it is in doubt: so is whatever it does not know to hold data" } else { "" };
            format!("volume {name}: {} can be read, {} cannot{doubt}", size(*readable), size(lost + given_up))
        });
        let pages = (self.lost_pages > 0).then(|| {
            let bytes = ByteSize(self.lost_pages * MAP_PAGE_ENTRIES as u64 * BLOCK as u64);
            format!(
                "{} of the maps cannot be read: up to {bytes} more of the volumes are unreadable",
                counted(self.lost_pages, "page")
            )
        });
        members.chain(volumes).chain(pages).collect()
    }
}
