//! Arrays on modelled disks, where a random write in place costs seeks and turns and one to a log does not.

use cygnus_lab::{Outcome, Scenario, run};

/// Four disks of that preset, RAID-5 in place and a log, under random writes.
fn outcomes(drive: &str) -> [Outcome; 2] {
    let text = format!(
        "name = \"disks\"\n[devices]\n{drive}\nprecondition = \"random\"\n\
         [[array]]\npreset = \"raid5\"\ndrives = 4\n[[array]]\npreset = \"log-raid\"\nraid = \"3+1\"\n\
         [volume]\nsize = \"30% of data\"\n[[workload.fio]]\nblock-size = \"16KiB\"\ndepth = 8\n\
         [run]\nduration = \"12s\"\nramp = \"6s\"\nsample = \"2s\"\n"
    );
    let scenario = Scenario::parse("disks.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    [0, 1].map(|which| run(&scenario, which, 1, |_| {}).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn a_log_takes_many_times_the_random_writes_of_an_array_that_updates_in_place() {
    for drive in ["preset = \"hdd\"\ncapacity = \"2GB\"", "preset = \"seagate-smr-8tb\"\nscale = 512"] {
        let [in_place, log] = outcomes(drive).map(|outcome| outcome.requests);
        assert!(in_place > 100 && log > 20 * in_place, "{drive}: {in_place} and {log}");
    }
}
