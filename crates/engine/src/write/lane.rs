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

/// One of the targets to which blocks move out of the way of contention, each with an open segment in a group of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u8);

impl Slot {
    /// All of them: as many as clusters are hot at most in Triple-A's Figure 12, so that each may have a target of its own.
    pub(crate) const ALL: [Slot; 8] = [Slot(0), Slot(1), Slot(2), Slot(3), Slot(4), Slot(5), Slot(6), Slot(7)];

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
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
    /// What moves out of the way of contention, to a target that the rule has chosen (`docs/decisions/066-moves-choose-their-target.md`).
    Moved(Slot),
    /// Pages of checkpoints.
    Meta,
}

const MEDIA: usize = Medium::ALL.len();
/// Lanes of clients' writes: of each medium the common one, that of what is hot, and those of volumes.
const CLIENTS: usize = MEDIA * (2 + Own::ALL.len());
/// Lanes of what moves out of victims, the common one and those of volumes.
const CLEANING: usize = 1 + Own::ALL.len();
/// The first lane of moves: behind those of cleaning and the one beside.
const MOVED: usize = CLIENTS + CLEANING + 1;
const LANES: usize = MOVED + Slot::ALL.len() + 1;

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
    n = 0;
    while n < Slot::ALL.len() {
        all[MOVED + n] = Lane::Moved(Slot::ALL[n]);
        n += 1;
    }
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

    /// Those where what moves out of the way of contention goes.
    pub(crate) const OF_MOVES: &[Lane] = Self::ALL.split_at(MOVED + Slot::ALL.len()).0.split_at(MOVED).1;
    /// Those that a reactor which helps others has on their way when emptied segments are given back: all of data but clients'.
    pub(crate) const OF_HELPERS: &[Lane] = Self::ALL.split_at(MOVED + Slot::ALL.len()).0.split_at(MOVED - 1).1;

    pub(crate) fn index(self) -> usize {
        match self {
            Lane::Clients(medium) => medium.index(),
            Lane::Hot(medium) => MEDIA + medium.index(),
            Lane::Own(medium, Own(own)) => MEDIA * (2 + usize::from(own)) + medium.index(),
            Lane::Cleaning => CLIENTS,
            Lane::CleaningOwn(Own(own)) => CLIENTS + 1 + usize::from(own),
            Lane::Beside => MOVED - 1,
            Lane::Moved(slot) => MOVED + slot.index(),
            Lane::Meta => LANES - 1,
        }
    }

    /// Whether anything is written there where writes share segments in this way.
    pub(crate) fn is_of(self, streams: Streams) -> bool {
        match self {
            Lane::Hot(_) => streams == Streams::ByHeat,
            Lane::Own(..) | Lane::CleaningOwn(_) => streams == Streams::ByVolume,
            Lane::Clients(_) | Lane::Cleaning | Lane::Beside | Lane::Moved(_) | Lane::Meta => true,
        }
    }

    /// The medium on which all of its segments are, if there is one.
    pub(crate) fn medium(self) -> Option<Medium> {
        match self {
            Lane::Clients(medium) | Lane::Hot(medium) | Lane::Own(medium, _) => Some(medium),
            Lane::Cleaning | Lane::CleaningOwn(_) | Lane::Beside | Lane::Moved(_) | Lane::Meta => None,
        }
    }

    /// Whether clients' writes go there.
    pub(crate) fn is_for_clients(self) -> bool {
        self.medium().is_some()
    }

    /// Whether somebody waits for its segments: to the others nothing is written while they have none.
    pub(crate) fn is_waited_for(self) -> bool {
        !matches!(self, Lane::Hot(_) | Lane::CleaningOwn(_) | Lane::Beside | Lane::Moved(_))
    }

    /// Whether it gets a segment at once or none: who moves data asks again with the next block.
    pub(crate) fn is_granted_at_once(self) -> bool {
        matches!(self, Lane::Moved(_))
    }

    /// Whether its stripes wait while too much is not flushed, and see to a flush: of what cleaning moves, cleaning flushes enough.
    pub(crate) fn waits_for_flushes(self) -> bool {
        self.is_for_clients() || matches!(self, Lane::Moved(_))
    }

    /// Its stripes that may be on their way to the devices at once. For clients, enough to keep every device busy while the next stripe
    /// fills, and few enough that a flush does not wait long. A move can wait, and eight lanes of moves keep memory for these.
    pub(crate) fn most_in_flight(self) -> usize {
        if matches!(self, Lane::Moved(_)) { 4 } else { 16 }
    }

    /// What headers say of its stripes.
    pub(crate) fn stream(self) -> Stream {
        match self {
            Lane::Clients(_) | Lane::Hot(_) | Lane::Own(..) | Lane::Moved(_) => Stream::Clients,
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
        assert_eq!(Lane::OF_MOVES.len(), Slot::ALL.len());
        assert!(Lane::OF_MOVES.iter().all(|lane| matches!(lane, Lane::Moved(_))));
        assert_eq!(Lane::OF_HELPERS.split_first(), Some((&Lane::Beside, Lane::OF_MOVES)));
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
