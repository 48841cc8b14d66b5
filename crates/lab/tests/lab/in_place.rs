//! Baselines that update in place, beside a log on the same drives.

use cygnus_lab::{Outcome, Scenario, run};

const SCENARIO: &str = r#"name = "in-place"
[devices]
preset = "850-pro"
scale = 32
[[array]]
preset = "raid5"
drives = 9
[[array]]
preset = "raid10"
drives = 8
[[array]]
preset = "log-raid"
raid = "8+1"
segment = "1MiB"
[volume]
size = "50% of data"
[[workload.fio]]
depth = 32
[run]
duration = "100ms"
sample = "20ms"
"#;

fn outcomes() -> [Outcome; 3] {
    let scenario = Scenario::parse("in-place.toml", SCENARIO).unwrap_or_else(|error| panic!("{error}"));
    [0, 1, 2].map(|which| run(&scenario, which, 1, |_| {}).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn small_writes_cost_what_their_level_says() {
    let [raid5, raid10, log] = outcomes();
    assert_eq!(raid5.preset, "raid5");
    assert_eq!(raid5.array_write_amplification_milli, Some(2000), "a block and its parity");
    let read: u64 = raid5.devices.iter().map(|device| device.read_bytes).sum();
    let written: u64 = raid5.devices.iter().map(|device| device.written_bytes).sum();
    assert_eq!(read, written, "as much is read before as is written after");
    assert_eq!(raid10.array_write_amplification_milli, Some(2000), "a block and its mirror");
    assert_eq!(raid10.devices.iter().map(|device| device.read_bytes).sum::<u64>(), 0);
    assert!(log.array_write_amplification_milli.is_some_and(|milli| milli < 1300), "full stripes and headers: {log:?}");
    assert!(log.write_rate() > 2.0 * raid5.write_rate());
}

#[test]
fn quotients_of_nothing_are_none() {
    let played = |text: &str| {
        let scenario = Scenario::parse("nothing.toml", text).unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(&scenario, 2, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        (cygnus_lab::result_files(&scenario, &outcome).swap_remove(0).1, outcome)
    };
    let (summary, outcome) = played(&SCENARIO.replace("depth = 32", "read = 100"));
    // Nobody has written what they read.
    assert!(outcome.remarks.len() == 1 && outcome.remarks[0].contains("never written"), "{:?}", outcome.remarks);
    assert!(outcome.requests > 0 && outcome.throughput_variation_milli.is_some());
    for name in ["array_write_amplification", "cleaning_amplification", "drive_write_amplification", "victim_valid"] {
        assert!(summary.contains(&format!("\"{name}_milli\": null")), "{name}: {summary}");
    }
    // Drives without flash program nothing, and that is no amplification either.
    let (summary, outcome) = played(&SCENARIO.replace("850-pro\"\nscale = 32", "null\"\ncapacity = \"256MiB\""));
    assert!(
        outcome.array_write_amplification_milli.is_some()
            && summary.contains("\"drive_write_amplification_milli\": null")
    );
}

#[test]
fn parts_of_blocks_cost_whole_ones_and_that_is_told() {
    let aligned = SCENARIO.replace("depth = 32", "read = 50\nrate = { iops = 20000 }\nblock-size = \"SIZE\"");
    let played = |size: &str, which| {
        let text = aligned.replace("SIZE", size);
        let scenario = Scenario::parse("parts.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        run(&scenario, which, 1, |_| {}).unwrap_or_else(|error| panic!("{size}: {error}"))
    };
    let (parts, whole) = (played("512B", 0), played("4KiB", 0));
    assert!(whole.remarks.is_empty() && parts.remarks.len() == 1, "{:?}", parts.remarks);
    assert!(parts.remarks[0].contains("whole blocks of 4 KiB"), "{:?}", parts.remarks);
    let bytes = |outcome: &Outcome| outcome.latency.iter().map(|row| row.bytes).sum::<u64>();
    assert_eq!(bytes(&parts) * 8, bytes(&whole), "clients are given what they asked for");
    let written = |outcome: &Outcome| outcome.devices.iter().map(|device| device.written_bytes).sum::<u64>();
    assert!(
        written(&parts).abs_diff(written(&whole)) < written(&whole) / 5,
        "as much work as for the blocks around them"
    );
    let is_told = |remark: &String| remark.contains("whole blocks");
    assert!(!played("512B", 2).remarks.iter().any(is_told), "a log takes them as they are");
}
