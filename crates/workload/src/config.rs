//! What a scenario file says about its workload.

use crate::kv::Ycsb;
use crate::synth::SynthConfig;
use crate::trace::ReplayConfig;
use crate::{Job, Objects, Source, WorkloadError};
use cygnus_runtime::Rng;
use serde::Deserialize;
use std::path::Path;

/// A workload. In TOML the variant is the table's name, so that errors point at the line that is wrong:
///
/// ```toml
/// [[workload.fio]]
/// pattern = "random"
/// block-size = "4KiB"
/// read = 70
/// depth = 32
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadConfig {
    /// Jobs in the manner of fio, side by side.
    Fio(Vec<Job>),
    /// YCSB's workloads on key-value stores, side by side.
    Ycsb(Vec<Ycsb>),
    /// An object server on a file system.
    Objects(Objects),
    /// A block trace, played again.
    Replay(ReplayConfig),
    /// Requests with the published statistics of a trace that is not to be had.
    Synth(SynthConfig),
}

impl WorkloadConfig {
    /// Makes paths relative to `directory`, the one of the file that this came from.
    pub fn relative_to(&mut self, directory: &Path) {
        if let Self::Replay(ReplayConfig { file: Some(file), .. }) = self {
            *file = directory.join(&*file);
        }
    }

    /// The file of requests that it plays, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Replay(replay) => replay.file.as_deref(),
            _ => None,
        }
    }

    /// The clients of this workload on a volume of `volume_size` bytes. Equal configurations, sizes and seeds give
    /// equal requests.
    ///
    /// # Errors
    /// When settings contradict one another or do not fit into the volume.
    pub fn build(&self, volume_size: u64, seed: u64) -> Result<Vec<Box<dyn Source>>, WorkloadError> {
        let mut seeds = Rng::new(seed);
        match self {
            Self::Fio(jobs) => crate::fio::build(jobs, volume_size, &mut seeds),
            Self::Ycsb(stores) => crate::kv::build(stores, volume_size, &mut seeds),
            Self::Objects(objects) => crate::objects::build(objects, volume_size, &mut seeds),
            Self::Replay(replay) => Ok(vec![replay.build(volume_size)?]),
            Self::Synth(synth) => Ok(vec![synth.build(volume_size, seeds)?]),
        }
    }
}
