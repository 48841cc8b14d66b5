//! Writers of SWAN's front-end beside cleaning that keeps pace with them.

use cygnus_lab::{Outcome, Scenario, run};

/// Reads, and writes at half of what a front-end of 850 PRO takes, in an array of small drives that is this full; all in percent.
fn half_load(full: u32, reads: u32) -> Outcome {
    let rate = 394 * 100 / (100 - reads);
    let text = format!(
        "name = \"half-load\"\n\
         [devices]\npreset = \"850-pro\"\nscale = 512\noverride.ssd.cache = {{ bytes = \"768KiB\" }}\n\
         override.ssd.flash = {{ pages_per_block = 8, t_erase = \"125us\" }}\n\
         [[array]]\npreset = \"swan\"\ngroups = 3\nraid = \"2+1\"\nsegment = \"512KiB\"\nover-provision = 5\n\
         [volume]\nsize = \"{full}% of data\"\n\
         [aging]\nfill = \"100%\"\noverwrite = 1.0\noverwrite-block = \"16KiB\"\n\
         [[workload.fio]]\nname = \"mixed\"\nblock-size = \"16KiB\"\nread = {reads}\n\
         rate = {{ bandwidth = \"{rate}MB\", arrivals = \"poisson\" }}\ndepth = 256\n\
         [run]\nduration = \"2500ms\"\nramp = \"500ms\"\nsample = \"500ms\"\n"
    );
    let scenario = Scenario::parse("half-load.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// In virtual time: it is the same on every machine.
#[test]
fn writers_are_not_held_while_cleaning_keeps_pace() {
    for (full, reads) in [(45, 30), (60, 30), (60, 70)] {
        let outcome = half_load(full, reads);
        assert!(outcome.rotations > 20 && outcome.victims > 500, "it cleans: {} victims", outcome.victims);
        let writes = outcome.latency.iter().find(|row| row.kind == "write").expect("it wrote");
        assert!(writes.count > 40_000, "{}", writes.count);
        assert!(
            writes.p999_ns < 1_000_000,
            "{full} % full, {reads} % reads: {} us for 99.9 % of writes",
            writes.p999_ns / 1000
        );
    }
}
