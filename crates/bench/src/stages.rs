//! What the parts of an operation cost, found by leaving out one after the other.
//!
//! Each part is the difference of two runs, one with it and one without, everything else being the same code with the
//! same requests. So the parts add up to the whole by construction, and what is uncertain is how much belongs to which:
//! all runs are repeated in turn, and each part is given with half the distance of its quartiles.

use cygnus_runtime::{BufPool, Runtime};
use cygnus_types::ReactorId;
use cygnus_uring::Device;
use serde::Serialize;

use crate::engine::{BenchError, EngineOptions, Run, config, on_array};
use crate::null_driver::null_driver;

/// How often each run is repeated.
const ROUNDS: usize = 7;

/// A part of an operation.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// What the part does, in words.
    pub name: &'static str,
    /// Nanoseconds of it in one operation: the median of all rounds.
    pub ns: f64,
    /// Half the distance of the quartiles of the rounds.
    pub uncertain_ns: f64,
}

/// The parts of one kind of operation.
#[derive(Clone, Debug, Serialize)]
pub struct Stages {
    /// "write" or "read": 4 KiB, random, devices in memory.
    pub operation: &'static str,
    /// The parts, in the order in which an operation goes through them.
    pub stages: Vec<Stage>,
    /// Median of the whole, in nanoseconds. The medians of the parts need not add up to it exactly.
    pub total_ns: f64,
}

/// Nanoseconds per operation of one round: everything, and with more and more left out.
#[derive(Clone, Copy)]
struct Round {
    write: [f64; 5],
    read: [f64; 4],
}

/// Measures the parts of a write and of a read; `progress` is told what begins.
///
/// # Errors
/// See [`BenchError`].
pub fn run_stages(options: &EngineOptions, progress: impl Fn(&str)) -> Result<Vec<Stages>, BenchError> {
    let mut rounds = Vec::new();
    for n in 1..=ROUNDS {
        progress(&format!("stages, round {n} of {ROUNDS}"));
        rounds.push(round(options)?);
    }
    let writes = ["devices' copies", "parity", "copy into the stripe, checksum", WAY_OF_A_WRITE, HARNESS];
    let reads = ["device's copy, submission", "checksum, copy", WAY_OF_A_READ, HARNESS];
    Ok(vec![
        stages("write", &writes, &rounds.iter().map(|r| &r.write[..]).collect::<Vec<_>>()),
        stages("read", &reads, &rounds.iter().map(|r| &r.read[..]).collect::<Vec<_>>()),
    ])
}

const WAY_OF_A_WRITE: &str = "map, order, headers, columns";
const WAY_OF_A_READ: &str = "map, operation, watch";
const HARNESS: &str = "the benchmark itself";

fn round(options: &EngineOptions) -> Result<Round, BenchError> {
    let bare = EngineOptions { parity: 0, ..options.clone() };
    let (mut nothing, mut memory) = (0.0, (0.0, 0.0));
    let config = config(options, |n| Device::memory(&format!("memory{n}"), options.device.0, true))?;
    cygnus_uring::block_on(&config, async |reactor| {
        on_array(&reactor.rt, &reactor.devices, options, async |run| {
            memory = both(run).await?;
            nothing = run.load.nothing(run.load.volume_blocks()).await?;
            Ok(())
        })
        .await
    })??;
    let (null, without_parity, blank) = (null(options, false)?, null(&bare, false)?, null(&bare, true)?);
    Ok(Round {
        write: [memory.0, null.0, without_parity.0, blank.0, nothing],
        read: [memory.1, without_parity.1, blank.1, nothing],
    })
}

/// Nanoseconds of a write and of a read.
async fn both(run: &Run) -> Result<(f64, f64), BenchError> {
    let write = run.load.random_writes(run.load.volume_blocks() / 2).await?;
    Ok((write, run.load.random_reads(run.load.volume_blocks() / 2).await?))
}

/// On devices that do nothing; with `blank`, of data that is known to be zeros and so is neither copied nor summed up.
fn null(options: &EngineOptions, blank: bool) -> Result<(f64, f64), BenchError> {
    let width = usize::from(options.data) + usize::from(options.parity);
    let (driver, devices) = null_driver(width, options.device.0);
    let pool = if blank { BufPool::blank() } else { BufPool::new(16 << 20) };
    let rt = Runtime::new(ReactorId(0), Box::new(driver), pool, 0);
    let mut found = (0.0, 0.0);
    rt.run(on_array(&rt, &devices, options, async |run| {
        found = both(run).await?;
        Ok(())
    }))
    .map_err(|halt| BenchError::System(std::io::Error::other(halt)))??;
    rt.drop_tasks();
    Ok(found)
}

/// The differences of neighbours, over all rounds.
fn stages(operation: &'static str, names: &[&'static str], rounds: &[&[f64]]) -> Stages {
    let part = |n: usize| -> Vec<f64> {
        rounds.iter().map(|round| round[n] - round.get(n + 1).copied().unwrap_or(0.0)).collect()
    };
    let stage = |(n, &name): (usize, &&'static str)| {
        let (ns, uncertain_ns) = middle(part(n));
        Stage { name, ns, uncertain_ns }
    };
    let (total_ns, _) = middle(rounds.iter().map(|round| round[0]).collect());
    Stages { operation, stages: names.iter().enumerate().map(stage).collect(), total_ns }
}

/// Median, and half the distance of the quartiles.
fn middle(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
    (at(2), (at(3) - at(1)) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_types::ByteSize;

    #[test]
    fn parts_are_the_differences_of_what_is_left() {
        let rounds = [[100.0, 60.0, 10.0], [104.0, 60.0, 12.0], [96.0, 62.0, 11.0]];
        let stages = stages("write", &["a", "b", "c"], &rounds.iter().map(|r| &r[..]).collect::<Vec<_>>());
        let medians: Vec<f64> = stages.stages.iter().map(|stage| stage.ns).collect();
        assert_eq!((medians, stages.total_ns), (vec![40.0, 50.0, 11.0], 100.0));
        assert_eq!(stages.stages[0].uncertain_ns, 3.0);
    }

    #[test]
    fn a_round_runs() {
        let device = ByteSize(32 << 20);
        let options = EngineOptions { data: 2, device, pin: false, ..EngineOptions::default() };
        let found = round(&options).unwrap();
        assert!(found.write.iter().chain(&found.read).all(|&ns| ns > 0.0));
    }
}
