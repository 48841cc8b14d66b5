//! Block mapping with log blocks: what merges cost.

use cygnus_ssd::{
    BlockLayout, Cache, Command, Counters, Device, Mapping, Pattern, Precondition, Preset, Ssd, SsdConfig, Workload,
};

/// Pages of a block.
const BLOCK_PAGES: u64 = 32;

/// One page per program, so that amplification is a matter of merges alone: two dies of 128 logical blocks each, and so
/// many log blocks.
fn small(log_blocks: u32) -> SsdConfig {
    let mut config = Preset::Samsung850Pro.config().ssd().unwrap();
    (config.flash.channels, config.flash.dies_per_channel, config.flash.planes) = (2, 1, 1);
    (config.flash.page, config.flash.pages_per_block) = (4096, BLOCK_PAGES as u32);
    config.capacity = 2 * 128 * BLOCK_PAGES * 4096;
    config.spare = f64::from(log_blocks + 1) / 128.0;
    // Hardly anything, or writes would meet there.
    config.cache = Cache { bytes: 2 * 4096, protected: true };
    config.mapping = Mapping::Block(BlockLayout { log_blocks });
    config
}

fn full(config: SsdConfig) -> Ssd {
    let mut ssd = Ssd::new(config).unwrap();
    ssd.precondition(Precondition::Sequential { share: 1.0 });
    ssd.check();
    ssd
}

/// Lets the drive do all it can do by itself.
fn idle(ssd: &mut Ssd) {
    let mut done = Vec::new();
    while let Some(next) = ssd.next_event() {
        ssd.advance(next, &mut done);
    }
    ssd.check();
}

fn load(pattern: Pattern, blocks: u32, depth: u32) -> Workload {
    Workload { pattern, blocks, depth, read_percent: 0, span: 1.0, seed: 1 }
}

fn merges(counters: &Counters) -> (u64, u64, u64) {
    (counters.switch_merges, counters.partial_merges, counters.full_merges)
}

#[test]
fn sequential_writes_cost_no_copies() {
    for (mut ssd, units) in [(full(small(1)), 1), (full(Preset::Samsung850Pro.small_block_mapped()), 8)] {
        let blocks = ssd.blocks();
        load(Pattern::Sequential, 32, 4).run(&mut ssd, 3 * blocks / 32);
        idle(&mut ssd);
        let counters = *ssd.counters();
        assert_eq!((counters.programmed_gc, counters.padding, counters.write_amplification()), (0, 0, 1.0));
        // Every logical block three times; the last one of a die becomes a data block by its last page.
        assert_eq!(merges(&counters), (3 * blocks / (BLOCK_PAGES * units), 0, 0));
        assert_eq!(counters.erases, counters.switch_merges);
    }
}

trait SmallBlockMapped {
    fn small_block_mapped(self) -> SsdConfig;
}

impl SmallBlockMapped for Preset {
    /// The drive's own programs of eight pages, on four dies.
    fn small_block_mapped(self) -> SsdConfig {
        let mut config = self.config().ssd().unwrap();
        (config.flash.channels, config.flash.dies_per_channel) = (2, 2);
        config.flash.pages_per_block = BLOCK_PAGES as u32;
        (config.capacity, config.spare) = (256 << 20, 0.1);
        config.mapping = Mapping::Block(BlockLayout { log_blocks: 3 });
        config
    }
}

#[test]
fn random_writes_cost_what_the_arithmetic_says() {
    // A write finds a log block of its logical block with the probability n/128. Otherwise the oldest log block is merged
    // to make room, which copies all of a logical block.
    for log_blocks in [1, 8, 32] {
        let mut ssd = full(small(log_blocks));
        load(Pattern::Random, 1, 1).run(&mut ssd, 4_000);
        let counters = Workload { seed: 2, ..load(Pattern::Random, 1, 1) }.run(&mut ssd, 40_000).counters;
        ssd.check();
        let misses = 1.0 - f64::from(log_blocks) / 128.0;
        let expected = 1.0 + misses * BLOCK_PAGES as f64;
        let measured = counters.write_amplification();
        assert!(
            (measured / expected - 1.0).abs() < 0.02,
            "{measured} with {log_blocks} log blocks, {expected} expected"
        );
        // What is being programmed when its merge begins is not read again.
        assert!(counters.gc_reads.abs_diff(counters.programmed_gc) < counters.programmed_gc / 1_000);
        // Now and then the one page in a log block is the first of its logical block.
        assert!(counters.full_merges > 20 * counters.partial_merges && counters.switch_merges == 0);
        // A full merge frees a log block and a data block, a partial one a data block.
        assert!(counters.erases.abs_diff(2 * counters.full_merges + counters.partial_merges) <= 4);
    }
}

