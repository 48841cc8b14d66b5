//! What segments are protected by: the rule by which it is chosen.
//!
//! The superblocks say how many parity columns a group has. That is the promise: no segment has fewer. Segments that clients' writes
//! fill may have more, if the array was made so, up to as many copies as a group has columns. Cleaning moves what they hold into
//! segments that have as many as promised.
//!
//! All groups on one medium have the same columns, as what cleaning moves may go to another one of them: a victim must not take
//! more segments than it gives. Nothing depends on what the groups on the other medium have.

use cygnus_format::{
    ArrayState, Geometry, GeometryError, GroupDesc, GroupState, MAX_PARITY, Protection, RAID_ON, Raid,
};
use cygnus_types::Medium;

use crate::error::ArrayError;
use crate::write::lane::Lane;

/// Policy parameter under which the parity columns of clients' segments are recorded, where they are more than the array's.
pub(crate) const CLIENTS_PARITY: &str = "clients-parity";

/// Segments cannot be protected so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unprotectable {
    #[error("{asked} parity columns for clients' writes are not possible: {least} to {most} are")]
    Columns { asked: u8, least: u8, most: u8 },
    #[error("segments of such columns: {0}")]
    Shape(#[from] GeometryError),
}

/// The shapes that segments may have in groups on one medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shapes {
    /// Of segments that are protected as promised.
    all: Geometry,
    /// Of those that clients' writes fill.
    clients: Geometry,
}

impl Shapes {
    /// Segments of this shape, and `clients` parity columns in those that clients' writes fill.
    ///
    /// # Errors
    /// When the columns are too few for that, or it is less than promised.
    fn new(all: Geometry, clients: u8) -> Result<Self, Unprotectable> {
        // What superblocks say may be anything.
        all.validate()?;
        let (asked, least, most) = (clients, all.parity, (all.width() - 1).min(MAX_PARITY));
        let shape = all.protected_by(Protection::FullStripe { parity: asked });
        let Some(clients) = shape.filter(|_| (least..=most).contains(&asked)) else {
            return Err(Unprotectable::Columns { asked, least, most });
        };
        clients.validate()?;
        Ok(Self { all, clients })
    }

    /// Whether segments may differ.
    pub(crate) fn differ(&self) -> bool {
        self.all != self.clients
    }

    /// What a segment that this lane fills is protected by.
    pub(crate) fn of_lane(&self, lane: Lane) -> Protection {
        match lane {
            Lane::Clients(_) | Lane::Hot(_) | Lane::Own(..) | Lane::Moved(_) => self.clients.protection(),
            Lane::Cleaning | Lane::CleaningOwn(_) | Lane::Beside | Lane::Meta => self.all.protection(),
        }
    }

    /// The shapes that segments may have, each once.
    pub(crate) fn each(&self) -> impl Iterator<Item = Geometry> + use<> {
        let others = self.differ().then_some(self.clients);
        std::iter::once(self.all).chain(others)
    }

    /// The shape of segments that are protected so, if there may be any.
    pub(crate) fn shape(&self, protection: Protection) -> Option<Geometry> {
        self.each().find(|shape| shape.protection() == protection)
    }

    /// The greatest height of a stripe that begins at this row of a segment, whatever that is protected by; 0 if none does.
    pub(crate) fn rows_at(&self, row: u32) -> u32 {
        self.each().map(|shape| shape.full_rows_at(row)).max().unwrap_or(0)
    }

    /// The most blocks of header of a stripe that begins at this row, on each column.
    pub(crate) fn header_blocks_at(&self, row: u32) -> u32 {
        let blocks = |shape: Geometry| match shape.full_rows_at(row) {
            0 => 0,
            rows => shape.header_blocks(rows),
        };
        self.each().map(blocks).max().unwrap_or(0)
    }

    /// Data blocks that a segment holds for certain, whoever fills it: what can be promised.
    pub(crate) fn capacity(&self) -> u32 {
        self.clients.capacity().min(self.all.capacity())
    }

    /// The same where volumes are mapped by pages of so many blocks at most.
    pub(crate) fn capacity_of_pages(&self, page: u8) -> u32 {
        let of = |shape: &Geometry| if page > 1 { shape.capacity_of_pages(page.into()) } else { shape.capacity() };
        of(&self.clients).min(of(&self.all))
    }

    /// The shape of segments that are protected as promised.
    pub(crate) fn as_promised(&self) -> &Geometry {
        &self.all
    }

    /// Data blocks of a segment that cleaning or a checkpoint fills.
    pub(crate) fn capacity_as_promised(&self) -> u32 {
        self.all.capacity()
    }

    /// The most data blocks of a stripe.
    pub(crate) fn most_slots(&self) -> u32 {
        self.all.slots(self.all.stripe_rows)
    }
}

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Protections {
    on: [Shapes; Medium::ALL.len()],
    /// Kept, since who looks at the free space wants it, and to find it takes a walk through a segment.
    checkpoint_capacity: u32,
}

