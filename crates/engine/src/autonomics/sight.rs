//! What one reactor sees of contention: how long its own requests take, and what waits before each device.
//!
//! Nothing is asked of a device, so all that is seen is seen of any. Times are compared with those of a *typical* device, the middle
//! one of all: where all are equally slow nobody is in anybody's way. What a page takes on the link and what in the device is declared
//! with the link, or cannot be told apart from outside: then half is taken for each.

use std::cell::{Cell, RefCell};

use cygnus_policy::{
    Answered, AutonomicsRule, ClusterHeat, ClusterTimes, ClusterView, ModuleView, PageTimes, Reason, WriteBudget,
    WriteTimes, typical,
};
use cygnus_runtime::{DeviceIo, DeviceIx, DeviceLoad, IoClass};
use cygnus_types::{BLOCK, Nanos};

use crate::autonomics::marks::Marks;
use crate::autonomics::targets::Targets;

/// Reads up to this many blocks tell what a page takes; longer ones tell of their length.
const TELLING_BLOCKS: u64 = 16;

/// Of so many reads of a device whose link is contended one goes there all the same, to see whether it still is.
const TRIED: u32 = 8;

/// A moving mean that gives the last sample a sixteenth.
#[derive(Clone, Copy, Default)]
struct Mean {
    span: u64,
    samples: u32,
}

impl Mean {
    fn note(&mut self, span: u64) {
        self.span = if self.samples == 0 { span } else { self.span - self.span / 16 + span / 16 };
        self.samples = self.samples.saturating_add(1);
    }

    fn known(&self, rule: &AutonomicsRule) -> Option<Nanos> {
        (self.samples >= rule.few).then_some(Nanos(self.span))
    }
}

/// A device, as this reactor's requests see it.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// What a page takes when nothing else is before the device.
    alone: Mean,
    /// What a page takes in its turn, whatever is before it.
    page: Mean,
    /// What a write takes.
    write: Mean,
    /// What a page written takes in its turn, whatever is before it.
    page_written: Mean,
    /// When the last write ended.
    written: Nanos,
    /// At how many looks in a row it lagged.
    lagged: u8,
}

impl Seen {
    fn write_ended(&mut self, io: &DeviceIo, took: Nanos, now: Nanos) {
        self.write.note(took.0);
        self.page_written.note(took.0 / in_turn(io));
        self.written = now;
    }

    /// What writes take, as far as they tell something of now: what was long ago is nothing to compare others with.
    fn write_times(&self, rule: &AutonomicsRule, now: Nanos) -> Option<WriteTimes> {
        let (whole, page) = (self.write.known(rule)?, self.page_written.known(rule)?);
        (now.since(self.written) < rule.avoid_for).then_some(WriteTimes { whole, page })
    }
}

/// See the module's text.
pub(crate) struct Sight {
    devices: RefCell<Vec<Seen>>,
    heats: RefCell<Vec<ClusterHeat>>,
    /// What a page takes alone on a typical device; zero while that is not known.
    quiet: Cell<Nanos>,
    /// The rule, where a page takes that.
    rule: Cell<AutonomicsRule>,
    until_look: Cell<u32>,
    tries: Cell<u32>,
    budget: RefCell<WriteBudget>,
    /// Blocks of clients that the budget has been told of.
    told: Cell<u64>,
    /// Reads for naive migrations under way.
    migrations: Cell<u32>,
    pub targets: Targets,
}

impl Sight {
    pub(crate) fn new(marks: &Marks, now: Nanos) -> Self {
        Self {
            devices: RefCell::new(vec![Seen::default(); marks.links.device_numbers()]),
            heats: RefCell::new(vec![ClusterHeat::default(); marks.links.clusters.len()]),
            quiet: Cell::new(Nanos::ZERO),
            rule: Cell::new(marks.rule),
            until_look: Cell::new(marks.rule.look_after),
            tries: Cell::new(0),
            budget: RefCell::new(WriteBudget::begun(now)),
            told: Cell::new(0),
            migrations: Cell::new(0),
            targets: Targets::default(),
        }
    }

