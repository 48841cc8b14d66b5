//! When clients are answered, and how they come to their end.

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

#[test]
fn a_write_is_answered_when_its_volume_says() {
    let [memory, written, durable] = ["memory", "written", "durable"].map(|ack| {
        let text = format!(
            "name = \"ack\"\n[devices]\npreset = \"scalaafa-femu\"\nscale = 4\n\
             [[array]]\npreset = \"fusion\"\nraid = \"2+1\"\nsegment = \"1MiB\"\n\
             [volume]\nsize = \"256MiB\"\nack = \"{ack}\"\n[[workload.fio]]\n[cpu]\n\
             [run]\nduration = \"5ms\"\nsample = \"1ms\"\n"
        );
        let scenario = Scenario::parse("ack.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        outcome.latency.iter().find(|row| row.kind == "write").map_or(0, |row| row.p50_ns)
    });
    // A command of these drives takes some 10 us, and what is durable has been programmed for 77 us.
    assert!(memory < 5_000 && written > 10_000 && durable > 77_000, "{memory}, {written}, {durable} ns");
}
