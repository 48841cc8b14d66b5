//! The analytic steady state against a drive that was really written for long.

use cygnus_ssd::{Device, Pattern, Precondition, Preset, Ssd, SsdConfig, Workload, greedy_write_amplification};

/// Four dies of about 40 small blocks.
fn small() -> SsdConfig {
    let mut config = Preset::Samsung850Pro.config().ssd().unwrap();
    config.flash.channels = 2;
    config.flash.dies_per_channel = 2;
    config.flash.pages_per_block = 32;
    config.capacity = 512 << 20;
    config.cache.bytes = 1 << 20;
    config
}

fn random(commands_seed: u64) -> Workload {
    Workload { pattern: Pattern::Random, blocks: 1, depth: 32, read_percent: 0, span: 1.0, seed: commands_seed }
}

#[test]
fn preconditioning_agrees_with_real_ageing() {
    let mut aged = Ssd::new(small()).unwrap();
    let pages = aged.blocks();
    random(1).run(&mut aged, 6 * pages);
    let real = random(2).run(&mut aged, pages);
    aged.check();

    let mut laid = Ssd::new(small()).unwrap();
    laid.precondition(Precondition::Random { share: 1.0, seed: 1 });
    laid.check();
    let early = random(2).run(&mut laid, pages / 4);
    let late = random(3).run(&mut laid, pages);
    laid.check();

    let amplification = |report: &cygnus_ssd::Report| report.counters.write_amplification();
    let (real_wa, early_wa, late_wa) = (amplification(&real), amplification(&early), amplification(&late));
    println!("aged {real_wa:.3}, preconditioned {early_wa:.3} then {late_wa:.3}");
    assert!((early_wa / real_wa - 1.0).abs() < 0.05, "aged {real_wa}, just preconditioned {early_wa}");
    assert!((late_wa / real_wa - 1.0).abs() < 0.02, "aged {real_wa}, preconditioned and run in {late_wa}");
    assert!((early.rate() / real.rate() - 1.0).abs() < 0.08, "aged {}, preconditioned {}", real.rate(), early.rate());
    // Nominal spare 0.26, of which watermark and open blocks hold back four blocks per die.
    let config = small();
    let block = 2 * 16384 * 32 * 4;
    let lasting = (config.capacity as f64 * 1.26 / block as f64).ceil() - 4.0;
    let theory = greedy_write_amplification(config.capacity as f64 / (lasting * block as f64));
    assert!((real_wa / theory - 1.0).abs() < 0.06, "aged {real_wa}, theory {theory}");
}
