//! What the serial array's experiments have in common: four Intel 750 of 400 GB.

use crate::Sample;
use crate::experiment::Scale;
use crate::outcome::Outcome;
use crate::series::{mean, rate};

/// Blocks per die of the modelled Intel 750, and pages of each.
const BLOCKS: f64 = 2050.0;
const PAGES: u32 = 256;

/// The `[devices]` section.
pub fn devices(scale: Scale) -> String {
    scale.devices("intel-750", BLOCKS, PAGES)
}

/// RAID-0 in place, with chunks of 64 KiB as LVM2 was told.
pub const RAID0: &str = "[[array]]\npreset = \"raid0\"\ndrives = 4\n";

/// The serial array. One drive in four is in reserve; of what the others hold, 5 % are kept free.
pub const SERIAL: &str = "[[array]]\npreset = \"serial\"\ngroups = 4\nraid = \"1+0\"\nover-provision = 5\n";

/// Bytes of the paper, here, as a multiple of 256 KiB.
pub fn bytes(scale: Scale, papers: f64) -> u64 {
    (papers / scale.divisor()) as u64 / (256 << 10) * (256 << 10)
}

/// Section 3.1: 15 minutes of 256 KiB, then 30 minutes of 64 KiB over 200 GB; one thread, depth 32.
pub const AGING: f64 = 900.0;
/// See [`AGING`].
pub const AFTER: f64 = 1800.0;
const HOT: f64 = 200e9;
/// Distance of samples.
pub const SAMPLE: f64 = 10.0;

/// An array on the drives, and both parts of section 3.1's workload, the first one over `footprint` bytes of the paper.
pub fn aged_then_hot(scale: Scale, array: &str, footprint: f64) -> String {
    let part = |name, block, size, after: &str, seconds| {
        format!(
            "[[workload.fio]]\nname = \"{name}\"\nblock-size = \"{block}\"\ndepth = 32\nsize = {size}\n{after}duration = \"{}\"\n",
            scale.seconds(seconds)
        )
    };
    let aging = part("aging", "256KiB", bytes(scale, footprint), "", AGING);
    let begins = format!("after = \"{}\"\n", scale.seconds(AGING));
    let after = part("after", "64KiB", bytes(scale, HOT), &begins, AFTER);
    format!(
        "name = \"aged-then-hot\"\n{}{array}[volume]\nsize = \"100% of usable\"\n{aging}{after}\
         [run]\nduration = \"{}\"\nsample = \"{}\"\n",
        devices(scale),
        scale.seconds(AGING + AFTER),
        scale.seconds(SAMPLE)
    )
}

/// User writes of an interval in MB/s.
pub fn written(sample: &Sample) -> f64 {
    rate(sample.writes[1], sample.span_ns)
}

/// What of users' writes the array took in an interval, in MB/s: a cache in front of it may hold back what it has taken.
pub fn stored(sample: &Sample) -> f64 {
    rate(sample.user_blocks * 4096, sample.span_ns)
}

/// Drives that clients' data is written to at once, while any is: those that take at least a tenth of what the busiest
/// takes.
pub fn drives_written_at_once(outcome: &Outcome) -> f64 {
    let busy = |sample: &Sample| {
        let written = |device: &crate::DeviceSample| device.totals.written_bytes;
        let most = sample.devices.iter().map(written).max().filter(|&most| most > 0)?;
        Some(sample.devices.iter().filter(|device| written(device) * 10 >= most).count() as f64)
    };
    mean(outcome.samples.iter().filter_map(busy))
}
