//! How much cleaning hurries. What clients wait for goes first as long as they will have room in time: reads of the group, flushes, and
//! answers to writes that go there (reads before writes before cleaning, SWAN section 3.2). Then there are fewer victims at once, and
//! of each of them one short piece is read after the other. Where groups take turns, the time is until the two next front-ends must
//! be clean; elsewhere the haste follows from what writers lack, so that cleaning comes to go as fast as they write.

use cygnus_types::{GroupId, Nanos};

use crate::clean::cleaning::Clients;
use crate::counters::read;
use crate::reactor::Reactor;

/// Victims emptied at once in full haste. One by one, a group's devices would idle while headers are looked up, and cleaning
/// could not keep up with a front-end that is written without a pause.
const MOST_VICTIMS: usize = 8;
/// Longest time that cleaning gives way to reads before it takes a turn all the same.
const LONGEST_YIELD: Nanos = Nanos::millis(2);
/// How often to look whether the reads that cleaning gives way to have ended.
const LOOK: Nanos = Nanos::micros(20);
/// Rest time of cleaning as a multiple of its work time, while clients read and nothing writes: then nothing needs the room that
/// cleaning makes, and less than one read in a hundred meets it.
const REST: u64 = 127;
/// Longest rest, so that cleaning is back soon when writers come.
const LONGEST_REST: Nanos = Nanos::millis(50);

/// How much cleaning hurries: see the module's text.
pub(crate) struct Haste<'a> {
    reactor: &'a Reactor,
}

impl<'a> Haste<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    /// Victims to be emptied at once.
    pub(crate) fn victims_at_once(&self, group: GroupId) -> usize {
        let haste = self.haste(group);
        if haste < 1.0 {
            self.reactor.home().space.borrow_mut().turn.is_leisurely();
        }
        1 + (haste * (MOST_VICTIMS - 1) as f64) as usize
    }

    /// Whether cleaning in a group need not hurry at all. Who helps to clean is only there because it must.
    pub(crate) fn has_time(&self, group: GroupId) -> bool {
        self.reactor.is_home() && self.haste(group) == 0.0
    }

    /// Whether cleaning in a group must go as fast as it can.
    pub(crate) fn is_full(&self, group: GroupId) -> bool {
        self.haste(group) >= 1.0
    }

    /// From 0 to 1: as fast as it can go, since time is short or nobody waits.
    fn haste(&self, group: GroupId) -> f64 {
        let (clients, do_wait) = self.clients(group);
        if clients.wait || do_wait {
            self.reactor.home().space.borrow().haste(&self.reactor.shared, group)
        } else {
            1.0
        }
    }

    /// What clients did lately as far as a group is concerned, and whether some wait for its devices now.
    fn clients(&self, group: GroupId) -> (Clients, bool) {
        let (shared, home) = (&self.reactor.shared, self.reactor.home());
        let is_filled = || home.space.borrow().is_filled_by_clients(shared, group);
        let is_written_to = !shared.policies.front_end.is_exclusive() || is_filled();
        let (waits, do_wait) = shared.clients.waits(group, is_written_to);
        let written = read(&shared.totals.client_written);
        (home.cleaning.clients.borrow_mut().look(group, self.reactor.rt.now(), waits, written), do_wait)
    }

    /// Cleaning has worked for so long, with time to spare: it rests if nobody needs what it makes room for.
    pub(crate) async fn rest(&self, group: GroupId, worked: Nanos) {
        if worked > Nanos::ZERO && !self.clients(group).0.write {
            self.reactor.rt.sleep(Nanos(worked.0 * REST).min(LONGEST_REST)).await;
        }
    }

    /// Whether writers wait for segments, as far as that is known here.
    fn do_writers_wait(&self) -> bool {
        self.reactor.is_home() && self.reactor.home().space.borrow().starving.any()
    }

    /// How long cleaning in a group gives way to reads at most: the less, the more it hurries.
    fn longest_yield(&self, group: GroupId) -> Nanos {
        match self.reactor.is_home() {
            true => Nanos((LONGEST_YIELD.0 as f64 * (1.0 - self.haste(group))) as u64),
            // Others help where a turn of the rotation would end too late.
            false if self.reactor.shared.policies.front_end.rotates() => Nanos::ZERO,
            false => LONGEST_YIELD,
        }
    }

    /// Waits while clients read from the group, unless writers wait for space or soon would.
    pub(crate) async fn give_way_to_reads(&self, group: GroupId) {
        let begun = self.reactor.rt.now();
        while self.reactor.shared.clients.under_way(group) > 0
            && !self.do_writers_wait()
            && self.reactor.shared.admission.delay() == Nanos::ZERO
            && self.reactor.rt.now().since(begun) < self.longest_yield(group)
        {
            self.reactor.rt.sleep(LOOK).await;
        }
    }
}
