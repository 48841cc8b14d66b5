//! Moving out of the way of contention (Triple-A, ASPLOS'14, section 4): which cluster is hot, which module lags, where their data
//! should go, and whether that is worth its writes.
//!
//! A *cluster* is what shares a bus or a link: flash modules behind an endpoint, or devices of an array behind one network
//! interface. A *module* is one of them. Two kinds of contention are told apart:
//!
//! * *Link contention*: a request took at least as long as if all modules of the cluster had used the bus before it, although its
//!   own module was free (equation 1). If that is so of many requests, the cluster is *hot*; what such a request has read goes to
//!   a *cold* cluster below the same switch, whose bus is used less than by one module alone (equation 2). The data is in memory
//!   then anyway: writing it elsewhere is all that it costs (shadow cloning).
//! * *Storage contention*: requests pile up before one module. It *lags* if they will take longer than was promised (equation 3), or
//!   if the queue is full and most of it is for this module. What is read from it, or is to be written to it, goes to a sibling in
//!   the same cluster; if all lag, or none of them has room, to a cold cluster.
//!
//! Equation 2 is printed with units that do not go together. What the text says of it is used: the bus must be used less than a
//! single module uses it, which is `pages * t_dma / (t_exe + pages * t_dma)`. The paper's promise of 3.3 us is shorter than any
//! sense of flash; ours is 3.3 ms.
//!
//! Three things keep data from going to and fro. A cluster is hot from half of its requests on and stays so down to a fifth. A
//! cluster that was hot takes nothing until it has had a rest. A sibling or a cluster takes over only from one with more than twice as
//! much before it. And a budget bounds what is written besides what clients write.

mod migration;

use std::fmt;

use cygnus_types::Nanos;

pub use migration::{Migration, UnknownMigration};

/// The thresholds. See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutonomicsRule {
    /// Time within which a request should be answered.
    pub sla: Nanos,
    /// A cluster becomes hot when so many of a hundred of its requests whose module was free met equation 1,
    pub hot_percent: u32,
    /// and stops being hot when fewer than this percentage of them did.
    pub cool_percent: u32,
    /// Requests after which a cluster is judged anew, and operations after which one looks at all of them.
    pub look_after: u32,
    /// Before so many samples a mean tells nothing.
    pub few: u32,
    /// A cluster that was hot takes nothing for so long.
    pub rest: Nanos,
    /// Modules lag together when the one with the fewest requests before it has at least so many of a hundred of the most.
    pub alike_percent: u32,
    /// Blocks that may be written besides a hundred of clients'.
    pub write_percent: u32,
    /// Or so many a day, if that is more: where clients only read, nothing could ever move otherwise.
    pub writes_per_day: u64,
    /// Blocks that may be saved up.
    pub saved_writes: u64,
    /// How many decide side by side, each with a part of the budget of its own.
    pub deciders: u32,
    /// The queue of one who decides is full when so many requests are under way.
    pub queue: u32,
    /// New writes avoid who shares a contended link, or lags, for so long after that was last so.
    pub avoid_for: Nanos,
    /// How often in a row a module must be found lagging before new writes avoid it: one that pauses for a moment is none.
    pub lags_in_a_row: u8,
    /// A module is slow at writing when its writes take so many times what a typical one's do, whole and by the page in its turn, and
    /// longer than was promised.
    pub slow_writes: u64,
    /// How data gets to where it should be.
    pub migration: Migration,
    /// Reads for naive migrations that may be under way, so that what they hold of memory has a bound.
    pub migrations: u32,
    /// Groups to which blocks may move at a time, each with an open segment of its own: at most [`AutonomicsRule::MOST_TARGETS`]. Zero:
    /// blocks move to where clients' writes go.
    pub targets: u32,
}

/// Who takes over data has so many times less to do than the one that it comes from, be it a module or a cluster.
const FAR_LESS: u64 = 2;

/// Program and erase cycles that flash of the paper's day stands, and for how long it should last; a quarter of that may be ours.
const CYCLES: u64 = 3000;
const LIFETIME_DAYS: u64 = 5 * 365;
const OUR_SHARE: u64 = 4;

const SECONDS_A_DAY: u64 = 86_400;
const NANOS_A_DAY: u128 = 86_400 * 1_000_000_000;

