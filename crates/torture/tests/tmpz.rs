use cygnus_torture::{Options, Tier, run_seeds};
#[test]
fn tmpz() {
    let options = Options { start: 100, seeds: 400, tier: Tier::Zoned, jobs: 2, ..Options::default() };
    let report = run_seeds(&options, |_| ());
    println!("failures {} of {}", report.failures.len(), 300);
    for failed in report.failures.iter().take(12) {
        println!("{} {}", failed.seed, failed.failure);
    }
    assert!(report.failures.is_empty());
}
