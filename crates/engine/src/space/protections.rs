//! What segments are protected by: the rule by which it is chosen.
//!
//! The superblocks say of the array as a whole how many parity columns its groups have. That is the promise: no segment has
//! fewer. Segments that clients' writes fill may have more, if the array was made so, up to as many copies as a group has
//! columns. Cleaning moves what they hold into segments that have as many as promised.

use cygnus_format::{ArrayState, Geometry, GeometryError, MAX_PARITY, Protection};

use crate::error::ArrayError;
use crate::write::lane::Lane;

/// Policy parameter under which the parity columns of clients' segments are recorded, where they are more than the array's.
pub(crate) const CLIENTS_PARITY: &str = "clients-parity";

/// Segments cannot be protected so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unprotectable {
    #[error("{asked} parity columns for clients' writes are not possible: {least} to {most} are")]
    Columns { asked: u8, least: u8, most: u8 },
    #[error("for segments of clients' writes: {0}")]
    Shape(#[from] GeometryError),
}

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Protections {
    /// The shape of segments that are protected as promised.
    all: Geometry,
    /// The shape of those that clients' writes fill.
    clients: Geometry,
}

impl Protections {
    /// Segments of this shape, and `clients` parity columns in those that clients' writes fill.
    ///
    /// # Errors
    /// When the columns are too few for that, or it is less than promised.
    pub(crate) fn new(all: Geometry, clients: u8) -> Result<Self, Unprotectable> {
        let (asked, least, most) = (clients, all.parity, (all.width() - 1).min(MAX_PARITY));
        let shape = all.protected_by(Protection::FullStripe { parity: asked });
        let Some(clients) = shape.filter(|_| (least..=most).contains(&asked)) else {
            return Err(Unprotectable::Columns { asked, least, most });
        };
        clients.validate()?;
        Ok(Self { all, clients })
    }

    /// As the superblocks have it.
    ///
    /// # Errors
    /// When they want what is not possible.
    pub(crate) fn of(state: &ArrayState) -> Result<Self, ArrayError> {
        let wanted = state.policies.iter().find(|p| p.name == CLIENTS_PARITY).map(|p| p.value);
        let clients = wanted.map_or(state.geometry.parity, |value| u8::try_from(value).unwrap_or(u8::MAX));
        Self::new(state.geometry, clients)
            .map_err(|why| ArrayError::Format { device: state.name.clone(), why: why.to_string() })
    }

    /// Whether segments may differ.
    pub(crate) fn differ(&self) -> bool {
        self.all != self.clients
    }

    /// What a segment that this lane fills is protected by.
    pub(crate) fn of_lane(&self, lane: Lane) -> Protection {
        match lane {
            Lane::Clients(_) | Lane::Hot(_) | Lane::Own(..) => self.clients.protection(),
            Lane::Cleaning | Lane::CleaningOwn(_) | Lane::Beside | Lane::Meta => self.all.protection(),
        }
    }

    /// The shapes that segments may have, each once.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = Geometry> + use<> {
        let others = self.differ().then_some(self.clients);
        std::iter::once(self.all).chain(others)
    }

    /// The shape of segments that are protected so, if there may be any.
    pub(crate) fn shape(&self, protection: Protection) -> Option<Geometry> {
        self.shapes().find(|shape| shape.protection() == protection)
    }

    /// The greatest height of a stripe that begins at this row of a segment, whatever that is protected by; 0 if none does.
    pub(crate) fn rows_at(&self, row: u32) -> u32 {
        self.shapes().map(|shape| shape.full_rows_at(row)).max().unwrap_or(0)
    }

    /// The most blocks of header of a stripe that begins at this row, on each column.
    pub(crate) fn header_blocks_at(&self, row: u32) -> u32 {
        let blocks = |shape: Geometry| match shape.full_rows_at(row) {
            0 => 0,
            rows => shape.header_blocks(rows),
        };
        self.shapes().map(blocks).max().unwrap_or(0)
    }

    /// The most rows of a stripe, its header included.
    pub(crate) fn tallest(&self) -> u32 {
        self.shapes().map(|shape| shape.stripe_rows + shape.header_blocks(shape.stripe_rows)).max().unwrap_or(0)
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

    /// Data blocks of a segment that a checkpoint fills.
    pub(crate) fn checkpoint_capacity(&self) -> u32 {
        self.all.capacity()
    }

    /// The most data blocks of a stripe.
    pub(crate) fn most_slots(&self) -> u32 {
        self.all.slots(self.all.stripe_rows)
    }
}
