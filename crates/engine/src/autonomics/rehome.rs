//! Blocks that a read has just brought are written anew elsewhere, if they come from where others are in the way (shadow cloning:
//! Triple-A, section 4.2). They are in memory anyway; a move costs its write, and the map takes it only if nobody has written the
//! block meanwhile, as with every relocation. Where to is the rule's choice ([`crate::autonomics::placing`]). Where the rule asks for
//! naive migration, they are read once more for it instead ([`crate::autonomics::migrate`]).

use std::ops::Range;
use std::rc::Rc;

use cygnus_policy::{Answered, Carried, ClusterView, Decision, Migration, ModuleView, Surroundings};
use cygnus_runtime::{DeviceIx, DeviceLoad};
use cygnus_types::{GroupId, Nanos};

use crate::autonomics::marks::Marks;
use crate::autonomics::migrate::Decided;
use crate::autonomics::placing::Placing;
use crate::autonomics::sight::Sight;
use crate::counters::{count, read};
use crate::reactor::Reactor;
use crate::read::delivered::Delivered;
use crate::write::lane::Lane;
use crate::write::writer::Appended;

/// How a device stood when it was asked for blocks.
pub(crate) struct Asked {
    dev: DeviceIx,
    group: GroupId,
    at: Nanos,
    ahead: DeviceLoad,
}

/// See the module's text.
pub(crate) struct Rehomer<'a> {
    pub(super) reactor: &'a Rc<Reactor>,
    pub(super) marks: &'a Marks,
    pub(super) sight: &'a Sight,
}

impl<'a> Rehomer<'a> {
    /// None where data stays out of nobody's way.
    #[inline]
    pub(crate) fn of(reactor: &'a Rc<Reactor>) -> Option<Self> {
        let sight = reactor.sight.as_ref()?;
        Some(Self { reactor, marks: reactor.shared.marks.as_ref()?, sight })
    }

