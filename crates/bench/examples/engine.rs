//! Prints the engine benchmark.

fn main() {
    let options = cygnus_bench::EngineOptions::default();
    let report = cygnus_bench::run_engine(&options, |what| eprintln!("{what}...")).expect("the benchmark runs");
    for row in report.floor.iter().chain(&report.engine) {
        let beside = row.beside.as_ref().map_or(String::new(), |(what, ratio)| format!("{ratio:.2} x {what}"));
        println!(
            "{:<55} {:>9.1} ns {:>10.0}/s {:>7.2} GB/s  {beside}",
            row.name,
            row.ns,
            row.per_second,
            row.bytes_per_second / 1e9
        );
    }
    println!("WA {:.3} theory {:.3}", report.cleaning_amplification, report.theoretical_amplification);
}
