//! What the model does, seen from outside.

use cygnus_ssd::{
    Command, Device, Done, Hint, MapCache, Pattern, Precondition, Preset, Ssd, SsdConfig, Suspend, VictimPolicy,
    Workload,
};
use cygnus_types::Nanos;
use proptest::prelude::*;

/// Four dies of about 40 small blocks.
fn small() -> SsdConfig {
    let mut config = Preset::Samsung850Pro.config().ssd().unwrap();
    config.flash.channels = 2;
    config.flash.dies_per_channel = 2;
    config.flash.pages_per_block = 8;
    config.capacity = 64 << 20;
    config.cache.bytes = 1 << 20;
    config
}

fn with_slc(reserved: bool) -> SsdConfig {
    let mut config = small();
    let mut slc = Preset::Samsung850Evo.config().ssd().unwrap().slc.unwrap();
    (slc.bytes, slc.reserved) = (8 << 20, reserved);
    config.flash.pages_per_program = 2;
    config.slc = Some(slc);
    config
}

/// A map of 16 map pages for the small drive's 16384 pages, of which little fits into memory.
fn with_map() -> SsdConfig {
    let map = MapCache {
        page: 4096,
        resident: 8 * 4096,
        dirty: 4 * 4096,
        t_fetch: Nanos::micros(100),
        t_write: Nanos::micros(300),
        parallel: 1,
    };
    SsdConfig { map: Some(map), ..small() }
}

fn finish(ssd: &mut Ssd) -> Vec<Done> {
    let mut done = Vec::new();
    while ssd.outstanding() > 0 {
        let next = ssd.next_event().unwrap();
        ssd.advance(next, &mut done);
    }
    done
}

fn one(ssd: &mut Ssd, now: Nanos, command: Command) -> Nanos {
    ssd.submit(now, 7, command);
    let done = finish(ssd);
    assert_eq!((done.len(), done[0].id), (1, 7));
    done[0].at - now
}

#[test]
fn a_single_read_takes_the_sum_of_its_stages() {
    let config = small();
    let mut ssd = Ssd::new(config.clone()).unwrap();
    ssd.precondition(Precondition::Sequential { share: 1.0 });
    let transfer = |rate: u64| Nanos((4096 * 1_000_000_000_u64).div_ceil(rate));
    let expected = config.controller
        + config.flash.t_read
        + transfer(config.flash.channel_rate)
        + transfer(config.host.read_rate)
        + config.host.latency;
    assert_eq!(one(&mut ssd, Nanos(5), Command::Read { lba: 3, blocks: 1 }), expected);
}

#[test]
fn a_map_page_is_fetched_once_and_written_back_when_too_many_are_dirty() {
    let mut ssd = Ssd::new(with_map()).unwrap();
    ssd.precondition(Precondition::Sequential { share: 1.0 });
    let mut now = Nanos::ZERO;
    let mut read = |ssd: &mut Ssd, lba| {
        now += Nanos::secs(1);
        one(ssd, now, Command::Read { lba, blocks: 1 })
    };
    // A sequential pass ends with the last map pages in memory.
    let (miss, hit) = (read(&mut ssd, 3), read(&mut ssd, 5));
    assert_eq!((miss, ssd.counters().map_reads), (hit + Nanos::micros(100), 1));
    let before = ssd.now() + Nanos::secs(1);
    let quick = one(&mut ssd, before, Command::write(0, 1));
    for page in 1..4 {
        one(&mut ssd, before + Nanos::secs(page), Command::write((9 + page) * 1024, 1));
    }
    assert_eq!(ssd.counters().map_writes, 0);
    let slow = one(&mut ssd, before + Nanos::secs(4), Command::write(13 * 1024, 1));
    assert_eq!((slow, ssd.counters().map_writes), (quick + Nanos::micros(300), 1));
    ssd.check();
}

