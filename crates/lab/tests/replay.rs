//! Recordings that come with Cygnus, played before the clock starts and after: every request, and no other.

use cygnus_lab::{Outcome, Scenario, run};
use cygnus_workload::recording::Shipped;
use cygnus_workload::{Kind, SHORT_READ};

const SCENARIO: &str = r#"name = "replay"
[devices]
preset = "null"
capacity = "1GiB"
[[array]]
preset = "swan"
groups = 2
raid = "2+1"
segment = "1MiB"
[volume]
size = "1600MiB"
[aging]
recording = "rocksdb-load"
[workload.replay]
recording = "rocksdb-e"
closed-loop = true
depth = 8
fit = "refuse"
[run]
duration = "10s"
"#;

fn outcome() -> Outcome {
    let scenario = Scenario::parse("replay.toml", SCENARIO).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn count(recording: &str, wanted: impl Fn(Kind, u32) -> bool) -> u64 {
    let reader = Shipped::by_name(recording).expect("it comes along").open().expect("it is whole");
    reader.map(|record| record.expect("it is whole")).filter(|record| wanted(record.kind, record.len)).count() as u64
}

#[test]
fn every_request_of_a_recording_is_played_once_and_the_load_is_not_counted() {
    let outcome = outcome();
    assert_eq!(outcome.requests, count("rocksdb-e", |_, _| true));
    let rows = |job| outcome.latency.iter().filter(move |row| row.kind == "read" && row.job == job);
    let short: u64 = rows(0).map(|row| row.count).sum();
    let long: u64 = rows(1).map(|row| row.count).sum();
    assert_eq!(short, count("rocksdb-e", |kind, len| kind == Kind::Read && len <= SHORT_READ));
    assert_eq!(long, count("rocksdb-e", |kind, len| kind == Kind::Read && len > SHORT_READ));
    let sampled: u64 = outcome.samples.iter().map(|sample| sample.short_reads[0]).sum();
    assert_eq!(sampled, short, "samples count them too");
}

#[test]
fn a_trace_is_named_once() {
    for (from, to, words) in [
        ("recording = \"rocksdb-e\"", "recording = \"rocksdb-e\"\nfile = \"x\"", "name one trace"),
        ("recording = \"rocksdb-e\"\n", "", "name one trace"),
        ("recording = \"rocksdb-load\"", "recording = \"rocksdb-z\"", "known are rocksdb-load"),
        ("1600MiB", "1GiB", "make the volume larger"),
    ] {
        let text = SCENARIO.replacen(from, to, 1);
        let error = match Scenario::parse("replay.toml", &text) {
            Ok(scenario) => run(&scenario, 0, 1, |_| {}).expect_err(to).to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(words), "{to}: {error}");
    }
}
