use proptest::prelude::*;

use super::*;

fn rule() -> AutonomicsRule {
    // Sixteen terabytes.
    AutonomicsRule::for_blocks(4 << 30)
}

/// A page of 4 KiB at 800 MB/s, a sense of 75 us, four modules.
const TIMES: ClusterTimes = ClusterTimes { dma: Nanos(5_120), exe: Nanos(75_000), modules: 4 };

const COLD: ClusterView = ClusterView {
    switch: 0,
    bus_milli: 10,
    heat: ClusterHeat { is_hot: false, was_hot: None, requests: 0, contended: 0, contended_milli: 0 },
    has_room: true,
    under_way: 0,
    given: 0,
};

/// Its modules lag, and nothing is known of its bus.
const BUSY: ClusterView = ClusterView { under_way: 200, ..COLD };

fn hot(since: Nanos) -> ClusterView {
    let heat = ClusterHeat { is_hot: true, was_hot: Some(since), ..ClusterHeat::default() };
    ClusterView { bus_milli: 990, heat, under_way: 40, ..COLD }
}

fn plenty() -> WriteBudget {
    WriteBudget { by_writes: 1_000_000, ..WriteBudget::default() }
}

/// Everything, from a time on.
fn paid_for(now: Nanos) -> WriteBudget {
    WriteBudget { by_writes: u64::MAX / 2, paid: now, ..WriteBudget::default() }
}

fn around<'a>(clusters: &'a [ClusterView], now: Nanos) -> Surroundings<'a> {
    Surroundings { clusters, here: 0, times: TIMES, now }
}

const LATE: Answered = Answered { latency: Nanos::micros(200), pages: 1, module_was_free: true };

#[test]
fn equation_1_by_hand() {
    // 5.12 * (1 + 4 - 1) + 75; 5.12 * (2 + 3) + 150.
    assert_eq!((TIMES.contended(1), TIMES.contended(2)), (Nanos(95_480), Nanos(175_600)));
    let answered = |latency, module_was_free| Answered { latency: Nanos(latency), pages: 1, module_was_free };
    assert!(answered(95_480, true).met_contention(&TIMES));
    assert!(!answered(95_479, true).met_contention(&TIMES));
    assert!(!answered(9_000_000, false).met_contention(&TIMES), "its module was what it waited for");
}

#[test]
fn equations_2_and_3_by_hand() {
    // 5.12 / 80.12 and 20.48 / 95.48.
    assert_eq!((TIMES.cold_below(1), TIMES.cold_below(4)), (63, 214));
    assert_eq!(ClusterTimes { dma: Nanos(0), exe: Nanos(0), modules: 1 }.cold_below(1), 0);
    assert_eq!(TIMES.backlog(10), Nanos(801_200));
}

#[test]
fn a_cluster_is_hot_from_half_on_and_down_to_a_fifth() {
    let (rule, mut heat) = (rule(), ClusterHeat::default());
    let mut look = |percent: u32| {
        for n in 0..rule.look_after {
            let contended = n * 100 < percent * rule.look_after;
            let latency = if contended { Nanos::millis(1) } else { Nanos::micros(80) };
            heat.count(&rule, &TIMES, &Answered { latency, ..LATE }, Nanos::secs(9));
        }
        heat.is_hot()
    };
    assert_eq!([48, 51, 48, 21, 18, 48, 50].map(&mut look), [false, true, true, true, false, false, true]);
}

#[test]
fn a_cluster_that_nobody_asks_any_more_is_not_hot() {
    let (rule, hot) = (rule(), hot(Nanos::secs(3)).heat);
    assert!(hot.as_of(&rule, Nanos::millis(3_999)).is_hot());
    assert!(!hot.as_of(&rule, Nanos::secs(4)).is_hot());
    assert_eq!(ClusterHeat::default().as_of(&rule, Nanos::secs(9)), ClusterHeat::default());
}

#[test]
fn what_is_late_depends_on_how_quick_a_page_is() {
    let promised = |quiet| rule().where_a_page_takes(Nanos::micros(quiet)).sla;
    assert_eq!([0, 80, 900].map(promised), [Nanos::micros(200), Nanos::micros(640), Nanos::micros(3_300)]);
}

