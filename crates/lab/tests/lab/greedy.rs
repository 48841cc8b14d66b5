//! What cleaning writes under uniform random writes, beside theory.
//!
//! Of greedy cleaning Desnoyers ("Analytic Modeling of SSD Write Performance", SYSTOR 2012, equations 4 and 12; ACM TOS 10(2), 2014) has
//! the write amplification
//!
//! ```text
//! A = L(k a) / k,   k = 1 + 1 / 2N,   L(a) = a / (a + W(-a e^-a)),   a = T / U
//! ```
//!
//! for U blocks of data in segments of N blocks with T blocks together, W being Lambert's function. L is what cleaning the oldest segment
//! costs, and what greedy comes to as segments grow (Bux and Iliadis, Performance Evaluation 67, 2010). It is 1 / (1 - x) for the share x of a
//! victim that is valid, and x solves 1 / a = (x - 1) / ln x, Menon's equation for log-structured arrays, which the planner has.
//!
//! The model writes into a segment as soon as it was emptied. An array does not: some segments are free, some were emptied and wait for the next flush, some hold
//! checkpoints. T is without these, as in the simulator of the same paper, which adds its free list to T. The samples have counted them. The
//! bound was set before the first run and is the same for each utilisation. The test prints what theory would have if all segments took
//! part, too: docs/lab/cleaning-rules.md says what the difference comes from.

use cygnus_lab::{Outcome, Sample, Scenario, run};
use cygnus_policy::planner::valid_share;

/// What the measured amplification may differ from theory, as a fraction of it.
const BOUND: f64 = 0.10;
/// Volumes in percent of the drives.
const PERCENTS: [u32; 3] = [50, 65, 78];
/// Segments of the array: 256 KiB on each drive, behind the first 2 MiB.
const SEGMENTS: f64 = 1016.0;
/// Blocks of data in a segment: of 64 rows of two columns two hold headers.
const SEGMENT_BLOCKS: f64 = 124.0;
const RAMP_NS: u64 = 300_000_000;

fn outcome(percent: u32) -> Outcome {
    let text = format!(
        "name = \"greedy\"\n[devices]\npreset = \"null\"\ncapacity = \"256MiB\"\n\
         [[array]]\npreset = \"log-raid\"\nraid = \"2+0\"\nchunk = \"4KiB\"\nstripe-rows = 31\nsegment = \"256KiB\"\n\
         over-provision = 10.0\ncleaning = \"greedy\"\nstreams = \"together\"\n\
         [volume]\nsize = \"{percent}% of data\"\n[aging]\nfill = \"100%\"\noverwrite = 2.0\n\
         [[workload.fio]]\ndepth = 32\n[run]\nduration = \"1s\"\nramp = \"300ms\"\nsample = \"10ms\"\n"
    );
    let scenario = Scenario::parse("greedy.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// Theory's amplification for so many blocks of data in so much space.
fn theory(space: f64, data: f64) -> f64 {
    let k = 1.0 + 1.0 / (2.0 * SEGMENT_BLOCKS);
    1.0 / (1.0 - valid_share(data / (k * space))) / k
}

#[test]
fn greedy_cleaning_of_uniform_writes_costs_what_theory_says() {
    let mut outside = Vec::new();
    for percent in PERCENTS {
        let outcome = outcome(percent);
        let measured: Vec<&Sample> = outcome.samples.iter().filter(|sample| sample.at_ns > RAMP_NS).collect();
        let sum = |of: fn(&Sample) -> u64| measured.iter().map(|sample| of(sample)).sum::<u64>() as f64;
        let (written, moved) = (sum(|sample| sample.user_blocks), sum(|sample| sample.moved_blocks));
        let (data, segments) =
            (outcome.volume_bytes as f64 / 4096.0, sum(|sample| sample.data_segments) / measured.len() as f64);
        assert!(
            written > data,
            "{percent} %: {written} blocks written to a volume of {data} are too few to tell anything"
        );
        let amplification = (written + moved) / written;
        let expected = theory(segments * SEGMENT_BLOCKS, data);
        let difference = amplification / expected - 1.0;
        println!(
            "volume of {percent} % of the drives: {amplification:.3}; theory {expected:.3} for the {segments:.1} segments with data, \
             difference {:.1} %; theory for all {SEGMENTS} segments {:.3}",
            100.0 * difference,
            theory(SEGMENTS * SEGMENT_BLOCKS, data)
        );
        if difference.abs() > BOUND {
            outside.push(format!("{percent} %: {amplification:.3} in place of {expected:.3}"));
        }
    }
    assert!(outside.is_empty(), "{}", outside.join("; "));
}

#[test]
fn the_formula_is_that_of_the_paper() {
    // Lambert's W by its definition: w e^w = -a e^-a.
    for a in [1.05_f64, 1.2, 1.5, 2.0] {
        let x = valid_share(1.0 / a);
        let w = -a * x;
        assert!((w * w.exp() + a * (-a).exp()).abs() < 1e-9, "{a}");
        assert!((a / (a + w) - 1.0 / (1.0 - x)).abs() < 1e-9, "{a}");
    }
}