    /// A read for a naive migration is to begin; whether it may, since there may be so many.
    pub(crate) fn begins_migration(&self, most: u32) -> bool {
        let may_begin = self.migrations.get() < most;
        self.migrations.set(self.migrations.get() + u32::from(may_begin));
        may_begin
    }

    /// One of them is over.
    pub(crate) fn ends_migration(&self) {
        self.migrations.set(self.migrations.get() - 1);
    }

    /// An operation has ended. Says whether it is time for a look.
    pub(crate) fn ended(&self, marks: &Marks, io: DeviceIo, took: Nanos, now: Nanos) -> bool {
        let Some(cluster) = marks.links.cluster_of(io.dev) else { return false };
        match io.class {
            IoClass::Read if io.bytes <= TELLING_BLOCKS * BLOCK as u64 => {
                self.read_ended(marks, cluster, &io, took, now)
            }
            IoClass::Write => self.devices.borrow_mut()[usize::from(io.dev.0)].write_ended(&io, took, now),
            _ => return false,
        }
        let left = self.until_look.get() - 1;
        self.until_look.set(if left == 0 { marks.rule.look_after } else { left });
        left == 0
    }

    fn read_ended(&self, marks: &Marks, cluster: usize, io: &DeviceIo, took: Nanos, now: Nanos) {
        let pages = pages(io.bytes).max(1);
        let module_was_free = io.ahead.requests == 0;
        {
            let seen = &mut self.devices.borrow_mut()[usize::from(io.dev.0)];
            seen.page.note(took.0 / in_turn(io));
            if module_was_free {
                seen.alone.note(took.0 / pages);
            }
        }
        let Some(times) = self.known_times(marks, cluster).filter(|_| marks.links.clusters[cluster].is_shared()) else {
            return;
        };
        let answered = Answered { latency: took, pages: pages as u32, module_was_free };
        let heat = &mut self.heats.borrow_mut()[cluster];
        heat.count(&marks.rule, &times, &answered, now);
        if heat.is_hot() {
            marks.is_found_hot(cluster, now);
        }
    }

    /// The rule as it is here and now.
    pub(crate) fn rule(&self) -> AutonomicsRule {
        self.rule.get()
    }

    /// Looks at all devices: what is typical, and whom new writes are to avoid. `found` hears of each one more, with the reason.
    pub(crate) fn look(
        &self,
        marks: &Marks,
        load: impl Fn(DeviceIx) -> DeviceLoad,
        now: Nanos,
        found: impl Fn(DeviceIx, &str),
    ) {
        if let Some(quiet) = self.typical(|seen| seen.alone.known(&marks.rule)) {
            self.quiet.set(quiet);
            self.rule.set(marks.rule.where_a_page_takes(quiet));
        }
        let typical_of = |part: fn(WriteTimes) -> Nanos| {
            self.typical(|seen| seen.write_times(&marks.rule, now).map(part)).unwrap_or(Nanos::MAX)
        };
        let typical_write = WriteTimes { whole: typical_of(|times| times.whole), page: typical_of(|times| times.page) };
        for (at, cluster) in marks.links.clusters.iter().enumerate() {
            let heat = self.heat(marks, at, now);
            for &dev in &cluster.devices {
                let reason = self.burden(dev, heat, typical_write, &load(dev), now);
                if let Some(reason) = reason
                    && marks.burden(dev, now, || reason.clone())
                {
                    found(dev, &reason);
                }
            }
        }
    }

    /// What a typical device takes for something, as far as that is known.
    fn typical(&self, known: impl Fn(&Seen) -> Option<Nanos>) -> Option<Nanos> {
        typical(&mut self.devices.borrow().iter().filter_map(known).collect::<Vec<_>>())
    }