    pub(super) fn placing(&self) -> Placing<'a> {
        Placing { reactor: self.reactor, marks: self.marks, sight: self.sight }
    }

    /// A device of a group is about to be asked for blocks.
    pub(crate) fn asks(&self, dev: DeviceIx, group: GroupId) -> Asked {
        Asked { dev, group, at: self.reactor.rt.now(), ahead: self.reactor.rt.load(dev) }
    }

    /// It has delivered them.
    pub(crate) fn delivered(&self, asked: &Asked, blocks: &Delivered<'_>) {
        let Some(cluster) = self.marks.links.cluster_of(asked.dev) else { return };
        let now = self.reactor.rt.now();
        let is_full = self.reactor.rt.under_way() >= self.marks.rule.queue;
        let lags = self.sight.lags(asked.dev, &asked.ahead);
        if !lags && !is_full && !self.sight.heat(self.marks, cluster, now).is_hot() {
            return;
        }
        let answered = Answered {
            latency: now.since(asked.at),
            pages: blocks.blocks() as u32,
            module_was_free: asked.ahead.requests == 0,
        };
        let decided = self.decide(asked, cluster, &answered, is_full, now);
        let decision = decided.decision;
        match (decision, self.marks.rule.migration) {
            (Decision::Stays { .. } | Decision::Fine, _) => self.marks.counts.decided(&decision, answered.pages),
            (_, Migration::ShadowCloning) => self.move_all(blocks, &decided, now),
            (_, Migration::Naive) => self.migrate(blocks, decided),
        }
    }

    /// What becomes of the blocks, where they go, and what of the budget is spent on that.
    fn decide(&self, asked: &Asked, cluster: usize, answered: &Answered, is_full: bool, now: Nanos) -> Decided {
        let times = self.sight.times(self.marks, cluster);
        let mut clusters: Vec<ClusterView> = self.sight.clusters(self.marks, |dev| self.reactor.rt.load(dev), now);
        let placing = self.placing();
        let choice = placing.choice(asked.group, &clusters, times.cold_below(answered.pages), now);
        let roomy = placing.devices_in(&choice.groups);
        let has_room = |dev: DeviceIx| roomy[usize::from(dev.0)];
        for (view, its) in clusters.iter_mut().zip(&self.marks.links.clusters) {
            view.has_room = its.devices.iter().any(|&dev| has_room(dev));
        }
        let around = Surroundings { clusters: &clusters, here: cluster, times, now };
        let devices = &self.marks.links.clusters[cluster].devices;
        let load = |dev| if dev == asked.dev { asked.ahead } else { self.reactor.rt.load(dev) };
        let view = |&dev: &DeviceIx| self.sight.module(&times, dev, &load(dev), has_room(dev));
        let modules: Vec<ModuleView> = devices.iter().map(view).collect();
        let module = devices.iter().position(|&dev| dev == asked.dev).expect("it is in its cluster");
        let rule = self.sight.rule();
        let (decision, taken) = self.with_budget(|budget| {
            let decision = match rule.after_read(&around, answered, budget) {
                Decision::Fine => {
                    let data = (module, answered.pages, Carried::Read);
                    rule.before_module(&around, &modules, data, is_full, budget)
                }
                decision => decision,
            };
            (decision, budget.last_taken())
        });
        let its = match decision {
            Decision::ToCluster { cluster, .. } => &self.marks.links.clusters[cluster].devices[..],
            Decision::ToModule { module, .. } => &devices[module..=module],
            Decision::Fine | Decision::Stays { .. } => &[],
        };
        let to = placing.goes_to(&choice, its, now);
        Decided { decision, taken, on: self.reactor.shared.medium(asked.group), to }
    }

    fn with_budget<T>(&self, act: impl FnOnce(&mut cygnus_policy::WriteBudget) -> T) -> T {
        let written = read(&self.reactor.shared.totals.client_written);
        self.sight.with_budget(written, act)
    }

    /// Moves the blocks as far as that is possible at once.
    fn move_all(&self, blocks: &Delivered<'_>, decided: &Decided, now: Nanos) {
        // Before the blocks are asked whether they may: those that stay for this reason need no rest.
        let Some(lane) = self.placing().lane_to(decided.to, decided.on, now) else {
            count(&self.marks.counts.no_room, blocks.blocks() as u64);
            return self.has_moved(decided, blocks.blocks(), 0);
        };
        let moves =
            |piece: &Range<usize>| self.may_leave(blocks, piece, now) && self.write_anew(blocks, piece, lane, now);
        let moved = blocks.pieces().filter(moves).map(|piece| piece.len()).sum();
        self.has_moved(decided, blocks.blocks(), moved);
    }

    /// So many of the blocks have moved: counts them, and gives back what was taken for the others.
    pub(super) fn has_moved(&self, decided: &Decided, blocks: usize, moved: usize) {
        let unmoved = (blocks - moved) as u64;
        if unmoved > 0 {
            self.with_budget(|budget| budget.give_back(&self.marks.rule, decided.taken, unmoved));
        }
        self.marks.counts.decided(&decided.decision, moved as u32);
        if let Some(cluster) = self.placing().cluster_given(&decided.decision, decided.to) {
            self.marks.is_given(cluster, moved as u64);
        }
    }

    /// Whether a piece of them may move, after which it rests.
    pub(super) fn may_leave(&self, blocks: &Delivered<'_>, piece: &Range<usize>, now: Nanos) -> bool {
        if !self.may_write(blocks, piece) {
            return false;
        }
        let may_move = self.marks.may_move(blocks.volume.id, blocks.lba.plus(piece.start as u64), piece.len(), now);
        count(&self.marks.counts.resting, u64::from(!may_move));
        may_move
    }

    /// Whether a piece of them is still where it was read, and something may be written now.
    pub(super) fn may_write(&self, blocks: &Delivered<'_>, piece: &Range<usize>) -> bool {
        let (reactor, shared) = (self.reactor, &self.reactor.shared);
        let lba = blocks.lba.plus(piece.start as u64);
        // What was read from elsewhere after all is in nobody's way any more.
        if !shared.lies_at(blocks.volume.controller.locate(lba), &blocks.place, piece.start) {
            return false;
        }
        let has_room =
            !shared.is_stopped() && !reactor.hold.get() && shared.admission.is_open() && shared.clogged() == 0;
        count(&self.marks.counts.no_room, u64::from(!has_room));
        has_room
    }

    /// Writes a piece of them to a lane.
    pub(super) fn write_anew(&self, blocks: &Delivered<'_>, piece: &Range<usize>, lane: Lane, now: Nanos) -> bool {
        let (shared, volume, lba) = (&self.reactor.shared, blocks.volume.id, blocks.lba.plus(piece.start as u64));
        let appended = blocks.rehome(self.reactor, piece.clone(), lane);
        if appended == Appended::Done {
            self.marks.has_moved(volume, lba, piece.len(), now);
            (0..piece.len()).for_each(|n| shared.rehomed(volume, lba.plus(n as u64), now));
        }
        count(&self.marks.counts.no_room, u64::from(appended == Appended::NoRoom));
        appended == Appended::Done
    }
}