#[test]
fn a_map_that_does_not_fit_slows_random_writes_and_writes_more() {
    let steady = |config: SsdConfig| {
        let mut ssd = Ssd::new(config).unwrap();
        ssd.precondition(Precondition::Random { share: 1.0, seed: 1 });
        let load = Workload { pattern: Pattern::Random, blocks: 1, depth: 8, read_percent: 0, span: 1.0, seed: 1 };
        let report = load.run(&mut ssd, 5_000);
        ssd.check();
        report
    };
    let (all, part) = (steady(small()), steady(with_map()));
    assert!(2.0 * part.iops() < all.iops(), "{} with the map in memory, {} without", all.iops(), part.iops());
    // Half of the pages needed are in memory: each of the others costs a fetch.
    let accesses = (part.counters.host_writes + part.counters.programmed_gc) as f64;
    let misses = part.counters.map_reads as f64 / accesses;
    assert!((misses - 0.5).abs() < 0.05, "{misses} misses");
}

#[test]
fn a_flush_waits_for_the_program_unless_the_cache_is_protected() {
    for protected in [false, true] {
        let mut config = small();
        config.cache.protected = protected;
        let mut ssd = Ssd::new(config.clone()).unwrap();
        one(&mut ssd, Nanos::ZERO, Command::write(0, 1));
        let took = one(&mut ssd, Nanos::millis(1), Command::Flush);
        assert_eq!(took >= config.flash.t_program, !protected, "took {took}");
        assert_eq!(ssd.counters().padding, if protected { 0 } else { 7 });
    }
}

#[test]
fn a_read_waits_for_an_erase_or_suspends_it() {
    // Reads among writes in steady state: the slowest ones met an erase.
    let slowest = |suspend| {
        let mut config = small();
        config.suspend = suspend;
        let mut ssd = Ssd::new(config).unwrap();
        ssd.precondition(Precondition::Random { share: 1.0, seed: 1 });
        let load = Workload { pattern: Pattern::Random, blocks: 1, depth: 4, read_percent: 90, span: 1.0, seed: 1 };
        load.run(&mut ssd, 50_000).p99
    };
    let (waits, suspends) = (slowest(None), slowest(Some(Suspend { overhead: Nanos::micros(20), limit: 8 })));
    assert!(suspends.0 * 3 / 2 < waits.0, "p99 {suspends} with suspension, {waits} without");
}

#[test]
fn trimmed_space_costs_no_relocation() {
    let mut ssd = Ssd::new(small()).unwrap();
    ssd.precondition(Precondition::Random { share: 1.0, seed: 1 });
    let blocks = ssd.blocks();
    one(&mut ssd, Nanos::ZERO, Command::Trim { lba: 0, blocks: blocks as u32 });
    let load = Workload { pattern: Pattern::Sequential, blocks: 32, depth: 4, read_percent: 0, span: 1.0, seed: 1 };
    let report = load.run(&mut ssd, 3 * blocks / 32);
    assert_eq!(report.counters.programmed_gc, 0);
    assert!(report.counters.erases > 0);
    ssd.check();
}

#[test]
fn cost_benefit_beats_greedy_on_skewed_writes() {
    let amplification = |policy| {
        let mut config = small();
        config.gc.policy = policy;
        let mut ssd = Ssd::new(config).unwrap();
        let blocks = ssd.blocks();
        let load = |span, seed| Workload { pattern: Pattern::Random, blocks: 1, depth: 8, read_percent: 0, span, seed };
        load(1.0, 1).run(&mut ssd, 2 * blocks);
        // Nine of ten writes go to a tenth of the drive.
        for round in 0..60 {
            load(1.0, round).run(&mut ssd, blocks / 100);
            load(0.1, round).run(&mut ssd, 9 * blocks / 100);
        }
        ssd.check();
        ssd.counters().write_amplification()
    };
    let (greedy, benefit) = (amplification(VictimPolicy::Greedy), amplification(VictimPolicy::CostBenefit));
    assert!(benefit < greedy, "greedy {greedy}, cost-benefit {benefit}");
}

#[test]
fn wear_levelling_narrows_the_spread() {
    let spread = |limit| {
        let mut config = small();
        config.gc.wear_spread = limit;
        let mut ssd = Ssd::new(config).unwrap();
        let blocks = ssd.blocks();
        ssd.precondition(Precondition::Sequential { share: 1.0 });
        let load = Workload { pattern: Pattern::Random, blocks: 1, depth: 8, read_percent: 0, span: 0.1, seed: 1 };
        load.run(&mut ssd, 20 * blocks);
        ssd.check();
        let (least, most) = ssd.wear();
        most - least
    };
    let (free, levelled) = (spread(None), spread(Some(8)));
    assert!(levelled * 5 < free * 4, "spread {free} without, {levelled} with levelling");
}

