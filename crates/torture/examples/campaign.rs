//! Runs seeds from the command line: `campaign START SEEDS JOBS [plant]`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cygnus_torture::{Options, Plant, run_seeds};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |n: usize, or: u64| args.get(n).map_or(or, |a| a.parse().expect("a number"));
    let plant = if args.get(4).is_some() { Plant::FlushesIgnored } else { Plant::Nothing };
    let options = Options {
        start: number(1, 0),
        seeds: number(2, 100),
        jobs: number(3, 1) as usize,
        plant,
        stop_at_failure: false,
    };
    let (begun, said) = (Instant::now(), AtomicU64::new(0));
    let report = run_seeds(&options, |done, failed| {
        let seconds = begun.elapsed().as_secs();
        if seconds >= said.load(Ordering::Relaxed) + 10 {
            said.store(seconds, Ordering::Relaxed);
            eprintln!("{done} seeds, {failed} failed");
        }
    });
    for failure in report.failures.iter().take(3) {
        println!("{}\n  {}\n", failure.story, failure.replay);
    }
    let seeds: Vec<u64> = report.failures.iter().map(|f| f.seed).collect();
    println!("failed: {seeds:?}\n{:#?}", report.tally);
    println!("{} seeds, {:.1} per second", report.seeds, report.seeds as f64 / begun.elapsed().as_secs_f64());
}