impl Protections {
    fn new(on: [Shapes; Medium::ALL.len()]) -> Self {
        Self { on, checkpoint_capacity: on.iter().map(Shapes::capacity_as_promised).min().unwrap_or(0) }
    }

    /// Of an array whose groups are all of this shape, with `clients` parity columns in segments that clients' writes fill.
    ///
    /// # Errors
    /// When the columns are too few for that, or it is less than promised.
    pub(crate) fn alike(all: Geometry, clients: u8) -> Result<Self, Unprotectable> {
        Ok(Self::new([Shapes::new(all, clients)?; Medium::ALL.len()]))
    }

    /// As the superblocks have it.
    ///
    /// # Errors
    /// When they want what is not possible.
    pub(crate) fn of(state: &ArrayState) -> Result<Self, ArrayError> {
        let impossible = |why: String| ArrayError::Format { device: state.name.clone(), why };
        let wanted = state.policies.iter().find(|p| p.name == CLIENTS_PARITY).map(|p| p.value);
        let mut on = Vec::with_capacity(Medium::ALL.len());
        for medium in Medium::ALL {
            let raid = raid_on(state, medium).map_err(|error| impossible(error.to_string()))?;
            let all = state.geometry.with_raid(raid);
            let clients = wanted.map_or(all.parity, |value| u8::try_from(value).unwrap_or(u8::MAX));
            on.push(Shapes::new(all, clients).map_err(|why| impossible(why.to_string()))?);
        }
        Ok(Self::new(on.try_into().expect("one for each medium")))
    }

    /// The shapes that segments may have in groups on a medium.
    #[inline]
    pub(crate) fn on(&self, medium: Medium) -> &Shapes {
        &self.on[medium.index()]
    }

    /// All shapes that segments may have, some perhaps more than once.
    pub(crate) fn each(&self) -> impl Iterator<Item = Geometry> {
        self.on.iter().flat_map(Shapes::each)
    }

    /// Whether segments on one medium may differ.
    pub(crate) fn differ(&self) -> bool {
        self.on.iter().any(Shapes::differ)
    }

    /// The most rows of a stripe, its header included.
    pub(crate) fn tallest(&self) -> u32 {
        self.each().map(|shape| shape.stripe_rows + shape.header_blocks(shape.stripe_rows)).max().unwrap_or(0)
    }

    /// Data blocks of a segment that a checkpoint fills, on the medium where they are fewest.
    pub(crate) fn checkpoint_capacity(&self) -> u32 {
        self.checkpoint_capacity
    }

    /// How often each page of a checkpoint is written: twice if on some medium no parity restores it.
    pub(crate) fn checkpoint_copies(&self) -> u32 {
        self.on.iter().map(|shapes| shapes.all.checkpoint_copies()).max().unwrap_or(1)
    }
}

/// How a shape is recorded ([`RAID_ON`]).
pub(crate) fn raid_value(raid: Raid) -> u64 {
    u64::from(raid.data) << 8 | u64::from(raid.parity)
}

/// A group of another shape than its medium has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("R-group {group} is {has}, and groups on {medium} are {all}")]
pub(crate) struct UnlikeRaid {
    group: usize,
    has: Raid,
    medium: Medium,
    all: Raid,
}

/// The shape of groups on a medium.
///
/// # Errors
/// When some group there has another one.
fn raid_on(state: &ArrayState, medium: Medium) -> Result<Raid, UnlikeRaid> {
    let recorded = state.policies.iter().find(|policy| policy.name == RAID_ON[medium.index()]);
    let [.., data, parity] = recorded.map_or(raid_value(state.geometry.raid()), |policy| policy.value).to_be_bytes();
    let all = Raid { data, parity };
    let is_unlike = |(_, group): &(usize, &GroupDesc)| {
        group.medium == medium && group.state != GroupState::Retired && group.raid != all
    };
    match state.groups.iter().enumerate().find(is_unlike) {
        None => Ok(all),
        Some((group, GroupDesc { raid, .. })) => Err(UnlikeRaid { group, has: *raid, medium, all }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A superblock with a right checksum may still say anything.
    #[test]
    fn shapes_that_cannot_be_are_errors() {
        let raid = Raid { data: 2, parity: 1 };
        let geometry = Geometry {
            data: 2,
            parity: 1,
            chunk_blocks: 1,
            stripe_rows: 4,
            segment_blocks: 64,
            transient_blocks: 0,
            lead_blocks: 0,
        };
        assert!(Shapes::new(geometry.with_raid(raid), 1).is_ok());
        for (data, parity) in [(0, 0), (0, 1), (255, 255), (255, 0), (2, 4), (40, 1)] {
            let shape = geometry.with_raid(Raid { data, parity });
            assert!(Shapes::new(shape, parity).is_err(), "{data}+{parity}");
        }
    }
}