#[test]
fn requests_that_waited_for_their_own_module_do_not_count() {
    let (rule, mut heat) = (rule(), ClusterHeat::default());
    for n in 0..10 * rule.look_after {
        let module_was_free = n % 10 == 0;
        heat.count(&rule, &TIMES, &Answered { module_was_free, ..LATE }, Nanos::secs(1));
    }
    assert!(heat.is_hot());
}

#[test]
fn writing_is_slow_beside_others_and_never_by_a_little() {
    let times = |whole, page| WriteTimes { whole: Nanos::millis(whole), page: Nanos::micros(page) };
    let slowly = |own, typical| rule().writes_slowly(times(own, own), times(typical, typical));
    assert_eq!([slowly(8, 2), slowly(7, 2), slowly(3, 0), slowly(90, 80)], [true, false, false, false]);
}

#[test]
fn who_is_given_more_to_write_is_not_slow_and_nor_is_a_lone_page() {
    let slowly = |own, typical| rule().writes_slowly(own, typical);
    let times = |whole, page| WriteTimes { whole: Nanos::millis(whole), page: Nanos::micros(page) };
    let (front_end, idle, slow) = (times(130, 120), times(2, 500), times(130, 2400));
    assert!(!slowly(front_end, times(30, 100)) && !slowly(idle, times(30, 100)));
    assert!(slowly(slow, times(30, 100)));
}

#[test]
fn what_was_taken_out_and_not_written_is_given_back() {
    let (rule, mut budget) = (rule(), WriteBudget::default());
    budget.written(&rule, 100);
    assert!(budget.left(&rule) == 34 && budget.take(&rule, Nanos::ZERO, 34) && budget.left(&rule) == 0);
    budget.give_back(&rule, budget.last_taken(), 4);
    assert!(!budget.take(&rule, Nanos::ZERO, 5) && budget.take(&rule, Nanos::ZERO, 4));
    // The clock had paid for three of ten; what was not written it gets back only if that is more than what it had not paid for.
    let clock = WriteBudget { by_writes: 1000, by_clock: 300, ..WriteBudget::default() };
    let after = |blocks| {
        let (rule, mut budget) = (AutonomicsRule { writes_per_day: 0, ..rule }, clock);
        assert!(budget.take(&rule, Nanos::ZERO, 10));
        budget.give_back(&rule, budget.last_taken(), blocks);
        (budget.by_writes, budget.by_clock)
    };
    assert_eq!([0, 7, 8, 10].map(after), [(0, 0), (700, 0), (800, 100), (1000, 300)]);
}

#[test]
fn what_one_move_took_is_not_mistaken_for_what_a_later_one_did() {
    let (rule, mut budget) = (AutonomicsRule { saved_writes: 100, ..rule() }, WriteBudget::default());
    budget.written(&rule, 300);
    assert!(budget.left(&rule) == 100 && budget.take(&rule, Nanos::ZERO, 60));
    let first = budget.last_taken();
    assert!(budget.take(&rule, Nanos::ZERO, 1) && budget.left(&rule) == 39);
    budget.give_back(&rule, first, 60);
    assert_eq!(budget.left(&rule), 99);
    // Earned twice, it is kept as far as there is room.
    assert!(budget.take(&rule, Nanos::ZERO, 50));
    let second = budget.last_taken();
    budget.written(&rule, 300);
    budget.give_back(&rule, second, 50);
    assert_eq!(budget.left(&rule), 100);
}

#[test]
fn deciders_share_the_whole_budget_however_many_they_are() {
    let moved = |deciders: u32| -> u64 {
        let rule = rule().for_one_of(deciders);
        let each = |_| {
            let mut budget = WriteBudget::default();
            budget.written(&rule, 3_500);
            (0..).take_while(|_| budget.take(&rule, Nanos::ZERO, 1)).count() as u64
        };
        (0..deciders).map(each).sum()
    };
    // 34 of a hundred are 1190 in all; a decider may keep less than a block.
    assert_eq!([1, 2, 3, 7, 35, 70].map(moved), [1190, 1190, 1188, 1190, 1190, 1190]);
    let queues = [1, 2, 3, 650, 1000].map(|deciders| rule().for_one_of(deciders).queue);
    assert_eq!(queues, [650, 325, 216, 1, 1]);
}

