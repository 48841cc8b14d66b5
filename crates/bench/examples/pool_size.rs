//! What it costs to fill a segment, in pools of more and more segments: it should cost the same in all of them.
//!
//! The engine runs in virtual time on drives without flash, under random overwrites that keep cleaning busy. Simulation costs
//! the same per block in each pool, so what grows from line to line is what the engine does per segment of the pool (and
//! what the processor's caches miss).

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::{Duration, Instant};

use cygnus_lab::{Progress, Scenario};
use cygnus_types::BLOCK;

/// Data and parity columns.
const SHAPE: (u64, u64) = (2, 1);
/// Bytes of a column of a segment: the least, so that a pool of many segments is small.
const COLUMN: u64 = 256 << 10;
/// Segments of the pools.
const POOLS: [u64; 3] = [4_000, 16_000, 40_000];

fn main() -> Result<(), Box<dyn Error>> {
    for (preset, groups) in [("log-raid", 1), ("swan", 4)] {
        for segments in POOLS {
            let (spent, filled) = fill(preset, groups, segments)?;
            let each = spent.as_secs_f64() * 1e6 / filled;
            println!("{preset:9} {segments:6} segments: {each:7.1} us for each of {filled:.0} segments filled");
        }
    }
    Ok(())
}

/// Time that the measured part took, and segments that it filled.
fn fill(preset: &str, groups: u64, segments: u64) -> Result<(Duration, f64), Box<dyn Error>> {
    let (k, m) = SHAPE;
    let capacity = segments / groups * COLUMN + (64 << 20);
    let text = format!(
        "name = \"pool\"\n[devices]\npreset = \"null\"\ncapacity = {capacity}\n\
         [[array]]\npreset = \"{preset}\"\nraid = \"{k}+{m}\"\ngroups = {groups}\nsegment = \"{}KiB\"\n\
         [volume]\nsize = \"75% of data\"\n[aging]\nfill = \"100%\"\noverwrite = 0.5\n\
         [[workload.fio]]\ndepth = 64\n[run]\nduration = \"1s\"\nsample = \"50ms\"\n",
        COLUMN >> 10,
    );
    let scenario = Scenario::parse("pool", &text)?;
    let marks = Rc::new(RefCell::new((None, Instant::now())));
    let seen = marks.clone();
    let outcome = cygnus_lab::run(&scenario, 0, scenario.seed(), move |progress| {
        if let Progress::Running(_) = progress {
            let now = Instant::now();
            let mut marks = seen.borrow_mut();
            marks.0.get_or_insert(now);
            marks.1 = now;
        }
    })?;
    let (first, last) = *marks.borrow();
    let spent = first.map_or(Duration::ZERO, |first| last - first);
    // The first sample is what was counted before the first mark.
    let written: u64 = outcome.samples.iter().skip(1).map(|sample| sample.writes[0]).sum();
    let placed = written as f64 * cygnus_lab::ratio(outcome.cleaning_amplification_milli);
    Ok((spent, placed / (k * COLUMN / BLOCK as u64) as f64))
}
