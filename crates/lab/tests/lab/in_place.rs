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
    assert_eq!(raid5.array_write_amplification_milli, 2000, "a block and its parity");
    let read: u64 = raid5.devices.iter().map(|device| device.read_bytes).sum();
    let written: u64 = raid5.devices.iter().map(|device| device.written_bytes).sum();
    assert_eq!(read, written, "as much is read before as is written after");
    assert_eq!(raid10.array_write_amplification_milli, 2000, "a block and its mirror");
    assert_eq!(raid10.devices.iter().map(|device| device.read_bytes).sum::<u64>(), 0);
    assert!(log.array_write_amplification_milli < 1300, "full stripes and headers: {log:?}");
    assert!(log.write_bytes_per_second > 2 * raid5.write_bytes_per_second);
}
