//! What a scenario file says about its workload.

use crate::{Job, Source, WorkloadError};
use cygnus_runtime::Rng;
use serde::Deserialize;

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
}

impl WorkloadConfig {
    /// The clients of this workload on a volume of `volume_size` bytes. Equal configurations, sizes and seeds give
    /// equal requests.
    ///
    /// # Errors
    /// When settings contradict one another or do not fit into the volume.
    pub fn build(&self, volume_size: u64, seed: u64) -> Result<Vec<Box<dyn Source>>, WorkloadError> {
        let mut seeds = Rng::new(seed);
        match self {
            Self::Fio(jobs) => crate::fio::build(jobs, volume_size, &mut seeds),
        }
    }
}
