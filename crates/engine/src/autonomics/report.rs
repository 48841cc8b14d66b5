//! What an array says of contention and of what it did about it.

use cygnus_policy::{DecisionCounts, Migration, OutcomeCounts};
use cygnus_types::Nanos;

use crate::autonomics::marks::Marks;
use crate::counters::read;
use crate::reactor::Reactor;

/// How data moves out of the way of contention.
#[derive(Clone, Debug)]
pub struct AutonomicsStatus {
    /// Links, and devices that share none.
    pub clusters: Vec<ClusterStatus>,
    /// How blocks get to where they should be.
    pub migration: Migration,
    /// What was decided about blocks that reads had brought.
    pub decisions: DecisionCounts,
    /// Blocks that stayed because they had moved a short while ago.
    pub resting: u64,
    /// Blocks that stayed because no stripe had room at once.
    pub no_room: u64,
    /// Blocks read for naive migrations.
    pub read_to_move: u64,
    /// Blocks that stayed because as many were being read for naive migrations as may be.
    pub too_many: u64,
    /// Blocks read around members that lag or share a contended link.
    pub read_around: u64,
    /// Segments for clients' writes that came from another group than otherwise.
    pub steered: u64,
    /// Segments for clients' writes that ended early because their group had become burdened.
    pub left_early: u64,
    /// Blocks that the home reactor may still write for the sake of better places, as of the last time it wanted to.
    pub budget_left: u64,
    /// Blocks of a hundred that clients write that may move.
    pub write_percent: u32,
    /// Blocks a day that may move, if that is more.
    pub writes_per_day: u64,
    /// Blocks that all reactors together may save up.
    pub saved_writes: u64,
}

impl AutonomicsStatus {
    /// Blocks that were written anew for the sake of better places.
    pub fn moved(&self) -> u64 {
        self.decisions.all(OutcomeCounts::moved)
    }
}

/// Devices that share a link, or one that shares none.
#[derive(Clone, Debug)]
pub struct ClusterStatus {
    /// The link's name, or the device's.
    pub name: String,
    /// Whether requests meet others on the link.
    pub hot: bool,
    /// How many of a hundred did, by the home reactor's last look.
    pub contended_percent: u32,
    /// Blocks that have moved here out of the way of others.
    pub given: u64,
    /// Members behind it.
    pub members: Vec<LinkedMember>,
}

impl ClusterStatus {
    /// Whether it is a link that members share.
    pub fn is_shared(&self) -> bool {
        self.members.len() > 1
    }
}

/// A member behind a link.
#[derive(Clone, Debug)]
pub struct LinkedMember {
    /// Path.
    pub name: String,
    /// Why new writes avoid its group, if they do.
    pub burdened: Option<String>,
}

/// The state of autonomics, where they are on.
pub(crate) fn status(reactor: &Reactor) -> Option<AutonomicsStatus> {
    let (marks, sight) = (reactor.shared.marks.as_ref()?, reactor.sight.as_ref()?);
    let now = reactor.rt.now();
    let (counts, rule) = (&marks.counts, &marks.rule);
    Some(AutonomicsStatus {
        clusters: clusters(reactor, marks, now),
        migration: rule.migration,
        decisions: counts.decisions(),
        resting: read(&counts.resting),
        no_room: read(&counts.no_room),
        read_to_move: read(&counts.read_to_move),
        too_many: read(&counts.too_many),
        read_around: read(&counts.read_around),
        steered: read(&counts.steered),
        left_early: read(&counts.left),
        budget_left: sight.with_budget(0, |budget| budget.left(rule)),
        write_percent: rule.write_percent,
        writes_per_day: rule.writes_per_day,
        saved_writes: rule.saved_writes.max(u64::from(rule.deciders)),
    })
}

fn clusters(reactor: &Reactor, marks: &Marks, now: Nanos) -> Vec<ClusterStatus> {
    let members: Vec<_> =
        reactor.shared.members.iter().filter_map(|member| Some((member.device()?, member.name()))).collect();
    let mut all = Vec::new();
    for (at, cluster) in marks.links.clusters.iter().enumerate() {
        let heat = reactor.sight.as_ref().map(|sight| sight.heat(marks, at, now)).unwrap_or_default();
        let named = cluster.devices.iter().filter_map(|dev| members.iter().find(|(of, _)| of == dev));
        let members = named.map(|(dev, name)| LinkedMember { name: name.clone(), burdened: marks.why(*dev, now) });
        all.push(ClusterStatus {
            name: cluster.name.clone(),
            hot: marks.is_hot(at, now),
            contended_percent: heat.contended_milli() / 10,
            given: marks.given(at),
            members: members.collect(),
        });
    }
    // Spares are behind links too, and do nothing yet.
    all.retain(|cluster| !cluster.members.is_empty());
    all
}
