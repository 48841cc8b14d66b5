//! What SWAN's experiments have in common.

use crate::chart::Scheme;
use crate::experiment::{Scale, Trial, Trialled};
use crate::outcome::{Outcome, per_second};

/// The modelled drive's blocks per die, and pages per block.
const BLOCKS: f64 = 1502.0;
const PAGES: u32 = 256;

/// The `[devices]` section.
pub fn drives(scale: Scale) -> String {
    scale.devices("850-pro", BLOCKS, PAGES)
}

/// Share of the array that holds live data (section 5).
pub const UTILISATION: u32 = 60;

/// Groups of `width` drives without parity that take turns.
pub fn swan0(groups: u32, width: u32) -> String {
    format!(
        "[[array]]\nname = \"swan0\"\npreset = \"swan\"\ngroups = {groups}\nraid = \"{width}+0\"\n\
         segment = \"1MiB\"\nover-provision = 5\n"
    )
}

/// One log over `width` drives without parity.
pub fn log_raid0(width: u32) -> String {
    format!(
        "[[array]]\nname = \"log-raid0\"\npreset = \"log-raid\"\nraid = \"{width}+0\"\nsegment = \"1MiB\"\n\
         over-provision = 5\n"
    )
}

/// RAID-0 in place.
pub fn raid0(width: u32) -> String {
    format!("[[array]]\npreset = \"raid0\"\ndrives = {width}\n")
}

/// 8 KiB random writes for this many of the paper's seconds, after the array was written to 60 %.
pub fn random_writes(scale: Scale, array: &str, seconds: f64, ramp: f64, sample: f64) -> String {
    format!(
        "name = \"random-writes\"\nseed = 1\n{}{array}[volume]\nsize = \"{UTILISATION}% of data\"\n\
         [aging]\nfill = \"100%\"\n[[workload.fio]]\nname = \"random-writes\"\nblock-size = \"8KiB\"\ndepth = 64\n\
         [run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
        drives(scale),
        scale.seconds(seconds),
        scale.seconds(ramp),
        scale.seconds(sample)
    )
}

/// Two hours in the paper; after this much of it every scheme has been through its space several times.
const SECONDS: f64 = 4000.0;
/// Cleaning has begun by then: one capacity of the array at the rate of a front-end of two drives is 1200 s.
const RAMP: f64 = 1600.0;
/// Distance of the samples in the paper's time.
const SAMPLE: f64 = 20.0;

/// [`random_writes`] for as long as most figures look at them, measured after cleaning has begun.
pub fn writes_after_cleaning_began(scale: Scale, array: &str) -> String {
    random_writes(scale, array, SECONDS, RAMP, SAMPLE)
}

/// The two schemes that several figures set side by side on eight drives, with [`writes_after_cleaning_began`].
pub fn log_raid0_and_swan0(scale: Scale) -> Vec<Trial> {
    let trial = |name, scheme, array: String| Trial::new(name, scheme, writes_after_cleaning_began(scale, &array));
    vec![trial("Log-RAID0", Scheme::LogRaid, log_raid0(8)), trial("SWAN0 4R-2SSD", Scheme::Swan, swan0(4, 2))]
}

/// User writes over the paper's time: seconds and MB/s.
pub fn writes_over_time(scale: Scale, outcome: &Outcome) -> Vec<(f64, f64)> {
    over_time(scale, outcome, |sample| rate(sample.writes[1], sample.span_ns))
}

/// Legend of a time axis.
pub const TIME: &str = "time, as in the paper (s)";

/// Something of each sample over the paper's time.
pub fn over_time(scale: Scale, outcome: &Outcome, value: impl Fn(&crate::Sample) -> f64) -> Vec<(f64, f64)> {
    outcome.samples.iter().map(|sample| (scale.papers_seconds(sample.at_ns), value(sample))).collect()
}

/// Bytes in an interval as MB/s.
pub fn rate(bytes: u64, span_ns: u64) -> f64 {
    per_second(bytes, span_ns) as f64 / 1e6
}

/// User writes in MB/s.
pub fn written(trialled: &Trialled) -> f64 {
    trialled.outcome.write_bytes_per_second as f64 / 1e6
}

/// Coefficient of variation of the throughput, in percent.
pub fn variation(trialled: &Trialled) -> f64 {
    trialled.outcome.throughput_variation_milli as f64 / 10.0
}