    /// Why new writes should avoid a device, if they should.
    fn burden(
        &self,
        dev: DeviceIx,
        heat: ClusterHeat,
        typical_write: WriteTimes,
        load: &DeviceLoad,
        now: Nanos,
    ) -> Option<String> {
        let (rule, backlog) = (self.rule.get(), self.backlog(dev, load));
        let seen = &mut self.devices.borrow_mut()[usize::from(dev.0)];
        seen.lagged = if backlog > rule.sla { seen.lagged.saturating_add(1) } else { 0 };
        if heat.is_hot() {
            let share = heat.contended_milli() / 10;
            return Some(format!("its link is contended: {share} of 100 requests met others there"));
        }
        if seen.lagged >= rule.lags_in_a_row {
            return Some(Reason::Late { backlog, sla: rule.sla }.to_string());
        }
        let own = seen.write_times(&rule, now).filter(|&own| rule.writes_slowly(own, typical_write))?;
        // It is judged anew by what it does from now on: who is avoided is hardly written, and would stay slow for ever.
        (seen.write, seen.page_written) = Default::default();
        let times = |of: WriteTimes| format!("{} ({} for a page in its turn)", of.whole, of.page);
        Some(format!("its writes take {}, those of a typical device {}", times(own), times(typical_write)))
    }

    /// Whether a device lags by its own reads.
    pub(crate) fn lags(&self, dev: DeviceIx, load: &DeviceLoad) -> bool {
        self.backlog(dev, load) > self.rule.get().sla
    }

    /// What is to be read from a device will take so long: equation 3.
    fn backlog(&self, dev: DeviceIx, load: &DeviceLoad) -> Nanos {
        let rule = self.rule.get();
        let page = self.devices.borrow().get(usize::from(dev.0)).and_then(|seen| seen.page.known(&rule));
        page.map_or(Nanos::ZERO, |page| page * pages(load.reading))
    }

    /// Whether reads of a device are better served without it.
    pub(crate) fn is_burdened(&self, marks: &Marks, dev: DeviceIx, load: &DeviceLoad, now: Nanos) -> bool {
        let is_hot = marks.links.cluster_of(dev).is_some_and(|cluster| marks.is_hot(cluster, now));
        is_hot || self.lags(dev, load)
    }

    /// Whether this read goes to a device although its link is contended, for otherwise nobody would find that it is no more.
    pub(crate) fn tries(&self) -> bool {
        self.tries.set(self.tries.get() + 1);
        self.tries.get().is_multiple_of(TRIED)
    }

    /// How hot a cluster is, by what this reactor sees.
    pub(crate) fn heat(&self, marks: &Marks, cluster: usize, now: Nanos) -> ClusterHeat {
        self.heats.borrow()[cluster].as_of(&marks.rule, now)
    }

    /// What things take in a cluster when nobody else is there: as declared with its link, or by what a page takes alone.
    pub(crate) fn times(&self, marks: &Marks, cluster: usize) -> ClusterTimes {
        let cluster = &marks.links.clusters[cluster];
        let page = cluster.times.unwrap_or_else(|| PageTimes::halves_of(self.quiet.get()));
        page.with_modules(cluster.devices.len() as u32)
    }

    /// The same, if it is declared or has been seen often enough.
    fn known_times(&self, marks: &Marks, cluster: usize) -> Option<ClusterTimes> {
        let is_known = marks.links.clusters[cluster].times.is_some() || self.quiet.get() > Nanos::ZERO;
        is_known.then(|| self.times(marks, cluster))
    }

    /// All clusters as the rule sees them, but for whether they have room, which this knows nothing of. `load` is of a device.
    pub(crate) fn clusters(
        &self,
        marks: &Marks,
        load: impl Fn(DeviceIx) -> DeviceLoad,
        now: Nanos,
    ) -> Vec<ClusterView> {
        let view = |(at, cluster): (usize, &crate::autonomics::links::Cluster)| {
            let heat = self.heat(marks, at, now);
            let (switch, bus_milli, given) = (cluster.switch, heat.contended_milli(), marks.given(at));
            let under_way = cluster.devices.iter().map(|&dev| load(dev).requests).sum();
            ClusterView { switch, bus_milli, heat, has_room: false, under_way, given }
        };
        marks.links.clusters.iter().enumerate().map(view).collect()
    }