impl AutonomicsRule {
    /// Targets at a time: as many as clusters are hot at most in the paper's Figure 12, so that each may have one of its own.
    pub const MOST_TARGETS: u32 = 8;

    /// Of an array of so many blocks. A third of the clients' writes on top is what the paper calls its worst case (34 %).
    pub fn for_blocks(blocks: u64) -> Self {
        let writes_per_day = (u128::from(blocks) * u128::from(CYCLES) / u128::from(LIFETIME_DAYS * OUR_SHARE)) as u64;
        Self {
            sla: Nanos(3_300_000),
            hot_percent: 50,
            cool_percent: 20,
            look_after: 64,
            few: 16,
            rest: Nanos::secs(1),
            alike_percent: 80,
            write_percent: 34,
            writes_per_day,
            // A stripe of clients' writes earns its share at once.
            saved_writes: (writes_per_day / SECONDS_A_DAY).max(1024),
            deciders: 1,
            // The least of the queues that the paper names for its root complex.
            queue: 650,
            avoid_for: Nanos::secs(30),
            lags_in_a_row: 4,
            slow_writes: 4,
            migration: Migration::ShadowCloning,
            // The paper has no figure. A tenth of its queue: clients' requests are to be the most of what is under way.
            migrations: 65,
            targets: Self::MOST_TARGETS,
        }
    }

    /// The rule for one of so many who decide side by side. Each has an equal part of the budget, exactly, of the queue, of the reads for
    /// naive migrations, and of the targets.
    pub fn for_one_of(self, deciders: u32) -> Self {
        let part = |of: u32| (of / deciders).max(1);
        let targets = if self.targets == 0 { 0 } else { part(self.targets.min(Self::MOST_TARGETS)) };
        Self { deciders, queue: part(self.queue), migrations: part(self.migrations), targets, ..self }
    }

    /// What so many blocks cost of one decider's part of the budget, in hundredths of a block of the whole budget: who has a third of
    /// it pays three times.
    fn price(&self, blocks: u64) -> u64 {
        blocks.saturating_mul(100 * u64::from(self.deciders))
    }

    /// What may be saved up, in the same units; each decider may save a block.
    fn most_saved(&self) -> u64 {
        self.saved_writes.saturating_mul(100).max(self.price(1))
    }

    /// The rule where a page alone takes so long: where that is quick, less is promised as late. Eight times is what makes a member slow
    /// by [`LatencyRule`](crate::LatencyRule) too, and nothing below its least time counts.
    pub fn where_a_page_takes(self, quiet: Nanos) -> Self {
        let late = (quiet * 8).max(Nanos::micros(200));
        Self { sla: self.sla.min(late), ..self }
    }

    /// Whether a module is slow at writing, given how long its writes take and those of a typical module. One that is given more than
    /// others makes its writes wait for each other, and is as quick as they are by the page; and a lone page of an idle one takes longer
    /// than each of many, and is answered soon.
    pub fn writes_slowly(&self, own: WriteTimes, typical: WriteTimes) -> bool {
        let is_far_above = |own: Nanos, typical: Nanos| own.0 >= typical.0.saturating_mul(self.slow_writes);
        own.whole > self.sla && is_far_above(own.whole, typical.whole) && is_far_above(own.page, typical.page)
    }

    /// Whether data that was moved at a time may move again.
    pub fn may_move_again(&self, moved: Nanos, now: Nanos) -> bool {
        now.since(moved) >= self.rest
    }
}

/// How long writes take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteTimes {
    /// One of them, from where it was given to the module.
    pub whole: Nanos,
    /// A page in its turn, whatever is before it.
    pub page: Nanos,
}

/// What a page takes when nobody else is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTimes {
    /// Over the bus.
    pub dma: Nanos,
    /// Out of the flash or into it.
    pub exe: Nanos,
}

impl PageTimes {
    /// Half of what a page takes alone for each: from outside the two cannot be told apart.
    pub fn halves_of(alone: Nanos) -> Self {
        Self { dma: alone / 2, exe: alone.since(alone / 2) }
    }

    /// The same of a cluster with so many modules.
    pub fn with_modules(self, modules: u32) -> ClusterTimes {
        ClusterTimes { dma: self.dma, exe: self.exe, modules }
    }
}

