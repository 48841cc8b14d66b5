//! How clients come to their end.

use cygnus_lab::{Scenario, run};

#[test]
fn a_flush_that_waits_past_the_end_keeps_nobody() {
    // Wherever the end falls between two flushes, for some of these durations one waits for the writes before it.
    for duration in (20..40).map(|n| format!("{}us", 50 * n)) {
        let text = format!(
            r#"name = "flushes"
[devices]
preset = "850-pro"
scale = 32
[[array]]
preset = "raid5"
drives = 3
[[workload.fio]]
depth = 16
flush-every = 16
[run]
duration = "{duration}"
sample = "1ms"
"#
        );
        let scenario = Scenario::parse("flushes.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{duration}: {error}"));
        assert!(outcome.latency.iter().any(|row| row.kind == "flush" && row.count > 0), "{duration}: {outcome:?}");
    }
}