#[test]
fn the_slc_buffer_fills_and_folds_in_idle_time() {
    for reserved in [true, false] {
        let mut ssd = Ssd::new(with_slc(reserved)).unwrap();
        let write = |blocks: u64, ssd: &mut Ssd| {
            let load =
                Workload { pattern: Pattern::Sequential, blocks: 32, depth: 8, read_percent: 0, span: 1.0, seed: 1 };
            load.run(ssd, blocks / 32)
        };
        let buffer = (8 << 20) / 4096;
        let (fast, slow) = (write(buffer / 2, &mut ssd), write(buffer * 2, &mut ssd));
        assert!(fast.rate() > 1.3 * slow.rate(), "{} then {}", fast.rate(), slow.rate());
        let mut done = Vec::new();
        ssd.advance(Nanos::secs(60), &mut done);
        assert!(ssd.counters().programmed_gc > 0, "nothing was folded");
        let again = write(buffer / 2, &mut ssd);
        assert!((again.rate() / fast.rate() - 1.0).abs() < 0.15, "{} then {}", fast.rate(), again.rate());
        ssd.check();
    }
}

#[test]
fn impossible_drives_are_refused() {
    let text = |change: fn(&mut SsdConfig)| {
        let mut config = small();
        change(&mut config);
        Ssd::new(config).unwrap_err().to_string()
    };
    assert!(text(|c| c.flash.channels = 0).contains("channels is zero"));
    assert!(text(|c| c.capacity += 1).contains("not a multiple of 4096"));
    assert!(text(|c| c.spare = 0.01).contains("more spare"));
    assert!(text(|c| c.gc.low = 9).contains("watermarks"));
    assert!(text(|c| c.spare = f64::NAN).contains("makes no sense"));
    assert!(text(|c| c.capacity = 1 << 50).contains("beyond what is modelled"));
    for preset in Preset::ALL {
        preset.config().validate().unwrap();
    }
}

#[derive(Clone, Debug)]
enum Step {
    Submit(Command),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let range = (0_u64..16_000, 1_u32..64);
    prop_oneof![
        1 => range.clone().prop_map(|(lba, blocks)| Step::Submit(Command::Read { lba, blocks })),
        4 => (range.clone(), any::<bool>())
            .prop_map(|((lba, blocks), fua)| Step::Submit(Command::Write { lba, blocks, fua, hint: Hint::default() })),
        1 => range.prop_map(|(lba, blocks)| Step::Submit(Command::Trim { lba, blocks })),
        1 => Just(Step::Submit(Command::Flush)),
        1 => (0_u64..3_000_000).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_command_completes_once_and_in_order_of_time(
        steps in proptest::collection::vec(step(), 1..400),
        kind in 0..5,
        filled in any::<bool>(),
    ) {
        let mut config = match kind {
            0 | 1 => small(),
            2 | 3 => with_slc(kind == 2),
            _ => with_map(),
        };
        config.gc.separate = kind != 1;
        config.suspend = (kind != 0).then_some(Suspend { overhead: Nanos::micros(5), limit: 2 });
        config.cache.bytes = 256 << 10;
        let mut ssd = Ssd::new(config).unwrap();
        if filled {
            ssd.precondition(Precondition::Random { share: 1.0, seed: 3 });
        }
        let mut twin = ssd.clone();
        let run = |ssd: &mut Ssd| {
            let (mut now, mut done, mut submitted) = (Nanos::ZERO, Vec::new(), 0);
            for step in &steps {
                match *step {
                    Step::Submit(command) => {
                        ssd.submit(now, submitted, command);
                        submitted += 1;
                    }
                    Step::Wait(nanos) => {
                        now += Nanos(nanos);
                        ssd.advance(now, &mut done);
                    }
                }
            }
            done.extend(finish(ssd));
            ssd.check();
            (submitted, done)
        };
        let (submitted, done) = run(&mut ssd);
        prop_assert!(done.is_sorted_by_key(|d| d.at));
        let mut ids: Vec<u64> = done.iter().map(|d| d.id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..submitted).collect::<Vec<_>>());
        prop_assert_eq!(run(&mut twin).1, done, "a clone behaves the same");
    }
}
