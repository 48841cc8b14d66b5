//! How fast the model runs and what memory it takes: eight drives in steady state of random 4 KiB writes.

use std::error::Error;
use std::time::Instant;

use cygnus_ssd::{Device, Pattern, Precondition, Preset, Ssd, Workload};

fn main() -> Result<(), Box<dyn Error>> {
    let config = Preset::Samsung850Pro.config().ssd().unwrap();
    let (mut writes, mut events, mut seconds) = (0, 0, 0.0);
    let (mut bytes, mut pages, mut filling) = (0, 0, 0.0);
    let mut drives = Vec::new();
    for seed in 0..8 {
        let mut drive = Ssd::new(config.clone())?;
        let started = Instant::now();
        drive.precondition(Precondition::Random { share: 1.0, seed });
        filling += started.elapsed().as_secs_f64();
        let memory = drive.memory();
        (bytes, pages) = (bytes + memory.0, pages + memory.1);
        drives.push(drive);
    }
    // In turns, as in an array, so that the drives compete for the processor's caches.
    for round in 0..20 {
        for drive in &mut drives {
            let load =
                Workload { pattern: Pattern::Random, blocks: 1, depth: 32, read_percent: 0, span: 1.0, seed: round };
            let (before, started) = (drive.events(), Instant::now());
            let report = load.run(drive, 50_000);
            // The first rounds use up the free blocks.
            if round >= 4 {
                seconds += started.elapsed().as_secs_f64();
                writes += report.commands;
                events += drive.events() - before;
            }
        }
    }
    let tera = config.capacity as f64 * 8.0 / 1e12;
    let amplification = drives[0].counters().write_amplification();
    println!("{:.2} M writes per second, write amplification {amplification:.2}", writes as f64 / seconds / 1e6);
    println!(
        "{:.1} M events per second, {:.2} per write",
        events as f64 / seconds / 1e6,
        events as f64 / writes as f64
    );
    println!(
        "{:.2} GiB per TB, {:.2} bytes per flash page",
        bytes as f64 / tera / 1_073_741_824.0,
        bytes as f64 / pages as f64
    );
    println!("preconditioned {tera:.2} TB in {filling:.1} s");
    Ok(())
}
