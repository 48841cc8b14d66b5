//! Lanes: where a reactor writes. Each has a [`Writer`](crate::write::writer::Writer), so an open segment and an open stripe, of its own.

use cygnus_format::Stream;
use cygnus_policy::Streams;
use cygnus_types::{Medium, VolumeId};

/// A stream of volumes' own beside the common one ([`Streams::ByVolume`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Own(u8);

impl Own {
    /// All of them.
    pub(crate) const ALL: [Own; 3] = [Own(0), Own(1), Own(2)];

    /// That of a volume; `None`: it has the common one.
    pub(crate) fn of(volume: VolumeId) -> Option<Self> {
        (volume.0 % Streams::OF_VOLUMES).checked_sub(1).map(|own| Self(own as u8))
    }
}

const _: () = assert!(Own::ALL.len() + 1 == Streams::OF_VOLUMES as usize);

/// What one writer of a reactor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// What clients write to one medium, but for what is kept apart.
    Clients(Medium),
    /// What clients write to hot ranges, with heat-separated streams.
    Hot(Medium),
    /// What clients write to volumes whose stream is not the common one.
    Own(Medium, Own),
    /// What moves out of victims.
    Cleaning,
    /// The same of volumes whose stream is not the common one.
    CleaningOwn(Own),
    /// The same in a second group, cleaned beside the first one; on other reactors than the home one all that they move to help it.
    Beside,
    /// Pages of checkpoints.
    Meta,
}

const MEDIA: usize = Medium::ALL.len();
/// Lanes of clients' writes: of each medium the common one, that of what is hot, and those of volumes.
const CLIENTS: usize = MEDIA * (2 + Own::ALL.len());
/// Lanes of what moves out of victims, the common one and those of volumes.
const CLEANING: usize = 1 + Own::ALL.len();
const LANES: usize = CLIENTS + CLEANING + 2;

/// Each lane at its index.
const fn all() -> [Lane; LANES] {
    let mut all = [Lane::Meta; LANES];
    let (mut n, mut own) = (0, 0);
    while n < MEDIA {
        (all[n], all[MEDIA + n]) = (Lane::Clients(Medium::ALL[n]), Lane::Hot(Medium::ALL[n]));
        n += 1;
    }
    all[CLIENTS] = Lane::Cleaning;
    while own < Own::ALL.len() {
        n = 0;
        while n < MEDIA {
            all[MEDIA * (2 + own) + n] = Lane::Own(Medium::ALL[n], Own::ALL[own]);
            n += 1;
        }
        all[CLIENTS + 1 + own] = Lane::CleaningOwn(Own::ALL[own]);
        own += 1;
    }
    all[CLIENTS + CLEANING] = Lane::Beside;
    all
}

impl Lane {
    /// All of them, in the order in which they are drained.
    pub(crate) const ALL: [Lane; LANES] = all();
    /// Those whose blocks the maps point to.
    pub(crate) const OF_DATA: &[Lane] = Self::ALL.split_at(LANES - 1).0;
    /// Those where clients' writes go: a flush is about all of them.
    pub(crate) const OF_CLIENTS: &[Lane] = Self::ALL.split_at(CLIENTS).0;
    /// Those where what moves out of victims goes, in the group that is cleaned.
    pub(crate) const OF_CLEANING: &[Lane] = Self::ALL.split_at(CLIENTS + CLEANING).0.split_at(CLIENTS).1;

    pub(crate) fn index(self) -> usize {
        const BESIDE: usize = CLIENTS + CLEANING;
        match self {
            Lane::Clients(medium) => medium.index(),
            Lane::Hot(medium) => MEDIA + medium.index(),
            Lane::Own(medium, Own(own)) => MEDIA * (2 + usize::from(own)) + medium.index(),
            Lane::Cleaning => CLIENTS,
            Lane::CleaningOwn(Own(own)) => CLIENTS + 1 + usize::from(own),
            Lane::Beside => BESIDE,
            Lane::Meta => BESIDE + 1,
        }
    }

    /// Whether anything is written there where writes share segments in this way.
    pub(crate) fn is_of(self, streams: Streams) -> bool {
        match self {
            Lane::Hot(_) => streams == Streams::ByHeat,
            Lane::Own(..) | Lane::CleaningOwn(_) => streams == Streams::ByVolume,
            Lane::Clients(_) | Lane::Cleaning | Lane::Beside | Lane::Meta => true,
        }
    }

    /// The medium on which all of its segments are, if there is one.
    pub(crate) fn medium(self) -> Option<Medium> {
        match self {
            Lane::Clients(medium) | Lane::Hot(medium) | Lane::Own(medium, _) => Some(medium),
            Lane::Cleaning | Lane::CleaningOwn(_) | Lane::Beside | Lane::Meta => None,
        }
    }

    /// Whether clients' writes go there.
    pub(crate) fn is_for_clients(self) -> bool {
        self.medium().is_some()
    }

    /// Whether somebody waits for its segments: to the others nothing is written while they have none.
    pub(crate) fn is_waited_for(self) -> bool {
        !matches!(self, Lane::Hot(_) | Lane::CleaningOwn(_) | Lane::Beside)
    }

    /// What headers say of its stripes.
    pub(crate) fn stream(self) -> Stream {
        match self {
            Lane::Clients(_) | Lane::Hot(_) | Lane::Own(..) => Stream::Clients,
            Lane::Cleaning | Lane::CleaningOwn(_) | Lane::Beside => Stream::Relocation,
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
        let is_of_cleaning = |lane: &Lane| matches!(lane, Lane::Cleaning | Lane::CleaningOwn(_));
        assert!(Lane::OF_CLEANING.iter().all(is_of_cleaning));
        assert_eq!(Lane::ALL.iter().filter(|lane| is_of_cleaning(lane)).count(), Lane::OF_CLEANING.len());
    }

    /// A lane that is waited for makes cleaning hurry, and refuse writes in the end, until it has a segment.
    #[test]
    fn nobody_waits_for_what_cleaning_can_do_without() {
        let waited_for = Lane::OF_CLEANING.iter().filter(|lane| lane.is_waited_for());
        assert_eq!(waited_for.collect::<Vec<_>>(), [&Lane::Cleaning]);
        let is_hot = |lane: &Lane| matches!(lane, Lane::Hot(_));
        assert!(Lane::OF_CLIENTS.iter().all(|lane| lane.is_waited_for() != is_hot(lane)));
    }

    #[test]
    fn volumes_have_the_streams_by_turns() {
        let own = |volume| Own::of(VolumeId(volume));
        assert_eq!(
            [own(0), own(1), own(2), own(3), own(4), own(5)],
            [None, Some(Own(0)), Some(Own(1)), Some(Own(2)), None, Some(Own(0))]
        );
    }
}