/// What things take in a cluster when nobody else is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterTimes {
    /// A page over the bus.
    pub dma: Nanos,
    /// A page out of the flash or into it.
    pub exe: Nanos,
    /// Modules that share the bus.
    pub modules: u32,
}

impl ClusterTimes {
    /// From how long on a request of so many pages met others on the bus: equation 1.
    pub fn contended(&self, pages: u32) -> Nanos {
        self.dma * u64::from(pages + self.modules - 1) + self.exe * u64::from(pages)
    }

    /// Use of the bus, in thousandths, below which a cluster is cold to a request of so many pages: equation 2.
    pub fn cold_below(&self, pages: u32) -> u32 {
        let dma = self.dma.0 * u64::from(pages);
        (dma * 1000).checked_div(self.exe.0 + dma).unwrap_or(0) as u32
    }

    /// What requests for so many pages will take one after the other: the sum of equation 3.
    pub fn backlog(&self, pages: u32) -> Nanos {
        (self.dma + self.exe) * u64::from(pages)
    }
}

/// A request that a cluster has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// How long it took, from where it was given to the cluster.
    pub latency: Nanos,
    /// Pages that it moved.
    pub pages: u32,
    /// Whether its module had nothing else to do when it came.
    pub module_was_free: bool,
}

impl Answered {
    /// Whether it met others on the bus, and nothing else can have held it up.
    pub fn met_contention(&self, times: &ClusterTimes) -> bool {
        self.module_was_free && self.latency >= times.contended(self.pages)
    }
}

/// Whether a cluster is hot, judged every so many requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterHeat {
    is_hot: bool,
    was_hot: Option<Nanos>,
    requests: u32,
    contended: u32,
    /// The share of contended requests at the last look, in thousandths.
    contended_milli: u32,
}

impl ClusterHeat {
    /// Counts a request that has been answered now. One that waited for its own module says nothing of the link.
    pub fn count(&mut self, rule: &AutonomicsRule, times: &ClusterTimes, answered: &Answered, now: Nanos) {
        if !answered.module_was_free {
            return;
        }
        self.requests += 1;
        self.contended += u32::from(answered.met_contention(times));
        if self.requests < rule.look_after {
            return;
        }
        self.contended_milli = self.contended * 1000 / self.requests;
        let percent = self.contended_milli / 10;
        self.is_hot = percent >= if self.is_hot { rule.cool_percent } else { rule.hot_percent };
        if self.is_hot {
            self.was_hot = Some(now);
        }
        (self.requests, self.contended) = (0, 0);
    }

    /// Whether it is hot.
    pub fn is_hot(&self) -> bool {
        self.is_hot
    }

    /// The requests of a thousand that met others on the bus, when it was last looked at. As requests come at any time, that is
    /// how much of the time the bus is used, as far as can be told from outside.
    pub fn contended_milli(&self) -> u32 {
        self.contended_milli
    }

    /// The same as of now: a cluster that was not asked for enough since to be judged anew is not hot any more.
    pub fn as_of(self, rule: &AutonomicsRule, now: Nanos) -> Self {
        match self.was_hot {
            Some(at) if self.is_hot && now.since(at) >= rule.rest => Self { is_hot: false, contended_milli: 0, ..self },
            _ => self,
        }
    }

    /// Whether it is not hot, and has not been for long enough to take what others have.
    fn has_rested(&self, rule: &AutonomicsRule, now: Nanos) -> bool {
        !self.is_hot && self.was_hot.is_none_or(|at| now.since(at) >= rule.rest)
    }
}

/// What is known of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterView {
    /// The switch that it is below; data stays below it, because elsewhere it would meet others once more.
    pub switch: u32,
    /// Use of its bus of late, in thousandths.
    pub bus_milli: u32,
    /// Whether it is hot.
    pub heat: ClusterHeat,
    /// Whether there is room for more data.
    pub has_room: bool,
    /// Requests under way to its modules.
    pub under_way: u32,
    /// Blocks that have moved here. Clusters that are equally cold are given as many.
    pub given: u64,
}

impl ClusterView {
    /// Whether the bus is used less than this, in thousandths, and the cluster is not hot.
    pub fn is_cold(&self, below: u32) -> bool {
        !self.heat.is_hot() && self.bus_milli < below
    }

