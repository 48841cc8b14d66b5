//! Lanes: where a reactor writes. Each has a [`Writer`](crate::write::writer::Writer), so an open segment and an open stripe, of its own.

use cygnus_format::Stream;

/// What one writer of a reactor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// What clients write; with heat-separated streams that of it which is not hot.
    Clients,
    /// What clients write to hot ranges, with heat-separated streams.
    Hot,
    /// What moves out of victims.
    Cleaning,
    /// The same in a second group, cleaned beside the first one.
    Beside,
    /// Pages of checkpoints.
    Meta,
}

impl Lane {
    /// All of them, in the order in which they are drained.
    pub(crate) const ALL: [Lane; 5] = [Lane::Clients, Lane::Hot, Lane::Cleaning, Lane::Beside, Lane::Meta];
    /// Those whose blocks the maps point to.
    pub(crate) const OF_DATA: [Lane; 4] = [Lane::Clients, Lane::Hot, Lane::Cleaning, Lane::Beside];

    /// Those where clients' writes go: a flush is about both.
    pub(crate) const OF_CLIENTS: [Lane; 2] = [Lane::Clients, Lane::Hot];

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// Whether clients' writes go there.
    pub(crate) fn is_for_clients(self) -> bool {
        Self::OF_CLIENTS.contains(&self)
    }

    /// What headers say of its stripes.
    pub(crate) fn stream(self) -> Stream {
        match self {
            Lane::Clients | Lane::Hot => Stream::Clients,
            Lane::Cleaning | Lane::Beside => Stream::Relocation,
            Lane::Meta => Stream::Meta,
        }
    }
}
