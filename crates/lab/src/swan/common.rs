//! What SWAN's experiments have in common.

use crate::chart::Scheme;
use crate::experiment::{Findings, Scale, Trial, Trialled};
use crate::outcome::percent;
use crate::outcome::{Outcome, Sample};
use crate::series::{over_time, rate};

/// The modelled drive's blocks per die, and pages per block.
const BLOCKS: f64 = 1502.0;
const PAGES: u32 = 256;

/// The `[devices]` section.
pub fn drives(scale: Scale) -> String {
    scale.devices("850-pro", BLOCKS, PAGES)
}

/// The same with random data in 60 % of the blocks, which arrays know nothing of (section 5).
pub fn aged_drives(scale: Scale) -> String {
    drives(scale).replacen("scale =", "precondition = \"random\"\nprecondition-share = \"60%\"\nscale =", 1)
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

/// Two hours, as the paper has it (80 minutes in Figure 7). What SWAN's victims hold settles only in the second one: within
/// the first its cleaning still lives on segments that have lain long.
pub const SECONDS: f64 = 7200.0;
/// Every scheme has been through its space several times by then: an array of eight drives takes 1200 s of writes at the
/// rate of two.
pub const RAMP: f64 = 3600.0;
/// Distance of the samples in the paper's time.
const SAMPLE: f64 = 20.0;

/// 8 KiB random writes to an empty volume of 60 % of the array's space. As in section 5, each drive has random data in
/// 60 % of its blocks before the array is made, and the array knows nothing of them; what is measured comes after [`RAMP`].
pub fn random_writes(scale: Scale, array: &str) -> String {
    random_writes_to(scale, array, UTILISATION)
}

/// [`random_writes`] to another share of the array.
pub fn random_writes_to(scale: Scale, array: &str, percent: u32) -> String {
    format!(
        "name = \"random-writes\"\nseed = 1\n{}{array}[volume]\nsize = \"{percent}% of data\"\n\
         [[workload.fio]]\nname = \"random-writes\"\nblock-size = \"8KiB\"\ndepth = 64\n\
         [run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
        aged_drives(scale),
        scale.seconds(SECONDS),
        scale.seconds(RAMP),
        scale.seconds(SAMPLE)
    )
}

/// A trial of [`random_writes`] with samples so many of the paper's seconds apart.
pub fn sampled(scale: Scale, of: &Trial, seconds: f64) -> Trial {
    let sample = |seconds| format!("sample = \"{}\"\n", scale.seconds(seconds));
    Trial { scenario: of.scenario.replacen(&sample(SAMPLE), &sample(seconds), 1), ..of.clone() }
}

/// The second half: cleaning goes on.
pub fn settled(outcome: &Outcome) -> &[Sample] {
    &outcome.samples[outcome.samples.len() / 2..]
}

/// A trial of SWAN0 as section 3 has it: one back-end group is cleaned at a time. The preset by itself cleans a second one beside it where
/// one at a time might be late.
pub fn one_group_at_a_time(of: &Trial) -> Trial {
    const PRESET: &str = "preset = \"swan\"\n";
    let scenario = of.scenario.replacen(PRESET, &format!("{PRESET}one-group-at-a-time = true\n"), 1);
    Trial { scenario, ..of.clone() }
}

/// What a figure says that has [`turn`].
pub const TURNS: &str = "One group is cleaned at a time, as in section 3 (the preset by itself cleans a second one beside it where one at a time might be late). \
    By section 3.5 all S segments of a group are cleaned before it is the front-end again, so that its turn lasts until S(1-u) has been written, \
    where u is the valid share. Here a turn ends once 8 % of the next group is free: the numbers have both lengths.";

/// How long a group is the front-end once cleaning goes on: as measured, and what section 3.5 says, S(1-u) at the rate at which clients write
/// then, of groups of `width` data drives.
pub fn turn(scale: Scale, outcome: &Outcome, width: u64, found: &mut Findings) {
    let sum = |of: fn(&Sample) -> u64| settled(outcome).iter().map(of).sum::<u64>() as f64;
    let valid = sum(|sample| sample.victims[0]) / sum(|sample| sample.victims[1]);
    let free = (outcome.drive_bytes * width) as f64 * (1.0 - valid);
    let seconds = scale.papers_seconds(settled(outcome).iter().map(|sample| sample.span_ns).sum());
    let lasts = seconds / sum(|sample| sample.rotations);
    let papers = seconds * free / sum(|sample| sample.writes[1]);
    found.number("a turn as front-end lasts", "s", lasts);
    found.number("S(1-u) / rate, a turn of section 3.5", "s", papers);
    found.number("a turn / a turn of section 3.5", "", lasts / papers);
    found.number("segments cleaned in a second group beside the first", "", outcome.victims_beside as f64);
}

/// A trial on drives that take writes at 140 MB/s, the rate that section 1 gives for each, and are otherwise the same.
pub fn drives_of_140(of: &Trial) -> Trial {
    let slow = "[devices]\noverride.ssd.host = { write_rate = \"140MB\" }\n";
    let name = format!("{}, drives of 140 MB/s", of.name);
    Trial::new(&name, of.scheme, of.scenario.replacen("[devices]\n", slow, 1))
}

/// The two schemes that several figures set side by side on eight drives, with [`random_writes`].
pub fn log_raid0_and_swan0(scale: Scale) -> Vec<Trial> {
    let trial = |name, scheme, array: String| Trial::new(name, scheme, random_writes(scale, &array));
    vec![trial("Log-RAID0", Scheme::LogRaid, log_raid0(8)), trial("SWAN0 4R-2SSD", Scheme::Swan, swan0(4, 2))]
}

/// User writes over the paper's time: seconds and MB/s.
pub fn writes_over_time(scale: Scale, outcome: &Outcome) -> Vec<(f64, f64)> {
    over_time(scale, outcome, |sample| rate(sample.writes[1], sample.span_ns))
}

/// User writes in MB/s.
pub fn written(trialled: &Trialled) -> f64 {
    trialled.outcome.write_rate() / 1e6
}

/// Coefficient of variation of the throughput, in percent.
pub fn variation(trialled: &Trialled) -> f64 {
    percent(trialled.outcome.throughput_variation_milli)
}
