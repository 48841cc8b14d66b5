//! What a scenario file says about its workload.

use crate::kv::Ycsb;
use crate::synth::SynthConfig;
use crate::trace::ReplayConfig;
use crate::{Job, Objects, Source, WorkloadError};
use cygnus_runtime::Rng;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// A workload: clients of one kind or of several, side by side. In TOML each kind is a table, so that errors point at the line that is
/// wrong:
///
/// ```toml
/// [[workload.fio]]
/// pattern = "random"
/// block-size = "4KiB"
/// read = 70
/// depth = 32
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadConfig {
    /// Jobs in the manner of fio.
    pub fio: Vec<Job>,
    /// YCSB's workloads on key-value stores.
    pub ycsb: Vec<Ycsb>,
    /// An object server on a file system.
    pub objects: Option<Objects>,
    /// A block trace, played again.
    pub replay: Option<ReplayConfig>,
    /// Requests with the published statistics of a trace that is not to be had.
    pub synth: Option<SynthConfig>,
}

impl WorkloadConfig {
    /// Makes paths relative to `directory`, the one of the file that this came from.
    pub fn relative_to(&mut self, directory: &Path) {
        if let Some(ReplayConfig { file: Some(file), .. }) = &mut self.replay {
            *file = directory.join(&*file);
        }
    }

    /// The file of requests that it plays, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.replay.as_ref().and_then(|replay| replay.file.as_deref())
    }

    /// Finds settings that contradict themselves or one another, whatever the size of the volume. No trace is read.
    ///
    /// # Errors
    /// With the name of the job or source.
    pub fn check(&self) -> Result<(), WorkloadError> {
        self.check_names()?;
        crate::fio::check(&self.fio)?;
        self.ycsb.iter().try_for_each(Ycsb::check)?;
        self.objects.as_ref().map_or(Ok(()), Objects::check)?;
        self.replay.as_ref().map_or(Ok(()), ReplayConfig::check)?;
        self.synth.as_ref().map_or(Ok(()), SynthConfig::check)
    }

    /// Refuses jobs and stores of one name, whose results nobody could tell apart.
    fn check_names(&self) -> Result<(), WorkloadError> {
        let mut known = BTreeSet::new();
        let jobs = self.fio.iter().enumerate().map(|(n, job)| job.name(n));
        match jobs.chain(self.ycsb.iter().map(Ycsb::name)).find(|name| !known.insert(name.clone())) {
            Some(name) => {
                let why =
                    "two jobs have this name, and results could not be told apart: give one of them another name = ...";
                Err(WorkloadError::setting(&name, why))
            }
            None => Ok(()),
        }
    }

    /// The clients of this workload on a volume of `volume_size` bytes. Equal configurations, sizes and seeds give
    /// equal requests.
    ///
    /// # Errors
    /// When settings contradict one another or do not fit into the volume.
    pub fn build(&self, volume_size: u64, seed: u64) -> Result<Vec<Box<dyn Source>>, WorkloadError> {
        self.check_names()?;
        let (mut seeds, mut sources) = (Rng::new(seed), Vec::new());
        if !self.fio.is_empty() {
            sources.extend(crate::fio::build(&self.fio, volume_size, &mut seeds)?);
        }
        if !self.ycsb.is_empty() {
            sources.extend(crate::kv::build(&self.ycsb, volume_size, &mut seeds)?);
        }
        if let Some(objects) = &self.objects {
            sources.extend(crate::objects::build(objects, volume_size, &mut seeds)?);
        }
        if let Some(replay) = &self.replay {
            sources.push(replay.build(volume_size)?);
        }
        if let Some(synth) = &self.synth {
            sources.push(synth.build(volume_size, seeds)?);
        }
        match sources.is_empty() {
            true => Err(WorkloadError::setting("workload", "there is none: add a [[workload.fio]] table")),
            false => Ok(sources),
        }
    }
}
