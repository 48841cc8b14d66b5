//! Stripes as they stand on the disks, for `dump` and `check`: read with the format's own decoders, believing nothing
//! that they do not verify.

use cygnus_format::{Discard, Entry, Geometry, Layout, StripeCommon, StripeError, StripeHeader};
use cygnus_host::members::{Assembly, Member};
use cygnus_types::{BLOCK, GroupId, SegmentId};
use cygnus_uring::{Access, Device, OpenError};

/// The columns of one R-group, opened; `None` where the member is not there.
pub struct Columns {
    devices: Vec<Option<Device>>,
    geometry: Geometry,
    array_tag: u64,
    group: GroupId,
}

/// A verified header, copied out of the bytes it was read into.
#[derive(Clone, Debug)]
pub struct Header {
    /// The column it was read from.
    pub column: u8,
    /// What all columns' headers have in common.
    pub common: StripeCommon,
    entries: Vec<(u8, Vec<Entry>)>,
    /// Discards made while the stripe was open.
    pub discards: Vec<Discard>,
}

impl Header {
    /// The entries of a column, if this header has them.
    pub fn entries_of(&self, column: u8) -> Option<&[Entry]> {
        self.entries.iter().find(|(described, _)| *described == column).map(|(_, entries)| &entries[..])
    }
}

/// A stripe of which at least one column's header is intact.
pub struct FoundStripe {
    /// As the newest header says.
    pub common: StripeCommon,
    /// By column: its header, or why there is none; `None` where the member is not there.
    pub columns: Vec<Option<Result<Header, StripeError>>>,
}

impl FoundStripe {
    /// The headers that are intact and of this stripe.
    pub fn headers(&self) -> impl Iterator<Item = &Header> {
        let same = |header: &&Header| header.common.segment_seq == self.common.segment_seq;
        self.columns.iter().flatten().flatten().filter(same)
    }
}

impl Columns {
    /// Opens the members of a group for reading.
    pub fn open(assembly: &Assembly, layout: &Layout, group: GroupId) -> Result<Self, OpenError> {
        let open = |member: &Member| Device::open(&member.path, Access::ReadOnly);
        let geometry = *layout.shape(group);
        let devices = layout
            .members_of(group)
            .map(|member| assembly.members[member.index()].as_ref().map(open).transpose())
            .collect::<Result<_, _>>()?;
        Ok(Self { devices, geometry, array_tag: assembly.newest.array.tag(), group })
    }

    /// The shape of its segments.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Blocks of one column, from a row of a segment on.
    pub fn read(&self, segment: SegmentId, column: u8, row: u32, blocks: u32) -> Option<std::io::Result<Vec<u8>>> {
        let device = self.devices[usize::from(column)].as_ref()?;
        let offset = self.geometry.device_offset(segment.0, row);
        Some(device.read_now(offset, blocks as usize * BLOCK))
    }

    /// The stripes of a segment, from its first row on, for as long as they follow each other.
    pub fn chain(&self, segment: SegmentId) -> Chain<'_> {
        Chain { columns: self, segment, row: 0, segment_seq: None, broken: None }
    }

    fn stripe_at(&self, segment: SegmentId, row: u32) -> Result<FoundStripe, StripeError> {
        let width = self.geometry.width();
        let columns: Vec<_> = (0..width).map(|column| self.header(segment, column, row)).collect();
        // Columns may hold different lives of the segment if power failed while it was begun anew: the newest counts.
        let newest = columns.iter().flatten().flatten().max_by_key(|header| header.common.segment_seq);
        match newest.map(|header| header.common) {
            Some(common) => Ok(FoundStripe { common, columns }),
            None => {
                let errors = columns.into_iter().flatten().filter_map(Result::err);
                Err(errors
                    .reduce(|a, b| if a == StripeError::NotAStripe { b } else { a })
                    .unwrap_or(StripeError::NotAStripe))
            }
        }
    }

    fn header(&self, segment: SegmentId, column: u8, row: u32) -> Option<Result<Header, StripeError>> {
        let mut bytes = self.read(segment, column, row, 1)?.ok()?;
        if let Err(StripeError::Truncated { need, .. }) = StripeHeader::decode(&bytes) {
            bytes = self.read(segment, column, row, (need / BLOCK) as u32)?.ok()?;
        }
        let verified = StripeHeader::decode(&bytes)
            .and_then(|header| header.verify(self.array_tag))
            .and_then(|header| header.at(self.group, segment, column, row));
        Some(verified.map(|header| {
            Header {
                column,
                common: *header.common(),
                entries: (0..self.geometry.width())
                    .filter_map(|described| Some((described, header.entries_of(described)?.to_vec())))
                    .collect(),
                discards: header.discards().to_vec(),
            }
        }))
    }
}

/// Follows the stripes of a segment.
pub struct Chain<'a> {
    columns: &'a Columns,
    segment: SegmentId,
    row: u32,
    segment_seq: Option<u64>,
    broken: Option<StripeError>,
}

impl Chain<'_> {
    /// After the end: why it ended, if something that once was a header stands where the next one would.
    pub fn broken(&self) -> Option<&StripeError> {
        self.broken.as_ref()
    }
}

impl Iterator for Chain<'_> {
    type Item = FoundStripe;

    fn next(&mut self) -> Option<FoundStripe> {
        if self.broken.is_some() || self.row >= self.columns.geometry.segment_blocks {
            return None;
        }
        let found = match self.columns.stripe_at(self.segment, self.row) {
            Ok(found) => found,
            Err(error) => {
                self.broken = Some(error).filter(|error| *error != StripeError::NotAStripe);
                self.row = u32::MAX;
                return None;
            }
        };
        // Behind the last stripe may stand what an earlier life of the segment left.
        if *self.segment_seq.get_or_insert(found.common.segment_seq) != found.common.segment_seq {
            self.row = u32::MAX;
            return None;
        }
        self.row = found.common.end_row();
        Some(found)
    }
}
