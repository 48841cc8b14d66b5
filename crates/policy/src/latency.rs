//! Slow is failed too: when a read goes on without its device, and when a device is left alone.
//!
//! Three steps, each judged by what the group itself does now and not by a fixed number:
//!
//! 1. A read that takes longer than twice what 99 of 100 reads of the group's typical member take is *late*: its block is
//!    reconstructed from the other columns, and whichever is first serves (a hedged request, as in Dean and Barroso, *The
//!    Tail at Scale*, 2013). By that definition hardly one read in a hundred is late on a healthy device, so hedging
//!    costs next to nothing; a budget keeps it so when the whole group gets slow.
//! 2. A member with several late reads in a row and none that ended meanwhile, or with several that took four times that,
//!    is *slow*: its blocks are reconstructed at once, as if it had failed. Now and then a read goes to it beside, for
//!    which no client waits, also while clients read nothing; when several of these in a row are in time, it serves again. A device that pauses to collect its
//!    garbage is slow for as long as it pauses. Reads judged at the same moment count once: when a reactor was kept from
//!    its processor for a while, everything it had in flight seems to have taken that long, on every device.
//! 3. A device that gives no answer at all for 75 s is *hung*: it goes out of service. Not before the kernel itself has given it
//!    up once: NVMe's timer (`nvme_core.io_timeout`) and SCSI's run for 30 s. Then the command is aborted, and the abort may
//!    take as long; then the controller or the bus is reset, which takes seconds, and the command is given again. Whatever this
//!    saves is saved within some 65 s, and a member that came back by itself costs nothing. A flush and a trim may take longer
//!    by their nature; that is said where their time is taken (`Runtime::set_patience`).
//!
//! Writes are judged otherwise. No stripe can do without a member's part of a stripe, so a member that is slow at writing or
//! flushing slows its whole group down, and nothing can be done but to say so: *it lags*. It does when 99 of 100 of its
//! writes do not end within four times what the same takes its peers, who get the same writes.

use cygnus_types::Nanos;

/// The thresholds of a reactor. See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyRule {
    /// A read is late after this many times the group's 99th percentile.
    pub late_factor: u64,
    /// But never before this: below it, timers and queues blur what a device does.
    pub earliest: Nanos,
    /// And always after this; also while nothing is known of the group.
    pub latest: Nanos,
    /// A read that has ended counts against its member when it took this many times what makes it late.
    pub slow_factor: u64,
    /// Late reads in a row that make a member slow, and reads in time in a row that make it good again.
    pub streak: u8,
    /// A slow member is tried again this often.
    pub probe_every: Nanos,
    /// Reads of a hundred that may be hedged.
    pub hedge_percent: u32,
    /// Unused hedges are saved up to this many.
    pub saved_hedges: u32,
    /// A device that gives no answer during this time is hung.
    pub hung_after: Nanos,
    /// A member lags in its writes or flushes when their 99th percentile is this multiple of its peers',
    pub lag_factor: u64,
    /// but not below this: drives that collect their garbage at different times differ by as much.
    pub least_lag: Nanos,
}

/// How much longer than its peers a member takes: 99th percentiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag {
    /// 99th percentile of the member itself.
    pub own: Nanos,
    /// 99th percentile of the typical other member of its group.
    pub peers: Nanos,
}

impl Default for LatencyRule {
    fn default() -> Self {
        Self {
            late_factor: 2,
            earliest: Nanos::micros(200),
            latest: Nanos::millis(500),
            slow_factor: 4,
            streak: 4,
            probe_every: Nanos::millis(10),
            hedge_percent: 10,
            saved_hedges: 64,
            hung_after: Nanos::secs(75),
            lag_factor: 4,
            least_lag: Nanos::millis(5),
        }
    }
}

/// How a member has kept pace lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Whether it is left alone.
    pub slow: bool,
    /// Reads in a row that speak for the opposite.
    contrary: u8,
    /// When the last of these was judged.
    judged: Option<Nanos>,
    /// When it may be tried next.
    next_probe: Nanos,
}

/// What may still be hedged, in hundredths of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HedgeBudget(u32);

/// The middle one. Of two, the lower one: one slow member must not raise the bar that it is measured by.
pub fn typical(spans: &mut [Nanos]) -> Option<Nanos> {
    spans.sort_unstable();
    spans.get(spans.len().saturating_sub(1) / 2).copied()
}

impl LatencyRule {
    /// Least time for [`LatencyRule::hung_after`]. Healthy drives take hundreds of milliseconds now and then, to flush a full
    /// cache or to try a bad sector again.
    pub const LEAST_HUNG_AFTER: Nanos = Nanos::secs(1);

    /// After how long a read of a block is late, given the 99th percentiles of the group's members as far as they are
    /// known.
    pub fn late_after(&self, p99: &mut [Nanos]) -> Nanos {
        match typical(p99) {
            Some(typical) => (typical * self.late_factor).clamp(self.earliest, self.latest),
            None => self.latest,
        }
    }

    /// Whether a member lags in its writes, or in its flushes, given their 99th percentile and those of its peers.
    pub fn lag(&self, own: Nanos, peers: &mut [Nanos]) -> Option<Lag> {
        let peers = typical(peers)?;
        (own >= self.least_lag && own >= peers * self.lag_factor).then_some(Lag { own, peers })
    }

    /// A read that ended `now` took `took`, and would have been late after `late_after`.
    pub fn ended(&self, pace: Pace, took: Nanos, late_after: Nanos, now: Nanos) -> Pace {
        self.judge(pace, took > late_after * self.slow_factor, now)
    }

