//! What is wrong with a scenario is said with its line and a remedy.

use cygnus_lab::{LabError, Scenario, run};

const GOOD: &str = r#"name = "good"
[devices]
preset = "850-pro"
scale = 32
[[array]]
preset = "log-raid"
raid = "2+1"
segment = "1MiB"
[volume]
size = "10% of data"
[[workload.fio]]
depth = 4
[run]
duration = "10ms"
sample = "5ms"
"#;

/// The error of the good scenario with something in it replaced, from reading it or from running it.
fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let scenario = match Scenario::parse("bad.toml", &GOOD.replace(from, to)) {
        Ok(scenario) => scenario,
        Err(error) => return error.to_string(),
    };
    match run(&scenario, 0, 1, |_| {}) {
        Err(LabError::Scenario(error)) => error.to_string(),
        other => panic!("{to}: {:?}", other.map(|outcome| outcome.requests)),
    }
}

#[test]
fn the_good_one_runs() {
    let scenario = Scenario::parse("good.toml", GOOD).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.requests > 100 && outcome.samples.len() == 2);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let mut wrong = String::new();
    for (from, to, line, words) in [
        ("[run]", "[run", 13, "expected"),
        ("[run]", "[cpu]\ncores = 0\n[run]", 13, "from 1 to 64"),
        (
            "raid = \"2+1\"\nsegment = \"1MiB\"",
            "name = \"log\"\nraid = \"2+1\"\n[cpu]\ncores = 2\n[[array]]\npreset = \"raid5\"\ndrives = 3",
            9,
            "one core",
        ),
        ("preset = \"850-pro\"\nscale = 32", "preset = \"null\"", 2, "capacity"),
        ("segment = \"1MiB\"", "groups = 0", 5, "at least one R-group"),
        ("sample = \"5ms\"", "sample = 9223372036854775807", 15, "ten years"),
        ("[run]", "[network]\nrate = \"1GB\"\nlatency = 9223372036854775807\n[run]", 15, "ten years"),
        ("depth = 4", "offset = 9223372036854775807", 11, "offset: not a multiple of 512"),
        ("depth = 4", "depth = 4294967295", 11, "at most 65536 requests at once"),
        ("depth = 4", "depth = 4\nclients = 20000", 11, "at most 65536 requests at once"),
        ("segment = \"1MiB\"", "segment = \"1MiB\"\nstripe-rows = 4294967295", 5, "use at most 1024"),
        ("segment = \"1MiB\"", "segment = \"4097B\"", 5, "a segment of 4097 bytes is not a multiple of 4KiB"),
        ("raid = \"2+1\"\nsegment = \"1MiB\"", "name = \"r\"\n[[array]]\npreset = \"raid5\"\ndrives = 0", 5, "raid"),
        ("name = \"good\"", "name = \"good\"\nseed = 18446744073709551615", 2, "at most 9223372036854775807"),
        ("depth = 4", "name = \"a\"\n[[workload.fio]]\nname = \"a\"", 11, "\"a\": two jobs have this name"),
        ("depth = 4", "name = \"job1\"\n[[workload.fio]]", 11, "\"job1\": two jobs have this name"),
        (
            "depth = 4",
            "[[workload.ycsb]]\nworkload = \"a\"\n[[workload.ycsb]]\nworkload = \"a\"",
            11,
            "\"ycsb-a\": two jobs",
        ),
        ("depth = 4", "depht = 4", 12, "depht"),
        ("depth = 4", "depth = 0", 11, "depth"),
        ("depth = 4", "read = 120", 12, "120"),
        ("preset = \"850-pro\"", "preset = \"860-pro\"", 2, "there are 850-pro"),
        ("preset = \"850-pro\"", "preset = 850", 3, "string"),
        ("scale = 32", "scale = 1e9", 2, "at least 1"),
        ("size = \"10% of data\"", "media = \"flash\"\nhybrid = true", 9, "one of media, prefer and hybrid"),
        ("size = \"10% of data\"", "hybrid = [\"smr\", \"smr\"]", 10, "both are smr"),
        ("size = \"10% of data\"", "hybrid = [\"smr\", \"tape\"]", 10, "use nvm, flash, disk or smr"),
        ("scale = 32", "scale = 0", 2, "at least 1"),
        ("scale = 32", "capacity = \"4XB\"", 4, "4XB"),
        ("preset = \"log-raid\"", "preset = \"lograid\"", 5, "log-raid"),
        ("preset = \"log-raid\"", "preset = \"raid5\"", 5, "drives = N"),
        ("raid = \"2+1\"", "drives = 3", 5, "raid = \"K+M\""),
        ("raid = \"2+1\"", "raid = \"2+9\"", 7, "is no RAID shape"),
        ("raid = \"2+1\"", "raid = \"flash:2+1,tape:2+1\"", 7, "use nvm, flash, disk or smr"),
        ("raid = \"2+1\"", "raid = \"flash:2+1,disk:4+2\"", 5, "say what the R-groups store on"),
        ("raid = \"2+1\"", "raid = \"200+1\"", 5, ""),
        ("segment = \"1MiB\"", "transient = \"1MiB\"", 5, "transient: this array makes no copies"),
        ("segment = \"1MiB\"", "copies-always = true", 5, "copies-always: this array makes no copies"),
        ("segment = \"1MiB\"", "postponed-stripes = 8", 5, "the drives of this array compute no parity"),
        ("segment = \"1MiB\"", "segment = \"1000\"", 5, "segment"),
        ("segment = \"1MiB\"", "one-group-at-a-time = true", 5, "choose preset = \"swan\""),
        ("segment = \"1MiB\"", "segment = \"90TiB\"", 5, "segment"),
        ("10% of data", "10% of everything", 10, "of usable"),
        ("10% of data", "1PiB", 5, "does not fit"),
        ("size = \"10% of data\"", "ack = \"soon\"", 10, "use memory, written or durable"),
        ("duration = \"10ms\"", "duration = \"0s\"", 13, "longer"),
        ("sample = \"5ms\"", "sample = \"1ns\"", 13, "sample"),
        ("[[workload.fio]]\ndepth = 4", "[workload.replay]\nfile = \"nowhere.csv\"", 11, "nowhere.csv"),
        ("[run]", "[aging]\noverwrite = -1\n[run]", 13, "overwrite"),
        ("[run]", "[network]\nrate = 0\n[run]", 13, "rate"),
    ] {
        let error = error(from, to);
        if !error.starts_with(&format!("bad.toml:{line}:")) || !error.contains(words) {
            wrong.push_str(&format!("{to}: {error}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