#[test]
fn a_log_block_in_order_is_completed_instead_of_copied() {
    let mut ssd = full(small(1));
    // Half of the first logical block of each die, then another one, which needs the log block.
    load(Pattern::Sequential, 1, 1).run(&mut ssd, BLOCK_PAGES);
    load(Pattern::Random, 1, 1).run(&mut ssd, 2);
    idle(&mut ssd);
    let counters = ssd.counters();
    assert_eq!(merges(counters), (0, 2, 0), "{counters:?}");
    assert_eq!(counters.programmed_gc, 2 * BLOCK_PAGES / 2);
}

#[test]
fn trimmed_pages_are_not_copied_and_trimmed_blocks_are_erased() {
    let mut ssd = full(small(1));
    let mut done = Vec::new();
    // The first half of the drive as a whole; in the other half every second page on each die.
    let half = ssd.blocks() / 2;
    ssd.submit(ssd.now(), 0, Command::Trim { lba: 0, blocks: half as u32 });
    for pair in (half..2 * half).step_by(4) {
        ssd.submit(ssd.now(), 0, Command::Trim { lba: pair, blocks: 2 });
    }
    ssd.advance(ssd.now() + cygnus_types::Nanos::secs(10), &mut done);
    assert_eq!(ssd.counters().erases, half / BLOCK_PAGES);
    ssd.check();
    let first = load(Pattern::Random, 1, 1).run(&mut ssd, 1_000).counters;
    assert!(first.write_amplification() < 0.6 * BLOCK_PAGES as f64, "{}", first.write_amplification());
    let sequential = Workload { span: 0.4, ..load(Pattern::Sequential, 32, 4) };
    let counters = sequential.run(&mut ssd, 60).counters;
    assert!(counters.programmed_gc < 200, "{counters:?}");
    ssd.check();
}

#[test]
fn wear_levelling_moves_cold_blocks() {
    let spread = |limit| {
        let mut config = small(2);
        (config.gc.wear_spread, config.spare) = (limit, 0.1);
        let mut ssd = full(config);
        Workload { span: 0.1, ..load(Pattern::Random, 1, 4) }.run(&mut ssd, 20_000);
        ssd.check();
        let (least, most) = ssd.wear();
        (most - least, ssd.counters().wear_moves)
    };
    let ((free, none), (levelled, moves)) = (spread(None), spread(Some(16)));
    assert!(none == 0 && moves > 0);
    assert!(levelled * 3 < free, "spread {free} without, {levelled} with {moves} moves");
}

#[test]
fn the_drive_goes_on_after_a_cut_in_a_merge() {
    for (protected, at) in (0..40).map(|n| (n % 2 == 0, 777 * (n + 1))) {
        let mut config = Preset::Samsung850Pro.small_block_mapped();
        config.cache = Cache { bytes: 1 << 20, protected };
        let mut ssd = full(config);
        let mut done = Vec::new();
        for id in 0..3_000_u64 {
            ssd.submit(ssd.now(), id, Command::write(id * 7_919 % ssd.blocks(), 1));
        }
        ssd.advance(cygnus_types::Nanos::micros(at), &mut done);
        assert!(ssd.outstanding() > 0);
        let lost = ssd.power_cut();
        let completed: Vec<u64> = done.iter().map(|done| done.id * 7_919 % ssd.blocks()).collect();
        assert!(!protected || lost.iter().all(|lba| !completed.contains(lba)), "cut at {at}");
        ssd.check();
        Workload { read_percent: 20, ..load(Pattern::Random, 1, 8) }.run(&mut ssd, 2_000);
        ssd.check();
    }
}

#[test]
fn flushes_end_and_cost_padding() {
    let mut ssd = full(Preset::Samsung850Pro.small_block_mapped());
    let (mut done, mut id) = (Vec::new(), 0);
    for round in 0..200_u64 {
        for lba in [0, 1, 2] {
            ssd.submit(ssd.now(), id, Command::write(round * 1_009 % 40_000 + lba, 1));
            id += 1;
        }
        ssd.submit(ssd.now(), id, Command::Flush);
        id += 1;
        while ssd.outstanding() > 0 {
            ssd.advance(ssd.next_event().unwrap(), &mut done);
        }
    }
    assert_eq!(done.len() as u64, id);
    assert!(ssd.counters().padding > 0);
    ssd.check();
}

#[test]
fn impossible_layouts_are_refused() {
    let text = |change: fn(&mut SsdConfig)| {
        let mut config = small(2);
        change(&mut config);
        Ssd::new(config).unwrap_err().to_string()
    };
    assert!(text(|c| c.mapping = Mapping::Block(BlockLayout { log_blocks: 0 })).contains("log blocks is zero"));
    assert!(text(|c| c.mapping = Mapping::Block(BlockLayout { log_blocks: 4 })).contains("fewer log blocks"));
    assert!(text(|c| c.handles = 2).contains("no placement handles"));
    assert!(text(|c| c.slc = Preset::Sata.config().ssd().unwrap().slc).contains("no SLC buffer"));
    assert!(text(|c| c.map = Preset::Samsung850Evo.config().ssd().unwrap().map).contains("only a page-mapped drive"));
}
