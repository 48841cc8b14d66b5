//! Drives that stall: collection in bursts, slow phases, trims that change nothing.

use cygnus_ssd::{Bursts, Command, Device, Done, Pattern, Precondition, Preset, SlowPhases, Ssd, SsdConfig, Workload};
use cygnus_types::{Nanos, Rng};

/// A drive of the class that TTFLASH (FAST'17) simulates: 4 KiB pages of 40 and 800 us, blocks of 256 pages, 2 ms to erase.
/// The paper's own table was not at hand: these are from memory.
fn ttflash_class() -> SsdConfig {
    let mut config = Preset::ScalaAfaFemu.config().ssd().expect("it is flash");
    config.slc = None;
    config.xor = None;
    config.capacity = 2 << 30;
    config.spare = 0.15;
    config.cache.bytes = 8 << 20;
    config.suspend = None;
    let flash = &mut config.flash;
    (flash.channels, flash.dies_per_channel, flash.planes, flash.page, flash.pages_per_block) = (8, 4, 1, 4096, 256);
    (flash.t_read, flash.t_program, flash.t_erase) = (Nanos::micros(40), Nanos::micros(800), Nanos::millis(2));
    config
}

fn in_bursts(together: bool) -> SsdConfig {
    let mut config = ttflash_class();
    config.gc.bursts = Some(Bursts { idle: Nanos::millis(100), together });
    config
}

/// Latencies of reads at random times beside writes at random times, both of 4 KiB and uniform, ascending; and what was counted.
fn reads_beside_writes(mut drive: Ssd, reads: u64, write_rate: u64) -> Vec<u64> {
    const READ_RATE: u64 = 4000;
    let mut rng = Rng::new(5);
    let (mut now, mut latencies, mut done) = (drive.now(), Vec::new(), Vec::<Done>::new());
    let blocks = drive.blocks();
    let mut id = 0;
    while latencies.len() < reads as usize {
        now += Nanos(rng.below(2 * 1_000_000_000 / (READ_RATE + write_rate)) + 1);
        while drive.next_event().is_some_and(|next| next <= now) {
            let next = drive.next_event().expect("it was there");
            drive.advance(next, &mut done);
        }
        drive.advance(now, &mut done);
        // Numbers of reads are even.
        latencies.extend(done.drain(..).filter(|done| done.id % 2 == 0).map(|done| (done.at - done.submitted).0));
        let lba = rng.below(blocks);
        id += 2;
        if rng.chance(write_rate, READ_RATE + write_rate) {
            drive.submit(now, id + 1, Command::write(lba, 1));
        } else {
            drive.submit(now, id, Command::Read { lba, blocks: 1 });
        }
    }
    drive.check();
    latencies.sort_unstable();
    latencies
}

fn percentile(sorted: &[u64], per_ten_thousand: usize) -> f64 {
    sorted[(sorted.len() * per_ten_thousand).div_ceil(10_000) - 1] as f64
}

fn aged(config: SsdConfig) -> Ssd {
    let mut drive = Ssd::new(config).expect("it can be built");
    drive.precondition(Precondition::Random { share: 1.0, seed: 1 });
    let churn = Workload { pattern: Pattern::Random, blocks: 1, depth: 32, read_percent: 0, span: 1.0, seed: 9 };
    let quarter = drive.blocks() / 4;
    churn.run(&mut drive, quarter);
    drive
}

/// The same drive with so much free flash that nothing is collected.
fn without_collection() -> Ssd {
    let mut config = ttflash_class();
    config.spare = 3.0;
    let mut drive = Ssd::new(config).expect("it can be built");
    drive.precondition(Precondition::Sequential { share: 1.0 });
    drive
}

#[test]
fn bursts_make_the_tail_that_collection_has_in_print_and_steps_do_not() {
    const READS: u64 = 60_000;
    const WRITES: u64 = 4000;
    let none = reads_beside_writes(without_collection(), READS, WRITES);
    let slowdowns = |drive| {
        let with = reads_beside_writes(aged(drive), READS, WRITES);
        [9900, 9990, 9999].map(|at| percentile(&with, at) / percentile(&none, at))
    };
    let (steps, alone, together) =
        (slowdowns(ttflash_class()), slowdowns(in_bursts(false)), slowdowns(in_bursts(true)));
    println!("times as long as without collection at 99, 99.9, 99.99 %");
    println!("in step {steps:.1?}, bursts {alone:.1?}, bursts of all dies {together:.1?}");
    // "Between 99-99.99th percentiles ... a base approach suffers from 5-138x GC-induced slowdowns." Reads here come one
    // by one and seldom wait for each other, while a trace's come in flocks: the same stall is more times as long.
    for bursts in [alone, together] {
        assert!(bursts[0] >= 5.0 && bursts[2] >= 138.0, "{bursts:?}");
    }
    assert!(steps.iter().all(|times| *times < 5.0), "{steps:?}");
}

