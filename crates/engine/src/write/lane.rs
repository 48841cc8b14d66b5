//! Lanes: where a reactor writes. Each has a [`Writer`](crate::write::writer::Writer), so an open segment and an open stripe, of its own.

use cygnus_format::Stream;
use cygnus_types::Medium;

/// What one writer of a reactor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// What clients write to one medium; with heat-separated streams that of it which is not hot.
    Clients(Medium),
    /// What clients write to hot ranges, with heat-separated streams.
    Hot(Medium),
    /// What moves out of victims.
    Cleaning,
    /// The same in a second group, cleaned beside the first one.
    Beside,
    /// Pages of checkpoints.
    Meta,
}

impl Lane {
    /// All of them, in the order in which they are drained.
    pub(crate) const ALL: [Lane; 7] = [
        Lane::Clients(Medium::Flash),
        Lane::Clients(Medium::Disk),
        Lane::Hot(Medium::Flash),
        Lane::Hot(Medium::Disk),
        Lane::Cleaning,
        Lane::Beside,
        Lane::Meta,
    ];
    /// Those whose blocks the maps point to.
    pub(crate) const OF_DATA: &[Lane] = Self::ALL.split_at(6).0;
    /// Those where clients' writes go: a flush is about all of them.
    pub(crate) const OF_CLIENTS: &[Lane] = Self::ALL.split_at(4).0;

    pub(crate) fn index(self) -> usize {
        match self {
            Lane::Clients(medium) => medium.index(),
            Lane::Hot(medium) => Medium::ALL.len() + medium.index(),
            Lane::Cleaning => 2 * Medium::ALL.len(),
            Lane::Beside => 2 * Medium::ALL.len() + 1,
            Lane::Meta => 2 * Medium::ALL.len() + 2,
        }
    }

    /// The medium on which all of its segments are, if there is one.
    pub(crate) fn medium(self) -> Option<Medium> {
        match self {
            Lane::Clients(medium) | Lane::Hot(medium) => Some(medium),
            Lane::Cleaning | Lane::Beside | Lane::Meta => None,
        }
    }

    /// Whether clients' writes go there.
    pub(crate) fn is_for_clients(self) -> bool {
        self.medium().is_some()
    }

    /// Whether it is for what is hot.
    pub(crate) fn is_hot(self) -> bool {
        matches!(self, Lane::Hot(_))
    }

    /// What headers say of its stripes.
    pub(crate) fn stream(self) -> Stream {
        match self {
            Lane::Clients(_) | Lane::Hot(_) => Stream::Clients,
            Lane::Cleaning | Lane::Beside => Stream::Relocation,
            Lane::Meta => Stream::Meta,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_place() {
        assert!(Lane::ALL.iter().enumerate().all(|(at, lane)| lane.index() == at));
        assert!(!Lane::OF_DATA.contains(&Lane::Meta));
        assert!(Lane::OF_CLIENTS.iter().all(|lane| lane.is_for_clients()));
        assert_eq!(Lane::ALL.iter().filter(|lane| lane.is_for_clients()).count(), Lane::OF_CLIENTS.len());
    }
}
