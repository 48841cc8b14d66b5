//! Blocks that a read has just brought are written anew elsewhere, if they come from where others are in the way (shadow cloning:
//! Triple-A, section 4.2). They are in memory anyway; a move costs its write, and the map takes it only if nobody has written the
//! block meanwhile, as with every relocation. They go where clients' writes go, which avoid those groups too.

use std::ops::Range;
use std::rc::Rc;

use cygnus_policy::{Answered, Carried, ClusterView, Decision, ModuleView, Surroundings};
use cygnus_runtime::{DeviceIx, DeviceLoad};
use cygnus_types::{GroupId, Medium, Nanos};

use crate::autonomics::marks::Marks;
use crate::autonomics::sight::Sight;
use crate::autonomics::steering::Steering;
use crate::counters::{count, read};
use crate::reactor::Reactor;
use crate::read::delivered::Delivered;
use crate::write::lane::Lane;
use crate::write::writer::Appended;

/// How a device stood when it was asked for blocks.
pub(crate) struct Asked {
    dev: DeviceIx,
    from: Medium,
    at: Nanos,
    ahead: DeviceLoad,
}

/// See the module's text.
pub(crate) struct Rehomer<'a> {
    reactor: &'a Rc<Reactor>,
    marks: &'a Marks,
    sight: &'a Sight,
}

impl<'a> Rehomer<'a> {
    /// None where data stays out of nobody's way.
    #[inline]
    pub(crate) fn of(reactor: &'a Rc<Reactor>) -> Option<Self> {
        let sight = reactor.sight.as_ref()?;
        Some(Self { reactor, marks: reactor.shared.marks.as_ref()?, sight })
    }

    /// A device of a group on this medium is about to be asked for blocks.
    pub(crate) fn asks(&self, dev: DeviceIx, from: Medium) -> Asked {
        Asked { dev, from, at: self.reactor.rt.now(), ahead: self.reactor.rt.load(dev) }
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
        let decision = self.decide(asked, cluster, &answered, is_full, now);
        let moved = match decision {
            Decision::ToCluster { .. } | Decision::ToModule { .. } => self.move_all(blocks, now),
            Decision::Stays { .. } | Decision::Fine => answered.pages,
        };
        self.marks.counts.decided(&decision, moved);
    }

    fn decide(&self, asked: &Asked, cluster: usize, answered: &Answered, is_full: bool, now: Nanos) -> Decision {
        let target = self.target(asked.from, now);
        let has_room = |dev| self.is_in(target, dev);
        let clusters: Vec<ClusterView> = self.sight.clusters(self.marks, has_room, now);
        let times = self.sight.times(self.marks, cluster);
        let around = Surroundings { clusters: &clusters, here: cluster, times, now };
        let devices = &self.marks.links.clusters[cluster].devices;
        let load = |dev| if dev == asked.dev { asked.ahead } else { self.reactor.rt.load(dev) };
        let view = |&dev: &DeviceIx| self.sight.module(&times, dev, &load(dev), has_room(dev));
        let modules: Vec<ModuleView> = devices.iter().map(view).collect();
        let module = devices.iter().position(|&dev| dev == asked.dev).expect("it is in its cluster");
        let rule = self.sight.rule();
        self.with_budget(|budget| match rule.after_read(&around, answered, budget) {
            Decision::Fine => {
                let data = (module, answered.pages, Carried::Read);
                rule.before_module(&around, &modules, data, is_full, budget)
            }
            decision => decision,
        })
    }

    /// The group that blocks of a medium would go to now, if there is one that is worth it.
    fn target(&self, from: Medium, now: Nanos) -> Option<GroupId> {
        let mut writer = self.reactor.writer(Lane::Clients(from)).borrow_mut();
        writer.leave_burdened(self.reactor);
        let group = writer.next_group(self.reactor)?;
        (!Steering::of(&self.reactor.shared).is_burdened(group, now)).then_some(group)
    }

    fn is_in(&self, group: Option<GroupId>, dev: DeviceIx) -> bool {
        let shared = &self.reactor.shared;
        let is_its =
            |group| (0..shared.layout.width(group)).any(|column| shared.member(group, column).1.device() == Some(dev));
        group.is_some_and(is_its)
    }

    fn with_budget<T>(&self, act: impl FnOnce(&mut cygnus_policy::WriteBudget) -> T) -> T {
        let written = read(&self.reactor.shared.totals.client_written);
        self.sight.with_budget(written, act)
    }

    /// Moves the blocks as far as that is possible at once; says how many.
    fn move_all(&self, blocks: &Delivered<'_>, now: Nanos) -> u32 {
        let count_of = blocks.blocks() as u32;
        let pieces = blocks.pieces().filter(|piece| self.move_piece(blocks, piece, now));
        let moved = pieces.map(|piece| piece.len() as u32).sum();
        if moved < count_of {
            self.with_budget(|budget| budget.give_back(&self.marks.rule, u64::from(count_of - moved)));
        }
        moved
    }

    fn move_piece(&self, blocks: &Delivered<'_>, piece: &Range<usize>, now: Nanos) -> bool {
        let (reactor, counts) = (self.reactor, &self.marks.counts);
        let (volume, lba) = (blocks.volume, blocks.lba.plus(piece.start as u64));
        let shared = &reactor.shared;
        // What was read from elsewhere after all is in nobody's way any more.
        if !shared.lies_at(volume.controller.locate(lba), &blocks.place, piece.start) {
            return false;
        }
        if shared.is_stopped() || reactor.hold.get() || !shared.admission.is_open() || shared.clogged() > 0 {
            count(&counts.no_room, 1);
            return false;
        }
        if !self.marks.may_move(volume.id, lba, piece.len(), now) {
            count(&counts.resting, 1);
            return false;
        }
        // It does not change its medium.
        let lane = Lane::Clients(shared.medium(blocks.place.group));
        match blocks.rehome(reactor, piece.clone(), lane) {
            Appended::Done => {
                (0..piece.len()).for_each(|n| shared.rehomed(volume.id, lba.plus(n as u64), now));
                true
            }
            Appended::Changed => false,
            Appended::NoRoom => {
                count(&counts.no_room, 1);
                false
            }
        }
    }
}
