//! Power cuts: what is lost, and that the drive goes on afterwards.

use std::collections::BTreeSet;

use cygnus_ssd::{Command, Device, Pattern, Precondition, Preset, Ssd, SsdConfig, Workload};
use cygnus_types::Nanos;

fn small(protected: bool) -> SsdConfig {
    let mut config = Preset::Samsung850Pro.config().ssd().unwrap();
    (config.flash.channels, config.flash.dies_per_channel, config.flash.pages_per_block) = (2, 2, 8);
    (config.capacity, config.cache.bytes) = (64 << 20, 1 << 20);
    config.cache.protected = protected;
    config
}

/// Writes until `until` with two commands outstanding; gives the blocks written by commands that completed.
fn write(ssd: &mut Ssd, until: Nanos) -> BTreeSet<u64> {
    let (mut completed, mut done, mut next) = (BTreeSet::new(), Vec::new(), 0_u64);
    let lba = |id: u64| id * 4_409 % (ssd_blocks() - 3);
    for _ in 0..2 {
        ssd.submit(Nanos::ZERO, next, Command::write(lba(next), 3));
        next += 1;
    }
    while let Some(at) = ssd.next_event().filter(|&at| at <= until) {
        ssd.advance(at, &mut done);
        for finished in done.drain(..) {
            completed.extend(lba(finished.id)..lba(finished.id) + 3);
            ssd.submit(at, next, Command::write(lba(next), 3));
            next += 1;
        }
    }
    completed
}

fn ssd_blocks() -> u64 {
    (64 << 20) / 4096
}

#[test]
fn an_unprotected_cache_is_lost_and_reported() {
    let mut ssd = Ssd::new(small(false)).unwrap();
    let completed = write(&mut ssd, Nanos::millis(20));
    let lost = ssd.power_cut();
    assert!(lost.is_sorted() && lost.windows(2).all(|pair| pair[0] != pair[1]));
    let of_completed = lost.iter().filter(|lba| completed.contains(lba)).count();
    // At most the cache, and at least something, or the cut would test nothing.
    assert!((1..=256).contains(&of_completed), "{of_completed} of {} blocks", completed.len());
    assert!(of_completed < completed.len() / 2);
    ssd.check();
}

#[test]
fn a_protected_cache_loses_only_what_had_not_completed() {
    let mut ssd = Ssd::new(small(true)).unwrap();
    let completed = write(&mut ssd, Nanos::millis(20));
    let lost = ssd.power_cut();
    assert!(lost.iter().all(|lba| !completed.contains(lba)), "{lost:?}");
    assert!(lost.len() <= 6);
    ssd.check();
}

#[test]
fn what_a_flush_covered_is_never_lost() {
    for at in 1..60 {
        let mut ssd = Ssd::new(small(false)).unwrap();
        ssd.precondition(Precondition::Random { share: 1.0, seed: at });
        let mut done = Vec::new();
        ssd.submit(Nanos::ZERO, 0, Command::write(5, 40));
        ssd.advance(Nanos::micros(600), &mut done);
        assert_eq!(done.len(), 1, "the write is in the cache");
        ssd.submit(ssd.now(), 1, Command::Flush);
        ssd.submit(ssd.now(), 2, Command::write(60, 40));
        ssd.advance(Nanos::micros(600 + 100 * at), &mut done);
        let flushed = done.iter().any(|done| done.id == 1);
        let lost = ssd.power_cut();
        assert!(!flushed || lost.iter().all(|&lba| lba >= 60), "cut at {at}: {lost:?}");
        assert!(flushed || at < 50, "the flush takes for ever");
    }
}

#[test]
fn the_drive_goes_on_after_a_cut_in_steady_state() {
    for (protected, cut) in [(false, 3_000), (true, 3_000), (false, 3_777), (false, 5_111), (true, 7_919)] {
        let mut ssd = Ssd::new(small(protected)).unwrap();
        ssd.precondition(Precondition::Random { share: 1.0, seed: 1 });
        let mut done = Vec::new();
        // Random enough for the collector to be at work.
        for id in 0..4_000_u64 {
            ssd.submit(ssd.now(), id, Command::write(id * 7_919 % ssd.blocks(), 1));
        }
        ssd.advance(Nanos::micros(cut * 10), &mut done);
        assert!(ssd.outstanding() > 0 && ssd.counters().programmed_gc > 0);
        ssd.power_cut();
        assert_eq!((ssd.outstanding(), ssd.next_event()), (0, None));
        ssd.check();
        let load = Workload { pattern: Pattern::Random, blocks: 1, depth: 8, read_percent: 20, span: 1.0, seed: 2 };
        load.run(&mut ssd, 30_000);
        ssd.check();
    }
}