    /// A read is late and still under way `now`.
    pub fn late(&self, pace: Pace, now: Nanos) -> Pace {
        self.judge(pace, true, now)
    }

    fn judge(&self, pace: Pace, bad: bool, now: Nanos) -> Pace {
        if bad == pace.slow {
            return Pace { contrary: 0, ..pace };
        }
        if pace.judged == Some(now) {
            return pace;
        }
        let (contrary, judged) = (pace.contrary + 1, Some(now));
        if contrary < self.streak {
            Pace { contrary, judged, ..pace }
        } else {
            Pace { slow: bad, contrary: 0, judged, ..pace }
        }
    }

    /// Whether a slow member is to be tried now; the time of the next trial is then set.
    pub fn probe(&self, pace: &mut Pace, now: Nanos) -> bool {
        let due = pace.next_probe <= now;
        if due {
            pace.next_probe = now + self.probe_every;
        }
        due
    }

    /// A budget with everything saved that can be.
    pub fn full_budget(&self) -> HedgeBudget {
        HedgeBudget(self.saved_hedges * 100)
    }

    /// A read that may become late earns its share of a hedge.
    pub fn earn(&self, budget: HedgeBudget) -> HedgeBudget {
        HedgeBudget((budget.0 + self.hedge_percent).min(self.saved_hedges * 100))
    }

    /// Takes a hedge off the budget, if there is one.
    pub fn spend(&self, budget: &mut HedgeBudget) -> bool {
        let rest = budget.0.checked_sub(100);
        budget.0 = rest.unwrap_or(budget.0);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: LatencyRule = LatencyRule {
        late_factor: 2,
        earliest: Nanos(100),
        latest: Nanos(10_000),
        slow_factor: 4,
        streak: 3,
        probe_every: Nanos(1_000),
        hedge_percent: 10,
        saved_hedges: 2,
        hung_after: Nanos(1_000_000),
        lag_factor: 4,
        least_lag: Nanos(5_000),
    };

    #[test]
    fn a_slow_member_does_not_raise_the_bar() {
        let late = |p99: &[u64]| RULE.late_after(&mut p99.iter().map(|&n| Nanos(n)).collect::<Vec<_>>()).0;
        assert_eq!(late(&[300, 90_000, 310]), 620);
        assert_eq!(late(&[300, 90_000]), 600);
        assert_eq!(late(&[1]), 100);
        assert_eq!(late(&[90_000]), 10_000);
        assert_eq!(late(&[]), 10_000);
    }

    #[test]
    fn a_member_lags_when_its_peers_do_not() {
        let lag = |own, peers: &[u64]| RULE.lag(Nanos(own), &mut peers.iter().map(|&n| Nanos(n)).collect::<Vec<_>>());
        assert_eq!(lag(8_000, &[2_000, 1_000]), Some(Lag { own: Nanos(8_000), peers: Nanos(1_000) }));
        assert_eq!(lag(8_000, &[9_000, 1_000, 9_000]), None, "most of them take as long");
        assert_eq!(lag(4_999, &[100]), None, "fast enough for anybody");
        assert_eq!(lag(80_000, &[]), None, "nobody to compare it with");
    }

    #[test]
    fn a_streak_makes_slow_and_a_streak_makes_good_again() {
        let (mut pace, mut now) = (Pace::default(), Nanos::ZERO);
        let mut take = |took| {
            now += Nanos(1);
            pace = RULE.ended(pace, Nanos(took), Nanos(100), now);
            pace.slow
        };
        assert!([500, 500, 300, 500, 500].iter().all(|&t| !take(t)), "one in time begins a new streak");
        assert!(take(500));
        assert!([300, 300, 500, 300, 300].iter().all(|&t| take(t)));
        assert!(!take(400));
    }

    #[test]
    fn a_device_that_answers_nothing_is_slow_before_it_is_hung() {
        let moments = |from: u64| (from..from + u64::from(RULE.streak)).map(Nanos);
        let pace = moments(0).fold(Pace::default(), |pace, now| RULE.late(pace, now));
        assert!(pace.slow);
        let recovering = moments(10).fold(pace, |pace, now| RULE.ended(pace, Nanos(50), Nanos(100), now));
        assert!(!recovering.slow);
    }

    #[test]
    fn a_reactor_that_was_away_blames_no_device() {
        let away = |pace, now| (0..100).fold(pace, |pace, _| RULE.ended(pace, Nanos(9_000), Nanos(100), now));
        let mut pace = away(Pace::default(), Nanos(9_000));
        pace = away(RULE.ended(pace, Nanos(50), Nanos(100), Nanos(9_100)), Nanos(20_000));
        pace = away(pace, Nanos(30_000));
        assert!(!pace.slow, "twice in a row is not a streak of {}", RULE.streak);
        assert!(away(pace, Nanos(40_000)).slow);
    }

    #[test]
    fn probes_are_spaced() {
        let mut pace = Pace::default();
        let tried: Vec<u64> = (0..5_000).filter(|&now| RULE.probe(&mut pace, Nanos(now))).collect();
        assert_eq!(tried, [0, 1_000, 2_000, 3_000, 4_000]);
    }

    #[test]
    fn hedges_are_a_tenth_of_the_reads_once_the_savings_are_spent() {
        let mut budget = RULE.full_budget();
        let mut hedged = 0;
        for _ in 0..1_000 {
            budget = RULE.earn(budget);
            hedged += u32::from(RULE.spend(&mut budget));
        }
        assert_eq!(hedged, 101, "the first read had nothing to add");
    }
}
