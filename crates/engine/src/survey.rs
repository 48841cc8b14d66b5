//! Where things lie: for people who want to see, and for those who must find a block on a disk.

use cygnus_format::{Entry, Kind, Place, Protection};
use cygnus_parity as parity;
use cygnus_types::{BLOCK, GroupId, Lba, MemberIx, SegmentId};

use crate::reactor::Reactor;
use crate::read::scan::Scanner;
use crate::volume_state::VolumeState;

/// A segment as the array sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// R-group.
    pub group: GroupId,
    /// Segment within it.
    pub segment: SegmentId,
    /// In a word: free, open, sealed, pending, meta, damaged or withheld.
    pub state: &'static str,
    /// Blocks of current data; means nothing while the segment is open.
    pub live: u32,
}

/// Where a block of a volume lies, and what the devices have there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLocation {
    /// R-group.
    pub group: GroupId,
    /// Segment within it.
    pub segment: SegmentId,
    /// Physical column.
    pub column: u8,
    /// Row of the segment.
    pub row: u32,
    /// Member that holds the column.
    pub member: MemberIx,
    /// Its device.
    pub device: String,
    /// Byte offset on the device.
    pub offset: u64,
    /// What its segment is protected by.
    pub protection: Protection,
    /// The 27 bits of the checksum that the map has.
    pub map_crc: u32,
    /// What the summary of the stripe says of the block; `None` when no header that describes it can be read.
    pub summary: Option<BlockSummary>,
    /// Whether the device delivers the block as the map wants it.
    pub intact: bool,
}

/// What a stripe's summary says of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSummary {
    /// Checksum, all of it.
    pub crc: u32,
    /// Sequence of the write that made the block.
    pub write_seq: u64,
    /// Whether cleaning moved it there.
    pub relocated: bool,
    /// Sequence of the stripe.
    pub stripe_seq: u64,
    /// Row where the stripe's header begins.
    pub stripe_row: u32,
    /// Rows of the header.
    pub header_rows: u32,
    /// Life of the segment.
    pub segment_seq: u64,
}

/// Tells where things lie: see the module's text.
pub(crate) struct Surveyor<'a> {
    reactor: &'a Reactor,
}

impl<'a> Surveyor<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    pub(crate) fn segment_infos(&self) -> Vec<SegmentInfo> {
        let table = &self.reactor.shared.segments;
        let one = |seg| {
            let (group, segment) = table.locate(seg);
            let state = table.state(seg).word();
            SegmentInfo { group, segment, state, live: table.live(seg) }
        };
        table.all().map(one).collect()
    }

    /// Where a block lies; `None` when it is not mapped.
    pub(crate) async fn locate_block(&self, volume: &VolumeState, lba: Lba) -> Option<BlockLocation> {
        let _look = self.reactor.looks.begin();
        let entry = volume.controller.locate(lba);
        if !entry.is_mapped() {
            return None;
        }
        let place = self.reactor.place(entry);
        let (member, state) = self.reactor.shared.member(place.group, place.column);
        let offset = self.reactor.shared.layout.geometry().device_offset(place.segment.0, place.row);
        let intact = match self.reactor.device_holding(member, place.segment) {
            Some(dev) => {
                let buf = self.reactor.rt.alloc(BLOCK);
                self.reactor.rt.read(dev, offset, buf.full()).await.is_ok()
                    && entry.matches(parity::checksum::crc32c(buf.bytes()))
            }
            None => false,
        };
        Some(BlockLocation {
            group: place.group,
            segment: place.segment,
            column: place.column,
            row: place.row,
            member,
            device: state.name(),
            offset,
            protection: self.reactor.columns_of(&place).protection(),
            map_crc: entry.crc_bits(),
            summary: self.summary_at(place).await,
            intact,
        })
    }

    /// Follows the stripes of a segment to the one that holds a place.
    async fn summary_at(&self, place: Place) -> Option<BlockSummary> {
        let stripe = Scanner::of(self.reactor).stripe_with(place, None).await?;
        let common = stripe.common;
        let within = place.row.checked_sub(common.first_data_row())?;
        let entry: &Entry = stripe.entries[usize::from(place.column)].as_ref()?.get(within as usize)?;
        matches!(entry.kind(), Kind::Data | Kind::Relocated).then(|| BlockSummary {
            crc: entry.crc(),
            write_seq: entry.seq(),
            relocated: entry.kind() == Kind::Relocated,
            stripe_seq: common.stripe_seq,
            stripe_row: common.start_row,
            header_rows: common.header_blocks,
            segment_seq: common.segment_seq,
        })
    }
}