#[test]
fn the_clock_pays_small_arrays_too() {
    // 16 MiB: 4096 blocks, a quarter of whose 3000 cycles in five years is a block in 51 s. A third of that, rounded down.
    let rule = AutonomicsRule::for_blocks(4096).for_one_of(3);
    let mut budget = WriteBudget::begun(Nanos::ZERO);
    let moved = (1..=86_400).filter(|&second| budget.take(&rule, Nanos::secs(second), 1)).count();
    assert_eq!((rule.writes_per_day, moved), (1683, 560));
}

#[test]
fn writes_and_the_clock_pay_the_larger_of_both_and_not_their_sum() {
    let rule = AutonomicsRule { write_percent: 50, writes_per_day: 10 * 86_400, ..rule() };
    let moved = |written_a_second: u64| {
        let mut budget = WriteBudget::begun(Nanos::ZERO);
        let second = |n: u64| {
            budget.written(&rule, written_a_second);
            (0..).take_while(|_| budget.take(&rule, Nanos::secs(n), 1)).count()
        };
        (1..=100).map(second).sum::<usize>()
    };
    assert_eq!([0, 10, 20, 30].map(moved), [1000, 1000, 1000, 1500]);
}

#[test]
fn what_a_hot_cluster_delivers_late_goes_to_the_coldest_below_the_same_switch() {
    let clusters = [
        hot(Nanos::ZERO),
        ClusterView { bus_milli: 20, ..COLD },
        COLD,
        ClusterView { bus_milli: 0, has_room: false, ..COLD },
        ClusterView { bus_milli: 0, switch: 1, ..COLD },
    ];
    let here = around(&clusters, Nanos::secs(5));
    let decision = rule().after_read(&here, &LATE, &mut plenty());
    let reason = Reason::HotCluster { latency: LATE.latency, contended: TIMES.contended(1) };
    assert_eq!(decision, Decision::ToCluster { cluster: 2, reason });
    assert_eq!(reason.to_string(), "the link is contended: 200 us, and 95.5 us says so");
    // In time; and late once, in a cluster that is not hot.
    let in_time = Answered { latency: Nanos::micros(90), ..LATE };
    assert_eq!(rule().after_read(&here, &in_time, &mut plenty()), Decision::Fine);
    assert_eq!(rule().after_read(&around(&[COLD, COLD], Nanos::secs(5)), &LATE, &mut plenty()), Decision::Fine);
}

