//! Recordings that come with Cygnus, played before the clock starts and after: every request, and no other.

use cygnus_lab::{Outcome, Scenario, result_files, run};
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
    let named = |job| rows(job).next().map(|row| row.job_name.as_str());
    assert_eq!([named(0), named(1)], [Some("short"), Some("long")], "rows carry the names of their jobs");
    let sampled: u64 = outcome.samples.iter().map(|sample| sample.short_reads[0]).sum();
    assert_eq!(sampled, short, "samples count them too");
}

/// A recording that is played so slowly that hardly a request arrives before the run ends.
#[test]
fn what_arrives_after_ages_is_no_error() {
    let slow = SCENARIO.replace("closed-loop = true", "speed = 1e-300").replace("10s", "1s");
    let scenario = Scenario::parse("slow.toml", &slow).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.requests <= 1, "{} requests", outcome.requests);
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

/// Plays a trace of three requests of two volumes, one of them without a length, that is larger than the volume.
fn small(fit: &str, closed_loop: bool, duration: &str) -> Outcome {
    let scenario = small_scenario(fit, closed_loop, duration);
    run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn small_scenario(fit: &str, closed_loop: bool, duration: &str) -> Scenario {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lines = "0;R;0;0;4096\n1000;W;1;1600;8192\n2000000;W;0;100;4096\n";
    std::fs::write(dir.join("three.csv"), lines).expect("the target directory can be written");
    let trace = format!(
        "file = \"three.csv\"\ncolumns = \"time=0:us,op=1,volume=2,offset=3:blocks\"\nclosed-loop = {closed_loop}\nfit = \"{fit}\""
    );
    let text = SCENARIO
        .replace("recording = \"rocksdb-e\"\nclosed-loop = true\ndepth = 8\nfit = \"refuse\"", &trace)
        .replace("[aging]\nrecording = \"rocksdb-load\"\n", "")
        .replace("1600MiB", "4MiB")
        .replace("10s", duration);
    let file = dir.join("small.toml");
    Scenario::parse(&file.display().to_string(), &text).unwrap_or_else(|error| panic!("{error}"))
}

/// A file of a run.
fn file(scenario: &Scenario, outcome: &Outcome, wanted: &str) -> String {
    let files = result_files(scenario, outcome);
    files.into_iter().find(|(name, _)| name == wanted).expect("every run has it").1
}

#[test]
fn a_replay_that_ends_within_the_ramp_has_no_rates_and_says_so() {
    let scenario = small_scenario("wrap", false, "3s\"\nramp = \"2500ms");
    let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((outcome.measured_ns, outcome.requests), (0, 0));
    assert_eq!((outcome.read_bytes_per_second, outcome.write_bytes_per_second), (None, None));
    assert!(outcome.read_rate().is_nan() && outcome.write_rate().is_nan());
    let remark = outcome.remarks.last().expect("there is something to say");
    assert!(remark.starts_with("no client was active after the ramp of 2.50 s"), "{remark}");
    let summary = file(&scenario, &outcome, "summary.json");
    assert!(summary.contains("\"read_bytes_per_second\": null,\n  \"write_bytes_per_second\": null"), "{summary}");
    let within = small("wrap", false, "3s\"\nramp = \"1500ms");
    assert!(within.requests == 1 && within.write_bytes_per_second > Some(0), "the last one comes after two seconds");
    assert!(!within.remarks.iter().any(|remark| remark.contains("no client was active")), "{:?}", within.remarks);
}

#[test]
fn a_time_series_has_no_latency_of_no_requests() {
    let scenario = small_scenario("wrap", false, "3s\"\nsample = \"1s");
    let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    let series = file(&scenario, &outcome, "timeseries.csv");
    let cells: Vec<Vec<&str>> = series.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        (cells[0][1], cells[0][4], cells[0][5], cells[0][8]),
        ("read_iops", "read_p99_us", "write_iops", "write_p99_us")
    );
    let [first, second, third] = [&cells[1], &cells[2], &cells[3]];
    assert!(first[1..9].iter().all(|cell| !cell.is_empty()), "{series}");
    assert_eq!(second[1..5], ["0", "0.000", "", ""], "{series}");
    assert!(second[5..9].iter().all(|cell| !cell.is_empty()), "the last write comes after two seconds: {series}");
    assert_eq!(third[1..9], ["0", "0.000", "", "", "0", "0.000", "", ""], "{series}");
}

#[test]
fn a_replay_that_ends_by_itself_tells_how_long_it_took() {
    let (closed, open, cut) = (small("wrap", true, "3s"), small("wrap", false, "3s"), small("wrap", false, "1s"));
    let makespan = closed.makespan_ns.expect("all of it was played");
    assert!((1..100_000_000).contains(&makespan), "{makespan}: as fast as the array answers");
    assert!((2_000_000_000..2_100_000_000).contains(&open.makespan_ns.expect("all of it")), "at the recorded times");
    assert_eq!((cut.makespan_ns, cut.requests), (None, 2), "what was cut short has none");
    let names: Vec<&str> = closed.latency.iter().map(|row| row.job_name.as_str()).collect();
    assert_eq!(names, ["volume 0", "volume 0", "volume 1"]);
}

#[test]
fn rates_are_of_the_time_that_it_took() {
    let [short, long] = ["3s", "30s"].map(|duration| small("wrap", false, duration));
    assert_eq!(short.measured_ns, long.measured_ns, "what comes after the last request makes it no slower");
    assert_eq!(short.measured_ns, short.makespan_ns.expect("all of it was played"));
    assert_eq!(short.throughput_variation_milli, long.throughput_variation_milli);
    let written = (4096 + 4096) * 1_000_000_000 / short.measured_ns;
    assert_eq!(short.write_bytes_per_second, Some(written), "two writes of 4 KiB in two seconds");
    assert_eq!(small("wrap", false, "1s").measured_ns, 1_000_000_000, "what time cut short took all of it");
}

#[test]
fn what_is_folded_is_told() {
    let remarks = small("wrap", true, "1s").remarks;
    assert_eq!(
        remarks,
        [
            "three.csv: spans 6.65 MiB and is wrapped around the volume's 4 MiB: 1 requests beyond its end (33.3 %) are \
             folded onto others, up to 2 places onto one",
            "three.csv: 3 requests have no length in it and were taken for 4096 bytes",
            "swan: clients read 4 KiB, and drives were read for 0 B only: the rest was never written (see [aging]), or still in \
             memory",
        ]
    );
    assert!(small("scale", true, "1s").remarks[0].contains("is scaled to the volume's 4 MiB"));
    assert!(outcome().remarks.is_empty());
}
