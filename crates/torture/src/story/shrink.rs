//! Making a story that ends badly shorter, as long as what is wrong is of the same kind.
//!
//! Cycles, clients, requests and harms are left out in halves, quarters, .. down to one by one; then what remains is made
//! simpler: fewer groups, columns and reactors, one block where there were many. Chance has a part in most failures, so a
//! shorter story is tried in a few worlds before it counts as harmless.

use cygnus_policy::Migration;
use cygnus_types::{BLOCK, Nanos};

use super::{Drives, Ending, Regroup, RequestKind, Story};
use crate::failure::RunFailure;

/// Worlds in which a story is tried before it counts as one that ends well.
const WORLDS: u64 = 4;

/// What shrinking made.
#[derive(Clone, Debug)]
pub(crate) struct Shrunk {
    pub(crate) story: Story,
    /// How it ends.
    pub(crate) failure: RunFailure,
    /// Stories run on the way.
    pub(crate) tried: u64,
}

struct Shrinker<F> {
    run: F,
    best: Shrunk,
    effort: Effort,
}

/// How much is done to make a story shorter.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Stories that are run for it at most.
    pub runs: u64,
    /// A story with fewer lines is short enough.
    pub lines: usize,
}

/// Makes `story`, which ends with `failure`, shorter; `run` gives the failure of a story, if it fails.
pub(crate) fn shrink(
    story: Story,
    failure: RunFailure,
    effort: Effort,
    run: impl FnMut(&Story) -> Option<RunFailure>,
) -> Shrunk {
    let mut shrinker = Shrinker { run, best: Shrunk { story, failure, tried: 0 }, effort };
    while !shrinker.is_done() && shrinker.pass() {}
    shrinker.best
}

impl<F: FnMut(&Story) -> Option<RunFailure>> Shrinker<F> {
    fn is_done(&self) -> bool {
        let lines = || self.best.story.to_string().lines().count();
        self.best.tried >= self.effort.runs || self.effort.lines > 0 && lines() < self.effort.lines
    }

    /// Everything once; whether anything came of it.
    fn pass(&mut self) -> bool {
        let before = self.best.story.clone();
        self.thin(|story| &mut story.salvage);
        self.thin(|story| &mut story.cycles);
        for n in 0..self.best.story.cycles.len() {
            self.thin(|story| &mut story.cycles[n].clients);
            self.thin(|story| &mut story.cycles[n].at_rest);
            self.thin(|story| &mut story.cycles[n].during);
            self.thin(|story| &mut story.cycles[n].regroups);
            self.thin(|story| &mut story.cycles[n].passing);
            self.attempt(|story| story.cycles[n].absent = None);
            self.attempt(|story| story.cycles[n].force = None);
            self.attempt(|story| story.cycles[n].beyond = None);
            if self.best.story.cycles[n].force.is_some() {
                self.thin(|story| &mut story.cycles[n].force.as_mut().expect("no list but this is thinned").cuts);
            }
            self.attempt(|story| story.cycles[n].suspended_for = None);
            for trouble in 0..self.best.story.cycles[n].passing.len() {
                self.thin(|story| &mut story.cycles[n].passing[trouble].1.members);
            }
            self.thin(|story| &mut story.cycles[n].ruins);
            self.thin(|story| &mut story.cycles[n].cuts);
            self.attempt(|story| story.cycles[n].admin = None);
            self.attempt(|story| story.cycles[n].stale = false);
            self.attempt(|story| story.cycles[n].scrubs.first = false);
            self.attempt(|story| story.cycles[n].scrubs.beside = None);
            for client in 0..self.best.story.cycles[n].clients.len() {
                self.thin(|story| &mut story.cycles[n].clients[client].requests);
            }
        }
        self.simplify_shape();
        self.thin(|story| &mut story.volumes);
        self.thin(|story| &mut story.levels);
        self.thin(|story| &mut story.constraints);
        self.thin(|story| &mut story.pages);
        for n in 0..self.best.story.volumes.len() {
            while self.attempt(|story| story.volumes[n].1 = (story.volumes[n].1 / 2).max(1)) {}
        }
        for n in 0..self.best.story.cycles.len() {
            self.simplify_cycle(n);
        }
        self.best.story != before
    }