#[test]
fn clusters_that_are_equally_cold_are_given_as_many_blocks() {
    let at = |given: [u64; 3]| {
        let cold = given.map(|given| ClusterView { given, ..COLD });
        let clusters = [hot(Nanos::ZERO), cold[0], cold[1], cold[2]];
        match rule().after_read(&around(&clusters, Nanos::secs(5)), &LATE, &mut plenty()) {
            Decision::ToCluster { cluster, .. } => cluster,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!([at([0, 0, 0]), at([1, 0, 0]), at([1, 1, 0]), at([5, 7, 6])], [1, 2, 3, 1]);
}

#[test]
fn who_takes_over_has_far_less_under_way_whatever_is_known_of_its_bus() {
    // Where requests pile up none finds its module free, so the bus of a cluster that has more than enough to do looks unused.
    let under_way = |all: [u32; 4]| {
        let clusters = all.map(|under_way| ClusterView { under_way, bus_milli: 0, ..COLD });
        read_of_1([50; 4], &clusters, false)
    };
    let goes_to = |all| match under_way(all) {
        Decision::ToCluster { cluster, .. } => Some(cluster),
        Decision::Stays { obstacle: Obstacle::NowhereCold, .. } => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(goes_to([200, 99, 7, 8]), Some(2));
    assert_eq!([goes_to([200, 100, 180, 400]), goes_to([200, 99, 100, 100])], [None, Some(1)]);
    assert_eq!(goes_to([0, 0, 0, 0]), None);
}

#[test]
fn deciders_share_the_targets_and_have_one_each_unless_there_are_none() {
    let targets = |all, deciders| AutonomicsRule { targets: all, ..rule() }.for_one_of(deciders).targets;
    assert_eq!([targets(8, 1), targets(8, 3), targets(8, 20), targets(99, 1), targets(0, 2)], [8, 2, 1, 8, 0]);
}

#[test]
fn a_bus_as_busy_as_one_module_makes_it_is_not_cold() {
    let clusters = [hot(Nanos::ZERO), ClusterView { bus_milli: 63, ..COLD }];
    let decision = rule().after_read(&around(&clusters, Nanos::secs(5)), &LATE, &mut plenty());
    assert!(matches!(decision, Decision::Stays { obstacle: Obstacle::NowhereCold, .. }), "{decision:?}");
}

#[test]
fn a_cluster_that_was_hot_rests_before_it_takes_anything() {
    let rested = ClusterHeat { is_hot: false, was_hot: Some(Nanos::secs(5)), ..ClusterHeat::default() };
    let clusters = [hot(Nanos::ZERO), ClusterView { heat: rested, ..COLD }];
    let at = |now| rule().after_read(&around(&clusters, now), &LATE, &mut plenty());
    assert!(matches!(at(Nanos(5_999_999_999)), Decision::Stays { obstacle: Obstacle::NowhereCold, .. }));
    assert!(matches!(at(Nanos::secs(6)), Decision::ToCluster { cluster: 1, .. }));
}

fn modules(waiting: [u32; 4]) -> [ModuleView; 4] {
    waiting.map(|requests| ModuleView { requests, pages: requests, has_room: true })
}

/// What becomes of a page that is read from module 1.
fn read_of_1(waiting: [u32; 4], clusters: &[ClusterView], queue_is_full: bool) -> Decision {
    let here = around(clusters, Nanos::secs(5));
    rule().before_module(&here, &modules(waiting), (1, 1, Carried::Read), queue_is_full, &mut plenty())
}

#[test]
fn a_module_lags_by_latency() {
    // 42 x 80.12 us are more than 3.3 ms.
    assert_eq!(read_of_1([0, 41, 0, 0], &[COLD], false), Decision::Fine);
    let reason = Reason::Late { backlog: TIMES.backlog(42), sla: Nanos(3_300_000) };
    assert_eq!(read_of_1([5, 42, 4, 4], &[COLD], false), Decision::ToModule { module: 2, reason });
}

#[test]
fn a_module_lags_by_the_queue() {
    // The paper's figure 8: one of four has 37 % of a full queue.
    let reason = Reason::FullQueue { requests: 15, of: 40 };
    assert_eq!(read_of_1([8, 15, 8, 9], &[COLD], true), Decision::Stays { reason, obstacle: Obstacle::NoSibling });
    assert_eq!(read_of_1([8, 15, 8, 9], &[COLD], false), Decision::Fine);
    let reason = Reason::FullQueue { requests: 15, of: 32 };
    assert_eq!(read_of_1([8, 15, 7, 2], &[COLD], true), Decision::ToModule { module: 3, reason });
    assert_eq!(read_of_1([15, 3, 7, 2], &[COLD], true), Decision::Fine, "it is not the one");
    assert_eq!(read_of_1([0; 4], &[COLD], true), Decision::Fine, "others fill it");
}

#[test]
fn if_all_lag_data_leaves_the_cluster() {
    assert!(matches!(read_of_1([50; 4], &[BUSY, COLD], false), Decision::ToCluster { cluster: 1, .. }));
    let obstacle = Obstacle::NowhereCold;
    let alone = read_of_1([50; 4], &[BUSY], false);
    assert!(matches!(alone, Decision::Stays { obstacle: found, .. } if found == obstacle), "{alone:?}");
}

#[test]
fn if_no_sibling_has_room_data_leaves_the_cluster() {
    let full = modules([0, 50, 0, 0]).map(|view| ModuleView { has_room: false, ..view });
    let decide = |clusters: &[ClusterView], views: &[ModuleView]| {
        let here = around(clusters, Nanos::secs(5));
        rule().before_module(&here, views, (1, 1, Carried::Read), false, &mut plenty())
    };
    assert!(matches!(decide(&[BUSY, COLD], &full), Decision::ToCluster { cluster: 1, reason: Reason::Late { .. } }));
    assert!(matches!(decide(&[COLD], &full), Decision::Stays { obstacle: Obstacle::NowhereCold, .. }));
    // One that has room and no less to do may have less in a moment.
    let busy = [ModuleView { has_room: true, requests: 30, pages: 30 }, full[1], full[2], full[3]];
    assert!(matches!(decide(&[BUSY, COLD], &busy), Decision::Stays { obstacle: Obstacle::NoSibling, .. }));
}

#[test]
fn writes_are_redirected_without_a_budget_and_reads_are_not() {
    let here = around(&[COLD], Nanos::ZERO);
    let decide = |carried| {
        let views = modules([0, 50, 0, 0]);
        rule().before_module(&here, &views, (1, 1, carried), false, &mut WriteBudget::default())
    };
    assert!(matches!(decide(Carried::Write), Decision::ToModule { module: 0, .. }));
    assert!(matches!(decide(Carried::Read), Decision::Stays { obstacle: Obstacle::Budget, .. }));
}

#[test]
fn every_decision_is_counted() {
    let mut counts = DecisionCounts::default();
    counts.count(&Decision::Fine, 9);
    for (reason, more) in [
        (Reason::HotCluster { latency: Nanos(2), contended: Nanos(1) }, 10),
        (Reason::Late { backlog: Nanos(2), sla: Nanos(1) }, 20),
        (Reason::FullQueue { requests: 1, of: 2 }, 30),
    ] {
        counts.count(&Decision::ToCluster { cluster: 0, reason }, more + 1);
        counts.count(&Decision::ToModule { module: 0, reason }, more + 2);
        for (obstacle, blocks) in [(Obstacle::NowhereCold, 3), (Obstacle::NoSibling, 4), (Obstacle::Budget, 5)] {
            counts.count(&Decision::Stays { reason, obstacle }, more + blocks);
        }
    }
    let of = |more: u64| OutcomeCounts {
        to_cluster: more + 1,
        to_module: more + 2,
        nowhere_cold: more + 3,
        no_sibling: more + 4,
        over_budget: more + 5,
    };
    assert_eq!(counts, DecisionCounts { hot_cluster: of(10), late: of(20), full_queue: of(30) });
    assert_eq!((counts.all(OutcomeCounts::moved), counts.all(|of| of.no_sibling)), (129, 72));
}

/// Clusters below two switches, with blocks of different heat in them.
struct World {
    /// Where each block is, and its part of the requests.
    blocks: Vec<(usize, u32)>,
    heats: Vec<ClusterHeat>,
    /// When each block left which cluster.
    left: Vec<Vec<(usize, Nanos)>>,
}

impl World {
    /// The use of a cluster's bus follows from the heat of what is in it.
    fn bus_milli(&self, cluster: usize) -> u32 {
        let heat = self.blocks.iter().filter(|(at, _)| *at == cluster).map(|(_, heat)| heat).sum::<u32>();
        heat.min(1000)
    }

    fn views(&self) -> Vec<ClusterView> {
        let view = |n: usize| ClusterView {
            switch: n as u32 % 2,
            bus_milli: self.bus_milli(n),
            heat: self.heats[n],
            has_room: true,
            under_way: self.bus_milli(n) / 10,
            given: 0,
        };
        (0..self.heats.len()).map(view).collect()
    }

    /// Each block is read once; gives the moves. A bus used by more than 600 thousandths makes requests late.
    fn round(&mut self, rule: &AutonomicsRule, now: Nanos, budget: &mut WriteBudget) -> u32 {
        let mut moves = 0;
        for n in 0..self.blocks.len() {
            let views = self.views();
            let here = self.blocks[n].0;
            let latency = if views[here].bus_milli > 600 { Nanos::millis(1) } else { Nanos::micros(80) };
            let answered = Answered { latency, ..LATE };
            self.heats[here].count(rule, &TIMES, &answered, now);
            let around = Surroundings { clusters: &views, here, times: TIMES, now };
            if let Decision::ToCluster { cluster, .. } = rule.after_read(&around, &answered, budget) {
                assert!(views[cluster].switch == views[here].switch && cluster != here);
                assert!(!views[cluster].heat.is_hot() && views[cluster].bus_milli < TIMES.cold_below(1));
                let came_back = self.left[n].iter().any(|(from, at)| *from == cluster && now.since(*at) < rule.rest);
                assert!(!came_back, "block {n} goes back to cluster {cluster}: {:?}", self.left[n]);
                self.left[n].push((here, now));
                self.blocks[n].0 = cluster;
                moves += 1;
            }
        }
        moves
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn nothing_goes_to_and_fro_and_a_steady_load_comes_to_rest(
        blocks in prop::collection::vec((0_usize..8, 1_u32..300), 1..60),
        changes in prop::collection::vec((0_usize..60, 1_u32..300, 0_u64..400), 0..30),
    ) {
        let rule = AutonomicsRule { look_after: 4, ..rule() };
        let left = vec![Vec::new(); blocks.len()];
        let mut world = World { blocks, heats: vec![ClusterHeat::default(); 8], left };
        let mut now = Nanos::ZERO;
        for (block, heat, millis) in changes {
            let count = world.blocks.len();
            world.blocks[block % count].1 = heat;
            now += Nanos::millis(millis);
            world.round(&rule, now, &mut paid_for(now));
        }
        // From here on nothing changes any more.
        let moved_in = |world: &mut World, now: &mut Nanos, rounds: u32| -> u32 {
            (0..rounds).map(|_| {
                *now += Nanos::millis(50);
                world.round(&rule, *now, &mut paid_for(*now))
            }).sum()
        };
        moved_in(&mut world, &mut now, 400);
        prop_assert_eq!(moved_in(&mut world, &mut now, 400), 0);
    }

    #[test]
    fn the_budget_is_never_exceeded(
        steps in prop::collection::vec((0_u64..2_000_000_000, 0_u64..500, 1_u32..40), 1..200),
        percent in 0_u32..100,
        a_day in prop_oneof![Just(0_u64), 1_u64..100_000, 1_u64..10_000_000_000_000],
        saved in 1_u64..1000,
    ) {
        let rule = AutonomicsRule {
            write_percent: percent, writes_per_day: a_day, saved_writes: saved, ..rule()
        };
        let (mut budget, mut now, mut clients, mut ours) = (WriteBudget::default(), Nanos::ZERO, 0_u64, 0_u64);
        let views = modules([0, 100, 0, 0]);
        let mut counts = DecisionCounts::default();
        for (passed, written, pages) in steps {
            now += Nanos(passed);
            clients += written;
            budget.written(&rule, written);
            let here = around(&[COLD], now);
            let decision = rule.before_module(&here, &views, (1, pages, Carried::Read), false, &mut budget);
            counts.count(&decision, pages);
            ours += if matches!(decision, Decision::ToModule { .. }) { u64::from(pages) } else { 0 };
            let earned = u128::from(clients) * u128::from(percent) * (NANOS_A_DAY / 100)
                + u128::from(now.0) * u128::from(a_day);
            prop_assert!(u128::from(ours) * NANOS_A_DAY <= earned, "{ours} for {clients} and {now}");
        }
        prop_assert_eq!(counts.late.to_module, ours);
    }

    #[test]
    fn nothing_goes_to_a_module_that_lags_or_has_no_room(
        waiting in prop::collection::vec((0_u32..90, 0_u32..90, any::<bool>()), 1..9),
        full in any::<bool>(),
        which in 0_usize..9,
    ) {
        let rule = rule();
        let views: Vec<_> = waiting.iter()
            .map(|&(requests, more, has_room)| ModuleView { requests, pages: requests + more, has_room }).collect();
        let module = which % views.len();
        let here = around(&[BUSY, COLD], Nanos::secs(9));
        match rule.before_module(&here, &views, (module, 1, Carried::Read), full, &mut plenty()) {
            Decision::Fine => prop_assert_eq!(rule.lags(&TIMES, &views, module, full), None),
            Decision::ToModule { module: to, .. } => {
                prop_assert!(to != module && views[to].has_room && views[to].pages * 2 < views[module].pages);
                prop_assert_eq!(rule.lags(&TIMES, &views, to, full), None);
            }
            Decision::ToCluster { .. } => {
                let all_lag = (0..views.len()).all(|n| rule.lags(&TIMES, &views, n, full).is_some());
                prop_assert!(all_lag || (0..views.len()).all(|n| n == module || !views[n].has_room));
            }
            Decision::Stays { obstacle, .. } => prop_assert_eq!(obstacle, Obstacle::NoSibling),
        }
    }
}
