//! Writers that wait for a segment, and what the operator learns of it. Clients' writes wait without an error, since what is missing may come.

use cygnus_policy::GroupView;
use cygnus_types::{Medium, Nanos};

use crate::shared::Shared;
use crate::space::manager::{Space, on_medium};
use crate::write::lane::Lane;

/// From so long on a wait for a segment is told in the status: cleaning beside busy clients has them wait for less now and then.
const SHOWN_AFTER: Nanos = Nanos::secs(1);

/// The lanes of all reactors that wait for a segment, each with the moment from which it does.
#[derive(Default)]
pub(crate) struct Starving(Vec<(Lane, Nanos)>);

impl Starving {
    /// A lane waits.
    pub(super) fn begins(&mut self, lane: Lane, at: Nanos) {
        self.0.push((lane, at));
    }

    /// The lane that waited from then on waits no longer.
    pub(super) fn ends(&mut self, lane: Lane, begun: Nanos) {
        let waiting = self.0.iter().position(|of| *of == (lane, begun)).expect("who waits no longer has waited");
        self.0.swap_remove(waiting);
    }

    /// Whether any waits.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// From when on clients' writes to a medium have waited; of several lanes the one that has waited longest.
    pub(super) fn since(&self, medium: Medium) -> Option<Nanos> {
        self.0.iter().filter(|(lane, _)| lane.medium() == Some(medium)).map(|(_, begun)| *begun).min()
    }
}

/// Clients' writes to a medium have had no segment for a while, and wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortage {
    /// The medium.
    pub medium: Medium,
    /// For how long.
    pub waited: Nanos,
    /// Segments there that are free, and kept for cleaning.
    pub free: u32,
    /// Segments there that are emptied, and free after the next flush.
    pub emptied: u32,
    /// Segments of the array that hold blocks which cannot be read.
    pub damaged: u32,
}

impl Shortage {
    /// The longest that a status tells of; nothing of a clogged array, which refuses writes and says so.
    pub(crate) fn of(shared: &Shared, space: &Space, now: Nanos) -> Option<Self> {
        let all = Medium::ALL.into_iter().filter_map(|medium| Self::on(shared, space, medium, now));
        all.filter(|shortage| shortage.waited >= SHOWN_AFTER).max_by_key(|shortage| shortage.waited)
    }

    fn on(shared: &Shared, space: &Space, medium: Medium, now: Nanos) -> Option<Self> {
        let waited = now.since(space.starving.since(medium).filter(|_| shared.clogged() == 0)?);
        let free_of = |views: &[GroupView]| on_medium(shared, views, medium).iter().map(|view| view.free).sum::<u32>();
        let free = free_of(&space.views(shared));
        let emptied = free_of(&space.views_when_released(shared)) - free;
        Some(Self { medium, waited, free, emptied, damaged: shared.segments.damaged() })
    }

    /// What may help.
    pub fn remedy(&self) -> &'static str {
        match (self.emptied, self.damaged) {
            (0, 0) => "discard what is not needed any more, or add devices",
            (0, _) => {
                "blocks that cannot be read keep the damaged ones: write or discard these, which 'cygnus array check' names"
            }
            _ => "what was emptied waits for a flush, so look for a member that is slow to flush",
        }
    }
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { medium, waited, free, emptied, damaged } = self;
        write!(
            f,
            "for {waited} there has been no segment for clients' writes on {medium} (free and kept for cleaning: {free}, \
             emptied: {emptied}, damaged: {damaged}); {}",
            self.remedy()
        )
    }
}

/// Says in the log how long a lane's medium has been short, how it is, and what may help. What is hot goes to the other stream meanwhile.
pub(super) fn tell(shared: &Shared, space: &Space, lane: Lane, now: Nanos) {
    let is_news = lane.is_for_clients() && lane.is_waited_for();
    let Some(medium) = lane.medium().filter(|_| is_news) else { return };
    if let Some(shortage) = Shortage::on(shared, space, medium, now) {
        shared.log_repeated("no segment for clients' writes", &medium.to_string(), shortage.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_waited_longest_counts_and_cleaning_is_no_client() {
        let (mut starving, flash) = (Starving::default(), Lane::Clients(Medium::Flash));
        starving.begins(Lane::Cleaning, Nanos(1));
        assert_eq!((starving.any(), starving.since(Medium::Flash)), (true, None));
        starving.begins(flash, Nanos(5));
        starving.begins(flash, Nanos(3));
        assert_eq!(starving.since(Medium::Flash), Some(Nanos(3)));
        starving.ends(flash, Nanos(3));
        assert_eq!((starving.since(Medium::Flash), starving.since(Medium::Disk)), (Some(Nanos(5)), None));
        starving.ends(flash, Nanos(5));
        starving.ends(Lane::Cleaning, Nanos(1));
        assert!(!starving.any());
    }
}