    /// A device as the rule sees it.
    pub(crate) fn module(&self, times: &ClusterTimes, dev: DeviceIx, load: &DeviceLoad, has_room: bool) -> ModuleView {
        let work = self.backlog(dev, load).0.checked_div(times.backlog(1).0).unwrap_or(0);
        ModuleView { requests: load.requests, pages: work.min(u32::MAX.into()) as u32, has_room }
    }

    /// What may still be written for the sake of better places, when clients have written so many blocks.
    pub(crate) fn with_budget<T>(&self, written: u64, act: impl FnOnce(&mut WriteBudget) -> T) -> T {
        let mut budget = self.budget.borrow_mut();
        budget.written(&self.rule.get(), written.saturating_sub(self.told.get()));
        self.told.set(self.told.get().max(written));
        act(&mut budget)
    }
}

fn pages(bytes: u64) -> u64 {
    bytes / BLOCK as u64
}

/// The pages of an operation, with those that came before it: they had their turn first.
fn in_turn(io: &DeviceIo) -> u64 {
    pages(io.bytes).max(1) + pages(io.ahead.reading + io.ahead.writing)
}

#[cfg(test)]
mod tests {
    use cygnus_runtime::DeviceInfo;

    use crate::autonomics::links::{Link, Links, Strangers};

    use super::*;

    /// Two devices behind a link whose times are known, and one behind none.
    fn marks() -> Marks {
        let device = |n| DeviceInfo { ix: DeviceIx(n), name: format!("d{n}"), size: 0, logical_block: 4096 };
        let times = Some(PageTimes { dma: Nanos(5_120), exe: Nanos::micros(75) });
        let link =
            Link { name: "bus".into(), devices: vec!["d0".into(), "d1".into()], switch: 3, times, declared_at: None };
        let (links, _) = Links::resolve(&[link], &[0, 1, 2].map(device), Strangers::AreRefused).unwrap();
        Marks::new(links, AutonomicsRule::for_blocks(1 << 30))
    }

    #[test]
    fn declared_times_tell_contention_and_cold_links() {
        let marks = marks();
        let sight = Sight::new(&marks, Nanos::ZERO);
        sight.quiet.set(Nanos::micros(90));
        let (bus, other) = (sight.times(&marks, 0), sight.times(&marks, 1));
        // Equations 1 and 2 by hand: 5.12 us * 2 + 75 us, and 5.12 of 80.12.
        assert_eq!((bus.contended(1), bus.cold_below(1)), (Nanos(85_240), 63));
        // Where nothing is declared half of what a page takes is the link's.
        assert_eq!((other.contended(1), other.cold_below(1)), (Nanos::micros(90), 500));
    }

    #[test]
    fn links_are_below_the_switches_that_are_declared() {
        let marks = marks();
        let views = Sight::new(&marks, Nanos::ZERO).clusters(&marks, |_| DeviceLoad::default(), Nanos::ZERO);
        assert_eq!(views.iter().map(|view| view.switch).collect::<Vec<_>>(), [3, 0]);
    }

    #[test]
    fn a_link_whose_times_are_declared_is_judged_from_its_first_requests_on() {
        let marks = marks();
        let sight = Sight::new(&marks, Nanos::ZERO);
        let read =
            DeviceIo { dev: DeviceIx(0), class: IoClass::Read, bytes: BLOCK as u64, ahead: DeviceLoad::default() };
        for _ in 0..marks.rule.look_after {
            sight.ended(&marks, read, Nanos::micros(86), Nanos::secs(1));
        }
        assert!(marks.is_hot(0, Nanos::secs(1)));
    }
}
