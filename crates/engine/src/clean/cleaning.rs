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

/// What clients did lately in a group.
#[derive(Clone, Copy, Default)]
pub(crate) struct Clients {
    group: GroupId,
    since: Nanos,
    waits: u32,
    written: u64,
    /// They waited for what the group's devices do.
    pub wait: bool,
    /// They wrote.
    pub write: bool,
}

/// The same of both groups that are cleaned side by side.
#[derive(Default)]
pub(crate) struct ClientsSeen([Clients; 2]);

impl ClientsSeen {
    /// What clients did lately in a group, by how often they have waited for its devices and what they have written anywhere so far.
    pub(crate) fn look(&mut self, group: GroupId, now: Nanos, waits: u32, written: u64) -> Clients {
        let noted = &mut self.0;
        let oldest = usize::from(noted[1].since < noted[0].since);
        let at = noted.iter().position(|noted| noted.group == group).unwrap_or(oldest);
        let before = &mut noted[at];
        if before.group == group && now.since(before.since) < LATELY {
            return *before;
        }
        let (wait, write) = (before.group == group && before.waits != waits, before.written != written);
        *before = Clients { group, since: now, waits, written, wait, write };
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
        seen.look(group, now, 7, 100);
        let clients = seen.look(group, now + LATELY, 8, 100);
        assert!(clients.wait && !clients.write);
        let clients = seen.look(group, now + LATELY + Nanos(1), 8, 200);
        assert!(clients.wait && !clients.write, "it is not looked again so soon");
        let clients = seen.look(group, now + LATELY * 2, 8, 200);
        assert!(!clients.wait && clients.write);
        assert!(!seen.look(GroupId(4), now + LATELY * 2, 9, 200).wait, "each group has its own");
    }
}