    /// Leaves out elements of a list: half of them, a quarter, .. one.
    fn thin<T: Clone>(&mut self, list: impl Fn(&mut Story) -> &mut Vec<T>) {
        let mut chunk = list(&mut self.best.story).len();
        while chunk > 0 {
            let mut at = 0;
            while at < list(&mut self.best.story).len() {
                let left_out = self.attempt(|story| {
                    let list = list(story);
                    let end = (at + chunk).min(list.len());
                    list.drain(at..end);
                });
                if !left_out {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
    }

    fn simplify_shape(&mut self) {
        self.attempt(|story| story.shape.reactors = 1);
        self.attempt(|story| (story.shape.autonomics, story.shape.links) = (None, Vec::new()));
        self.attempt(|story| story.shape.autonomics = story.shape.autonomics.map(|_| Migration::ShadowCloning));
        self.thin(|story| &mut story.shape.links);
        self.attempt(|story| story.shape.drives = Drives::Quick);
        self.attempt(|story| story.shape.keeps = false);
        self.attempt(|story| story.shape.clients_parity = None);
        self.attempt(|story| story.shape.cleaning = None);
        self.attempt(|story| story.shape.streams = None);
        self.attempt(|story| story.shape.disks = None);
        self.attempt(|story| (story.shape.media, story.constraints) = (Vec::new(), Vec::new()));
        self.attempt(|story| story.shape.beside = story.shape.beside.min(1));
        self.attempt(|story| story.shape.beside = 0);
        self.attempt(|story| story.shape.converts = story.shape.converts.min(1));
        self.attempt(|story| story.shape.postponed = 0);
        self.attempt(|story| (story.shape.converts, story.shape.postponed) = (0, 0));
        self.attempt(|story| story.shape.parity_buffer = false);
        self.attempt(|story| {
            (story.shape.geometry.transient_blocks, story.shape.converts, story.shape.beside) = (0, 0, 0);
            story.shape.postponed = 0;
            story.shape.leave_room_for_zones();
        });
        self.attempt(|story| {
            story.shape.zoned = None;
            story.shape.leave_room_for_zones();
        });
        while self.attempt(Story::fewer_to_add) {}
        while self.attempt(Story::fewer_spares) {}
        while self.attempt(|story| story.fewer_groups()) {}
        while self.attempt(|story| story.shape.geometry.data = (story.shape.geometry.data - 1).max(1)) {}
        self.attempt(|story| story.shape.geometry.chunk_blocks = 1);
    }

    fn simplify_cycle(&mut self, n: usize) {
        if !matches!(self.best.story.cycles[n].ending, Ending::Clean(None)) {
            self.attempt(|story| story.cycles[n].ending = Ending::Clean(None));
        }
        self.attempt(|story| {
            if let Ending::PowerCut(steps) = &mut story.cycles[n].ending {
                *steps = None;
            }
        });
        for client in 0..self.best.story.cycles[n].clients.len() {
            for request in 0..self.best.story.cycles[n].clients[client].requests.len() {
                self.attempt(|story| story.cycles[n].clients[client].requests[request].pause = Nanos::ZERO);
                self.attempt(|story| story.cycles[n].clients[client].requests[request].fua = false);
                self.attempt(|story| {
                    let request = &mut story.cycles[n].clients[client].requests[request];
                    if request.kind != RequestKind::Flush {
                        let block = BLOCK as u64;
                        (request.offset, request.len) = (request.offset / block * block, block);
                    }
                });
            }
        }
    }

    /// Keeps a change if what is wrong is still of the same kind: of another one, it is another bug, or may be.
    fn attempt(&mut self, change: impl Fn(&mut Story)) -> bool {
        let mut story = self.best.story.clone();
        change(&mut story);
        if story == self.best.story || story.shape.geometry.validate().is_err() {
            return false;
        }
        let world = story.world;
        for n in 0..WORLDS {
            if self.is_done() {
                return false;
            }
            story.world = world.wrapping_add(n);
            self.best.tried += 1;
            if let Some(failure) = (self.run)(&story)
                && failure.kind() == self.best.failure.kind()
            {
                (self.best.story, self.best.failure) = (story, failure);
                return true;
            }
        }
        false
    }
}

impl Story {
    /// One group less, and without what happens to its members.
    fn fewer_groups(&mut self) {
        if usize::from(self.shape.groups) <= self.shape.preset.min_groups() {
            return;
        }
        self.shape.groups -= 1;
        self.forget_members();
    }

    /// One group less that can be added.
    fn fewer_to_add(&mut self) {
        self.shape.more = self.shape.more.saturating_sub(1);
        self.forget_members();
    }

    /// One device less that can be a spare.
    fn fewer_spares(&mut self) {
        self.shape.spares = self.shape.spares.saturating_sub(1);
        self.forget_members();
    }

    fn forget_members(&mut self) {
        let (devices, places, spares) = (self.shape.devices(), self.shape.places(), usize::from(self.shape.spares));
        let sets = self.shape.sets();
        self.salvage.retain(|device| *device < devices);
        for cycle in &mut self.cycles {
            cycle.absent.take_if(|absent| absent.member >= devices);
            cycle.force.iter_mut().for_each(|force| force.without.retain(|device| *device < devices));
            cycle.force.take_if(|force| force.without.is_empty());
            cycle.beyond.iter_mut().for_each(|beyond| beyond.members.retain(|device| *device < devices));
            cycle.at_rest.retain(|harm| harm.member < devices);
            cycle.during.retain(|(_, harm)| harm.member < devices);
            cycle.passing.iter_mut().for_each(|(_, trouble)| trouble.members.retain(|member| *member < devices));
            cycle.regroups.retain(|(_, what)| match what {
                Regroup::Replace(member) | Regroup::Drain(member) => *member < places,
                Regroup::Spare(n) => *n < spares,
                Regroup::Add(set) => usize::from(*set) < sets,
                Regroup::Refresh(_, set) => usize::from(*set) < sets,
                Regroup::Retire(_) => true,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Request;
    use super::*;
    use crate::failure::FailureKind;

    #[test]
    fn only_what_matters_is_left() {
        // Fails whenever two writes reach block 3 and a flush comes somewhere.
        let guilty = |story: &Story| {
            let requests: Vec<_> = story.cycles.iter().flat_map(|c| &c.clients).flat_map(|c| &c.requests).collect();
            let block = 3 * BLOCK as u64;
            let covers = |r: &Request| r.len == 0 || (r.offset <= block && r.offset + r.len > block);
            let hits = |kind| requests.iter().filter(|r| r.kind == kind && covers(r)).count();
            (hits(RequestKind::Write) >= 2 && hits(RequestKind::Flush) >= 1).then_some(RunFailure::Stall)
        };
        let story = (0..).map(Story::random).find(|story| guilty(story).is_some()).expect("some story is");
        let shrunk = shrink(story, RunFailure::Stall, Effort { runs: 5000, lines: 0 }, guilty);
        let requests: usize = shrunk.story.cycles.iter().flat_map(|c| &c.clients).map(|c| c.requests.len()).sum();
        assert_eq!(requests, 3, "{}", shrunk.story);
        assert!(shrunk.story.to_string().lines().count() < 20, "{}", shrunk.story);
    }
    /// A story in which two things are wrong, of which the second one needs less.
    #[test]
    fn another_bug_is_no_shorter_story_of_this_one() {
        let writes = |story: &Story| {
            let requests = story.cycles.iter().flat_map(|c| &c.clients).flat_map(|c| &c.requests);
            requests.filter(|r| r.kind == RequestKind::Write).count()
        };
        let ends = |story: &Story| match writes(story) {
            0 => None,
            1..3 => Some(RunFailure::Panic("after a write".into())),
            3.. => Some(RunFailure::Stall),
        };
        let story =
            (0..).map(Story::random).find(|story| ends(story) == Some(RunFailure::Stall)).expect("some story is");
        let shrunk = shrink(story, RunFailure::Stall, Effort { runs: 5000, lines: 0 }, ends);
        assert_eq!((shrunk.failure.kind(), writes(&shrunk.story)), (FailureKind::Stall, 3), "{}", shrunk.story);
    }
}
