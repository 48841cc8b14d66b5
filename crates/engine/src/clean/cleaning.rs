//! What the cleaner keeps: the segments it is emptying, and what clients did meanwhile.

use std::cell::{Cell, RefCell};

use cygnus_runtime::Event;
use cygnus_types::{GroupId, Nanos};

use crate::clean::candidates::Candidates;
use crate::clean::damage::Damage;
use crate::clean::gained::Gained;
use crate::clean::helping::Helpers;
use crate::space::segments::SegIx;

/// Clients that have asked for nothing for so long do not count.
const LATELY: Nanos = Nanos::millis(10);

/// What clients have done since the array was opened; counts wrap around.
#[derive(Clone, Copy, Default)]
pub(crate) struct SoFar {
    /// Reads begun in the group that is being cleaned.
    pub reads: u32,
    /// Writes begun that are answered when members have them.
    pub answers: u32,
    /// Blocks written.
    pub written: u64,
}

/// What clients did lately in a group.
#[derive(Clone, Copy, Default)]
pub(crate) struct Clients {
    group: GroupId,
    since: Nanos,
    so_far: SoFar,
    /// They read from the group that is being cleaned.
    pub read: bool,
    /// They wrote what is answered when members have it.
    pub answer: bool,
    /// They wrote.
    pub write: bool,
}

/// The same of both groups that are cleaned side by side.
#[derive(Default)]
pub(crate) struct ClientsSeen([Clients; 2]);

impl ClientsSeen {
    /// What clients did lately in a group, by what they have done so far.
    pub(crate) fn look(&mut self, group: GroupId, now: Nanos, so_far: SoFar) -> Clients {
        let noted = &mut self.0;
        let oldest = usize::from(noted[1].since < noted[0].since);
        let at = noted.iter().position(|noted| noted.group == group).unwrap_or(oldest);
        let before = &mut noted[at];
        if before.group == group && now.since(before.since) < LATELY {
            return *before;
        }
        let SoFar { reads, answers, written } = before.so_far;
        let (read, answer) = (before.group == group && reads != so_far.reads, answers != so_far.answers);
        *before = Clients { group, since: now, so_far, read, answer, write: written != so_far.written };
        *before
    }
}

/// See the module's text.
pub(crate) struct Cleaning {
    /// Segments that may be emptied.
    pub candidates: RefCell<Candidates>,
    /// Segments that the cleaner is emptying; few.
    pub victims: RefCell<Vec<SegIx>>,
    /// The reactors that empty some of them.
    pub helpers: Helpers,
    /// Segments that cannot be emptied.
    pub damage: Damage,
    /// How fast it gains room.
    pub gained: RefCell<Gained>,
    /// What clients did lately in the groups being cleaned.
    pub clients: RefCell<ClientsSeen>,
    /// Segments that were emptied are being given back.
    pub releasing: Cell<bool>,
    /// Whether the cleaner is there.
    pub running: Cell<bool>,
    /// Notified when it has ended.
    pub ended: Event,
}

impl Cleaning {
    pub(crate) fn new(candidates: Candidates) -> Self {
        Self {
            candidates: RefCell::new(candidates),
            victims: RefCell::default(),
            helpers: Helpers::default(),
            damage: Damage::default(),
            gained: RefCell::default(),
            clients: RefCell::default(),
            releasing: Cell::default(),
            running: Cell::default(),
            ended: Event::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_count_for_as_long_as_they_asked_lately() {
        let (mut seen, group, now) = (ClientsSeen::default(), GroupId(3), Nanos::secs(1));
        let so_far = |reads, answers, written| SoFar { reads, answers, written };
        let did = |clients: Clients| (clients.read, clients.answer, clients.write);
        seen.look(group, now, so_far(7, 0, 100));
        assert_eq!(did(seen.look(group, now + LATELY, so_far(8, 0, 100))), (true, false, false));
        let clients = seen.look(group, now + LATELY + Nanos(1), so_far(8, 1, 200));
        assert_eq!(did(clients), (true, false, false), "it is not looked again so soon");
        assert_eq!(did(seen.look(group, now + LATELY * 2, so_far(8, 1, 200))), (false, true, true));
        assert!(!seen.look(GroupId(4), now + LATELY * 2, so_far(9, 1, 200)).read, "each group has its own");
    }
}
