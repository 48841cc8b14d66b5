//! What SALSA's experiments have in common.

use crate::chart::Scheme;
use crate::experiment::{Scale, Trialled};
use crate::outcome::ratio;

/// Blocks per die of the modelled drive, and pages of each.
const BLOCKS: f64 = 1366.0;
const PAGES: u32 = 384;

/// How much smaller drives are: a die keeps 85 blocks, as in the drive's calibration.
pub const DIVISOR: f64 = 128.0;
/// Seeds of the experiments that take minutes.
pub const SEEDS: u32 = 5;

/// Colours of the drive as it is, and of SALSA.
pub const RAW: Scheme = Scheme::Raw;
pub const SALSA: Scheme = Scheme::LogRaid;

/// The `[devices]` section.
pub fn drives(scale: Scale) -> String {
    scale.devices("850-evo", BLOCKS, PAGES)
}

/// A drive as it is.
pub fn raw() -> String {
    "[[array]]\npreset = \"raid0\"\ndrives = 1\n".into()
}

/// SALSA on drives with data and parity: segments of 1 GiB, and what describes them once for each 512 blocks of data (sections 3.1, 3.4).
pub fn salsa(scale: Scale, data: u32, parity: u32) -> String {
    let segment = (1024.0 * 1024.0 / scale.divisor()) as u64 / 4 * 4;
    format!(
        "[[array]]\npreset = \"salsa\"\nraid = \"{data}+{parity}\"\nsegment = \"{segment}KiB\"\nstripe-rows = 512\n\
         over-provision = 5\n"
    )
}

/// The `[devices]` section of the paper's shingled disk. Its bands and its buffer keep their size at any scale.
pub fn disk(scale: Scale) -> String {
    format!("[devices]\npreset = \"seagate-smr-8tb\"\nscale = {:?}\n", scale.divisor())
}

/// SALSA on a disk, with segments of full size: on smaller ones ends of segments, which share a band, would count for more.
pub fn salsa_on_disk() -> String {
    format!("[[array]]\npreset = \"salsa\"\nraid = \"1+0\"\n{SEGMENTS}over-provision = 5\n")
}

/// Segments of 1 GiB, and what describes them once for each 512 blocks of data (sections 3.1, 3.4).
const SEGMENTS: &str = "segment = \"1GiB\"\nstripe-rows = 512\n";

/// A volume of 80 % of the space, as all SSDs have it here (section 5.1.1).
pub const VOLUME: &str = "[volume]\nsize = \"80% of data\"\n";

/// What the paper does before it measures: all of the volume is written in order and then once at random (section 5.1.1).
pub const PRECONDITIONED: &str = "[aging]\nfill = \"100%\"\noverwrite = 1\n";

/// The `[run]` section, of so many seconds here; the first fifth is not measured.
pub fn run(seconds: u32) -> String {
    format!("[run]\nduration = \"{seconds}s\"\nramp = \"{}ms\"\nsample = \"200ms\"\n", seconds * 200)
}

/// Bytes in MiB.
fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

/// Bytes of a span in MiB/s; no number if it has no length.
pub fn mib_per_second(bytes: u64, span_ns: u64) -> f64 {
    mib(bytes as f64) / (span_ns as f64 / 1e9)
}

/// Clients' writes in MiB/s.
pub fn written(trialled: &Trialled) -> f64 {
    mib(trialled.outcome.write_rate())
}

/// Clients' reads in MiB/s.
pub fn read(trialled: &Trialled) -> f64 {
    mib(trialled.outcome.read_rate())
}

/// Blocks sent to drives for each block that clients wrote.
pub fn amplification(trialled: &Trialled) -> f64 {
    ratio(trialled.outcome.array_write_amplification_milli)
}

/// Pages of flash programmed for each page sent to drives, those of a drive's own map included.
pub fn drive_amplification(trialled: &Trialled) -> f64 {
    ratio(trialled.outcome.drive_write_amplification_milli)
}