    /// Whether so much less is under way here than elsewhere that data may come from there. What is known of buses is known of requests
    /// that found their module free: where requests pile up there are none, and a bus that is always used looks unused.
    fn has_far_less_under_way(&self, than: &Self) -> bool {
        u64::from(self.under_way) * FAR_LESS < u64::from(than.under_way)
    }
}

/// What is known of a module of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleView {
    /// Requests that wait for it.
    pub requests: u32,
    /// Pages of theirs; if the module is slower than others, as many as a typical one would serve in that time.
    pub pages: u32,
    /// Whether there is room for more data.
    pub has_room: bool,
}

/// What may still be written for the sake of better places.
///
/// Clients' writes pay for it, and time does. Both are counted, each move is taken from both as far as they reach, and is free to go if
/// one of them reaches: so what moves is bound by the larger of both, and not by their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteBudget {
    /// Earned by clients' writes, as [`AutonomicsRule::price`] counts.
    by_writes: u64,
    /// Earned by time.
    by_clock: u64,
    /// Up to when time has been paid for.
    paid: Nanos,
    /// What the last move took.
    taken: Taken,
}

/// What a move has taken from the budget, as [`AutonomicsRule::price`] counts. Who writes later than he decides keeps it until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Its price.
    all: u64,
    /// Of what clients' writes had earned.
    of_writes: u64,
    /// Of what time had earned.
    of_clock: u64,
}

impl WriteBudget {
    /// Nothing is saved yet.
    pub fn begun(now: Nanos) -> Self {
        Self { paid: now, ..Self::default() }
    }

    /// Clients have written so many blocks.
    pub fn written(&mut self, rule: &AutonomicsRule, blocks: u64) {
        let earned = blocks.saturating_mul(u64::from(rule.write_percent));
        self.by_writes = self.by_writes.saturating_add(earned).min(rule.most_saved());
    }

    /// What the last move took.
    pub fn last_taken(&self) -> Taken {
        self.taken
    }

    /// So many blocks for which a move took this from the budget have not been written.
    pub fn give_back(&mut self, rule: &AutonomicsRule, taken: Taken, blocks: u64) {
        let cost = taken.all.saturating_sub(rule.price(blocks));
        // More may have been earned meanwhile.
        let back = |saved: u64, of: u64| saved.saturating_add(of - of.min(cost)).min(rule.most_saved());
        self.by_writes = back(self.by_writes, taken.of_writes);
        self.by_clock = back(self.by_clock, taken.of_clock);
    }

    /// Blocks that may be written now.
    pub fn left(&self, rule: &AutonomicsRule) -> u64 {
        self.by_writes.max(self.by_clock) / rule.price(1)
    }

    /// Time has passed.
    fn pass(&mut self, rule: &AutonomicsRule, now: Nanos) {
        let rate = u128::from(rule.writes_per_day) * 100;
        if rate == 0 {
            return;
        }
        let earned = u128::from(now.since(self.paid).0) * rate / NANOS_A_DAY;
        // What is left of the span, less than it takes to earn one more, is paid the next time.
        self.paid = Nanos(self.paid.0 + (earned * NANOS_A_DAY).div_ceil(rate) as u64);
        let saved = u128::from(self.by_clock) + earned;
        self.by_clock = saved.min(u128::from(rule.most_saved())) as u64;
    }

    /// Takes the writes of a move out, if there is enough.
    fn take(&mut self, rule: &AutonomicsRule, now: Nanos, blocks: u32) -> bool {
        self.pass(rule, now);
        let cost = rule.price(u64::from(blocks));
        if self.by_writes.max(self.by_clock) < cost {
            return false;
        }
        self.taken = Taken { all: cost, of_writes: self.by_writes.min(cost), of_clock: self.by_clock.min(cost) };
        self.by_writes -= self.taken.of_writes;
        self.by_clock -= self.taken.of_clock;
        true
    }
}

/// What the data is doing when the decision falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// It was read, and is in memory: a move writes it once more.
    Read,
    /// It is to be written, and may as well be written elsewhere.
    Write,
}