#[test]
fn a_stall_is_as_long_as_emptying_a_victim_takes() {
    let mut drive = aged(in_bursts(false));
    let churn = Workload { pattern: Pattern::Random, blocks: 1, depth: 32, read_percent: 0, span: 1.0, seed: 3 };
    let quarter = drive.blocks() / 4;
    let amplification = churn.run(&mut drive, quarter).counters.write_amplification();
    let longest = *reads_beside_writes(drive, 40_000, 1000).last().expect("there are reads") as f64 / 1e6;
    // IODA's T_gc (SOSP'21): valid pages, each sensed, moved out and in, and programmed, and the erase; the valid share of
    // a victim is 1 - 1 / amplification.
    let config = ttflash_class();
    let transfer = 4096.0 / config.flash.channel_rate as f64 * 1e3;
    let valid = 256.0 * (1.0 - 1.0 / amplification);
    let stall = valid * (0.04 + 0.8 + 2.0 * transfer) + 2.0;
    println!("longest read {longest:.0} ms, a victim of {valid:.0} valid pages takes {stall:.0} ms");
    assert!((0.75..1.25).contains(&(longest / stall)), "longest read {longest} ms, expected about {stall} ms");
}

#[test]
fn an_idle_drive_collects_in_the_background() {
    let mut config = in_bursts(false);
    config.gc.bursts = Some(Bursts { idle: Nanos::secs(5), together: false });
    let mut drive = aged(config);
    let mut done = Vec::new();
    // Bursts that dies had begun come to their end.
    drive.advance(drive.now() + Nanos::secs(3), &mut done);
    drive.reset_counters();
    drive.advance(drive.now() + Nanos::millis(1900), &mut done);
    assert_eq!(drive.counters().erases, 0, "it is not idle for long yet");
    drive.advance(drive.now() + Nanos::secs(20), &mut done);
    assert!(drive.counters().erases >= 32, "each die won a block: {}", drive.counters().erases);
    assert_eq!(drive.next_event(), None, "it comes to an end");
}

#[test]
fn bursts_write_as_much_as_steps_do() {
    let amplification = |config| {
        let mut drive = aged(config);
        let churn = Workload { pattern: Pattern::Random, blocks: 1, depth: 32, read_percent: 0, span: 1.0, seed: 4 };
        let pages = drive.blocks();
        let report = churn.run(&mut drive, pages);
        drive.check();
        report.counters.write_amplification()
    };
    let [steps, alone, together] = [ttflash_class(), in_bursts(false), in_bursts(true)].map(amplification);
    println!("amplification in step {steps:.2}, bursts {alone:.2}, bursts of all dies {together:.2}");
    // Later collection finds emptier victims; collecting all dies for the sake of one finds fuller ones.
    assert!((0.8..1.1).contains(&(alone / steps)) && (0.8..1.15).contains(&(together / steps)));
}

#[test]
fn in_a_slow_phase_everything_takes_so_many_times_as_long() {
    let latency = |slow| {
        let mut drive = Ssd::new(SsdConfig { slow, ..ttflash_class() }).expect("it can be built");
        drive.precondition(Precondition::Random { share: 0.5, seed: 1 });
        let reads = Workload { pattern: Pattern::Random, blocks: 1, depth: 1, read_percent: 100, span: 0.5, seed: 2 };
        reads.run(&mut drive, 2000).mean.0 as f64
    };
    let always =
        SlowPhases { share: 1.0, joins: 1.0, least: 3.0, tail: 1e9, ..SlowPhases::field(Nanos::secs(1), 1, 1) };
    let never = SlowPhases { joins: 0.0, ..always.clone() };
    assert_eq!(latency(Some(never)), latency(None));
    assert!((latency(Some(always)) / latency(None) - 3.0).abs() < 0.01);
}

#[test]
fn a_drive_that_ignores_trims_keeps_moving_what_nobody_wants() {
    let amplification = |ignores_trims| {
        let mut drive = Ssd::new(SsdConfig { ignores_trims, ..ttflash_class() }).expect("it can be built");
        drive.precondition(Precondition::Random { share: 1.0, seed: 1 });
        let half = drive.blocks() / 2;
        drive.submit(drive.now(), 0, Command::Trim { lba: half, blocks: half as u32 });
        drive.advance(drive.now() + Nanos::secs(1), &mut Vec::new());
        let churn = Workload { pattern: Pattern::Random, blocks: 1, depth: 32, read_percent: 0, span: 0.5, seed: 4 };
        let report = churn.run(&mut drive, 2 * half);
        drive.check();
        report.counters.write_amplification()
    };
    assert!(amplification(false) < 1.3 && amplification(true) > 2.0);
}

/// Random writes of 4 KiB to all of an 850 PRO, in thousands per second.
fn steady_850_pro(spare: f64) -> f64 {
    let mut config = Preset::Samsung850Pro.config().ssd().expect("it is flash").scaled_down(4.0);
    config.spare = spare;
    let mut drive = Ssd::new(config).expect("it can be built");
    drive.precondition(Precondition::Random { share: 1.0, seed: 1 });
    let churn = |seed| Workload { pattern: Pattern::Random, blocks: 1, depth: 32, read_percent: 0, span: 1.0, seed };
    let tenth = drive.blocks() / 10;
    churn(1).run(&mut drive, tenth);
    churn(2).run(&mut drive, tenth).iops() / 1e3
}

#[test]
fn with_the_spare_that_is_sold_an_850_pro_sustains_what_reviewers_saw() {
    let [sold, paper, preset] = [0.074, 0.145, 0.26].map(steady_850_pro);
    println!("k/s with a spare of 7.4 %: {sold:.1}, 14.5 %: {paper:.1}, 26 %: {preset:.1}");
    // Reviews of 850 drives: about 10 thousand per second once settled (Tom's Hardware, 2 TB).
    assert!((7.5..12.5).contains(&sold), "{sold}");
    // The preset's is none that is sold: it does three times as much.
    assert!(preset > 2.5 * sold && paper < preset, "{paper} {preset}");
}
