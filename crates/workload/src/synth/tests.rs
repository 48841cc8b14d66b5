//! What `trace stat` finds in a synthesised trace is what the table says.

use super::*;
use crate::WorkloadConfig;
use crate::stat::{Collector, Stat};
use crate::trace::{Format, MsrWriter, ReadOptions, Record, Reorder, TraceReader};
use cygnus_types::Nanos;
use std::path::Path;

const REQUESTS: u64 = 150_000;
const SPACE: u64 = 64 << 30;

fn config(preset: &Preset) -> SynthConfig {
    let rate = Some(Rate { iops: Some(20_000.0), bandwidth: None, arrivals: crate::Arrivals::Poisson });
    SynthConfig { requests: Some(REQUESTS), rate, ..SynthConfig::new(&preset.full_name()) }
}

/// Written as a file would be, read back, described.
fn described(preset: &Preset) -> Stat {
    let mut source =
        WorkloadConfig { synth: Some(config(preset)), ..WorkloadConfig::default() }.build(SPACE, 42).unwrap().remove(0);
    let mut writer = MsrWriter::new(Vec::new(), source.name());
    while let Some(Request { kind, offset, len, arrival, .. }) = source.next() {
        writer.write(&Record { at: arrival.unwrap(), kind, offset, len, volume: 0, fua: false }).unwrap();
    }
    let text = writer.finish().unwrap();
    let reader = TraceReader::new(Path::new("made.csv"), &text[..], ReadOptions::default()).unwrap();
    assert_eq!(reader.format(), Format::Msr);
    let mut collector = Collector::new();
    Reorder::new(reader).for_each(|record| collector.add(&record.unwrap()));
    collector.finish()
}

#[track_caller]
fn near(what: &str, got: f64, expect: f64, tolerance: f64) {
    assert!((got - expect).abs() <= tolerance, "{what}: {got} instead of {expect} (within {tolerance})");
}

#[test]
fn every_preset_has_the_statistics_of_its_table() {
    for preset in &PRESETS {
        let (stat, name) = (described(preset), preset.full_name());
        assert_eq!(stat.requests, REQUESTS);
        let of_kind = [
            (Kind::Read, preset.read_percent, preset.mean_read, preset.random_read_percent),
            (Kind::Write, 100.0 - preset.read_percent, preset.mean_write, preset.random_write_percent),
        ];
        for (kind, share, mean, random) in of_kind {
            let Some(found) = stat.kind(kind) else {
                assert_eq!(share, 0.0, "{name} has no {kind:?}");
                continue;
            };
            near(&format!("{name} {kind:?} %"), found.percent, share, 0.5);
            near(&format!("{name} {kind:?} mean size"), found.mean_bytes.unwrap(), mean, mean * 0.03);
            near(&format!("{name} {kind:?} random %"), found.random_percent.unwrap(), random, 1.5);
        }
        if preset.hot_regions > 0 {
            let busiest: f64 = stat.regions_percent[..preset.hot_regions as usize].iter().sum();
            // Measured in blocks, so that sizes add their own noise.
            near(&format!("{name} hot %"), busiest, preset.hot_percent, 1.5);
        } else {
            near(&format!("{name} busiest region"), stat.regions_percent[0], 100.0 / 64.0, 0.3);
        }
        near(&format!("{name} IOPS"), stat.mean_iops.unwrap(), 20_000.0, 200.0);
    }
}

#[test]
fn hot_regions_of_websql_share_a_switch() {
    let preset = Preset::find("websql").unwrap();
    for seed in 0..20 {
        let mut source = SynthConfig::new("websql").build(SPACE, Rng::new(seed)).unwrap();
        let mut by_switch = [0_u32; 4];
        for _ in 0..2000 {
            by_switch[(source.next().unwrap().offset / (SPACE / 4)) as usize] += 1;
        }
        // Half of the requests go to its hot regions, an eighth of the rest to its others.
        assert!(by_switch.iter().any(|&count| count > 1000), "{by_switch:?} {preset:?}");
    }
}

#[test]
fn seeds_decide_and_settings_are_checked() {
    let take = |seed| {
        let mut source = config(&PRESETS[0]).build(SPACE, Rng::new(seed)).unwrap();
        (0..100).map(|_| source.next().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(take(1), take(1));
    assert_ne!(take(1), take(2));
    assert!(take(1).is_sorted_by_key(|request| request.arrival.unwrap_or(Nanos::ZERO)));
    let refused = |config: SynthConfig, volume| config.build(volume, Rng::new(0)).map(|_| ()).unwrap_err().to_string();
    assert!(refused(SynthConfig::new("nobody"), SPACE).contains("scala-afa/proxy0"));
    assert!(refused(SynthConfig::new("proxy0"), 1 << 20).contains("needs 256 MiB"));
    let large = SynthConfig { size: Some(Size(2 * SPACE)), ..SynthConfig::new("proxy0") };
    assert!(refused(large, SPACE).contains("make the volume larger"));
    let short = SynthConfig { duration: Some(crate::Span(Nanos::ZERO)), ..SynthConfig::new("proxy0") };
    assert!(refused(short, SPACE).contains("duration: must be longer than ramp"));
}