/// Why data goes elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The cluster is hot: the request took so long, and so long is contention.
    HotCluster {
        /// What it took.
        latency: Nanos,
        /// Equation 1.
        contended: Nanos,
    },
    /// What waits for the module will take so long, and longer than was promised.
    Late {
        /// Equation 3.
        backlog: Nanos,
        /// The promise.
        sla: Nanos,
    },
    /// The queue is full, and so many of its requests are for this module.
    FullQueue {
        /// For this module.
        requests: u32,
        /// For all of the cluster.
        of: u32,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HotCluster { latency, contended } => {
                write!(f, "the link is contended: {latency}, and {contended} says so")
            }
            Self::Late { backlog, sla } => write!(f, "the module lags: {backlog} of work before it, {sla} promised"),
            Self::FullQueue { requests, of } => write!(f, "the module fills the queue: {requests} of {of} requests"),
        }
    }
}

/// Why data stays where it is, although something is wrong there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No cluster below the same switch is cold, rested, has room and far less to do.
    NowhereCold,
    /// Siblings have room, none of them has so much less to do, and not all lag.
    NoSibling,
    /// Too much has been written for such moves already.
    Budget,
}

/// What becomes of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is wrong.
    Fine,
    /// It goes to another cluster.
    ToCluster {
        /// Which.
        cluster: usize,
        /// Why.
        reason: Reason,
    },
    /// It goes to another module of the same cluster.
    ToModule {
        /// Which.
        module: usize,
        /// Why.
        reason: Reason,
    },
    /// It should go elsewhere, and cannot.
    Stays {
        /// Why it should.
        reason: Reason,
        /// Why it cannot.
        obstacle: Obstacle,
    },
}

/// What became of blocks that should go elsewhere for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Moved to another cluster.
    pub to_cluster: u64,
    /// Moved to a sibling.
    pub to_module: u64,
    /// Not moved: nowhere is cold.
    pub nowhere_cold: u64,
    /// Not moved: no sibling is better off.
    pub no_sibling: u64,
    /// Not moved: the budget is spent.
    pub over_budget: u64,
}

impl OutcomeCounts {
    /// Those that moved.
    pub fn moved(&self) -> u64 {
        self.to_cluster + self.to_module
    }
}

/// Decisions so far, by their reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisionCounts {
    /// The cluster is hot.
    pub hot_cluster: OutcomeCounts,
    /// What waits for the module will take longer than was promised.
    pub late: OutcomeCounts,
    /// The queue is full, and most of it is for the module.
    pub full_queue: OutcomeCounts,
}

impl DecisionCounts {
    /// Counts one about so many blocks.
    pub fn count(&mut self, decision: &Decision, blocks: u32) {
        let (Decision::ToCluster { reason, .. } | Decision::ToModule { reason, .. } | Decision::Stays { reason, .. }) =
            decision
        else {
            return;
        };
        let of = match reason {
            Reason::HotCluster { .. } => &mut self.hot_cluster,
            Reason::Late { .. } => &mut self.late,
            Reason::FullQueue { .. } => &mut self.full_queue,
        };
        let counter = match decision {
            Decision::Fine => return,
            Decision::ToCluster { .. } => &mut of.to_cluster,
            Decision::ToModule { .. } => &mut of.to_module,
            Decision::Stays { obstacle: Obstacle::NowhereCold, .. } => &mut of.nowhere_cold,
            Decision::Stays { obstacle: Obstacle::NoSibling, .. } => &mut of.no_sibling,
            Decision::Stays { obstacle: Obstacle::Budget, .. } => &mut of.over_budget,
        };
        *counter += u64::from(blocks);
    }

    /// Those of one outcome, for whatever reason.
    pub fn all(&self, of: impl Fn(&OutcomeCounts) -> u64) -> u64 {
        of(&self.hot_cluster) + of(&self.late) + of(&self.full_queue)
    }
}

/// A cluster, and everything around it that a decision needs.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// All clusters.
    pub clusters: &'a [ClusterView],
    /// The one that it is about,
    pub here: usize,
    /// and what things take there.
    pub times: ClusterTimes,
    /// The time.
    pub now: Nanos,
}

impl Surroundings<'_> {
    /// The cluster below the same switch that has the least to do of those that may take data from here.
    fn coldest(&self, rule: &AutonomicsRule, pages: u32) -> Option<usize> {
        let (here, bound) = (&self.clusters[self.here], self.times.cold_below(pages));
        let is_fit = |&(n, cluster): &(usize, &ClusterView)| {
            n != self.here
                && cluster.switch == here.switch
                && cluster.is_cold(bound)
                && cluster.has_far_less_under_way(here)
                && cluster.has_room
                && cluster.heat.has_rested(rule, self.now)
        };
        self.clusters
            .iter()
            .enumerate()
            .filter(is_fit)
            .min_by_key(|(n, cluster)| (cluster.under_way, cluster.bus_milli, cluster.given, *n))
            .map(|(n, _)| n)
    }
}

impl AutonomicsRule {
    /// What becomes of data that a cluster has just delivered.
    pub fn after_read(&self, around: &Surroundings<'_>, answered: &Answered, budget: &mut WriteBudget) -> Decision {
        if !answered.met_contention(&around.times) || !around.clusters[around.here].heat.is_hot() {
            return Decision::Fine;
        }
        let contended = around.times.contended(answered.pages);
        let reason = Reason::HotCluster { latency: answered.latency, contended };
        self.send_away(around, reason, answered.pages, Carried::Read, budget)
    }

    /// What becomes of data that is on its way from a module, or to it, while others wait for it. `queue_is_full`: whether the queue
    /// of the whole network has no room for more.
    pub fn before_module(
        &self,
        around: &Surroundings<'_>,
        modules: &[ModuleView],
        (module, pages, carried): (usize, u32, Carried),
        queue_is_full: bool,
        budget: &mut WriteBudget,
    ) -> Decision {
        let Some(reason) = self.lags(&around.times, modules, module, queue_is_full) else { return Decision::Fine };
        let is_better = |&(n, other): &(usize, &ModuleView)| {
            n != module
                && other.has_room
                && u64::from(other.pages) * FAR_LESS < u64::from(modules[module].pages)
                && self.lags(&around.times, modules, n, queue_is_full).is_none()
        };
        let no_sibling_has_room = || !modules.iter().enumerate().any(|(n, other)| n != module && other.has_room);
        let sibling = modules.iter().enumerate().filter(is_better).min_by_key(|(n, other)| (other.pages, *n));
        match sibling {
            Some((n, _)) if self.may_write(budget, around.now, pages, carried) => {
                Decision::ToModule { module: n, reason }
            }
            Some(_) => Decision::Stays { reason, obstacle: Obstacle::Budget },
            // In an array of logs, siblings have room only while the log is there: waiting for that would be to stay for ever.
            None if self.all_lag(&around.times, modules, queue_is_full) || no_sibling_has_room() => {
                self.send_away(around, reason, pages, carried, budget)
            }
            None => Decision::Stays { reason, obstacle: Obstacle::NoSibling },
        }
    }

    /// Whether a module lags, and by which rule.
    pub fn lags(
        &self,
        times: &ClusterTimes,
        modules: &[ModuleView],
        module: usize,
        queue_is_full: bool,
    ) -> Option<Reason> {
        let view = &modules[module];
        let backlog = times.backlog(view.pages);
        if backlog > self.sla {
            return Some(Reason::Late { backlog, sla: self.sla });
        }
        let most = modules.iter().map(|other| other.requests).max().unwrap_or(0);
        let is_among_most = u64::from(view.requests) * 100 >= u64::from(most) * u64::from(self.alike_percent);
        let of = modules.iter().map(|other| other.requests).sum();
        (queue_is_full && most > 0 && is_among_most).then_some(Reason::FullQueue { requests: view.requests, of })
    }

    fn all_lag(&self, times: &ClusterTimes, modules: &[ModuleView], queue_is_full: bool) -> bool {
        (0..modules.len()).all(|n| self.lags(times, modules, n, queue_is_full).is_some())
    }

    fn send_away(
        &self,
        around: &Surroundings<'_>,
        reason: Reason,
        pages: u32,
        carried: Carried,
        budget: &mut WriteBudget,
    ) -> Decision {
        match around.coldest(self, pages) {
            None => Decision::Stays { reason, obstacle: Obstacle::NowhereCold },
            Some(cluster) if self.may_write(budget, around.now, pages, carried) => {
                Decision::ToCluster { cluster, reason }
            }
            Some(_) => Decision::Stays { reason, obstacle: Obstacle::Budget },
        }
    }

    /// What is written anyway costs nothing more elsewhere.
    fn may_write(&self, budget: &mut WriteBudget, now: Nanos, pages: u32, carried: Carried) -> bool {
        carried == Carried::Write || budget.take(self, now, pages)
    }
}

#[cfg(test)]
mod tests;
