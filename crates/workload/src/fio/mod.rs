//! Jobs in the manner of fio: a pattern, sizes, a mix of reads and writes, a depth or a rate, limits.

mod generator;
mod place;

use crate::request::MOST_AT_ONCE;
use crate::values::{BlockSizes, Percent, Size, Span};
use crate::{Distribution, Rate, Source, WorkloadError};
use cygnus_runtime::Rng;
use cygnus_types::{BLOCK, ByteSize};
use generator::Generator;
use serde::Deserialize;
use std::ops::Range;

/// Everything is aligned to this; no disk addresses less.
const SECTOR: u64 = 512;
/// Outstanding requests of an open loop that does not say.
const OPEN_DEPTH: u32 = 1024;
/// No request is longer; NBD and io_uring carry this much.
const LONGEST: u64 = 32 << 20;

/// In which order a job walks its footprint. In TOML `"sequential"`, `"random"`, `"shuffled"`, `{ strided = "1MiB" }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// From its start to its end, over and over.
    Sequential,
    /// Wherever the distribution says.
    #[default]
    Random,
    /// In random order, but every place once before any is visited again. One size of request only.
    Shuffled,
    /// In steps of this many bytes from one request's start to the next; each pass begins where the first request of
    /// the pass before ended.
    Strided(Size),
}

/// A job, and how many clients run it.
///
/// What is neither read nor trimmed nor zeroed is written. Without any limit a job is endless, and the runner's own
/// duration ends it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Job {
    /// For reports; `job0` and so on if it has none.
    pub name: Option<String>,
    /// Clients that do this side by side, each with random choices of its own.
    pub clients: u16,
    /// In which order offsets come: one behind the other, or at random.
    pub pattern: Pattern,
    /// Which places of a random pattern are hot.
    pub distribution: Distribution,
    /// Whether hot places are scattered over the footprint; else they are together.
    pub scramble: bool,
    /// Sizes of requests in bytes, and how often each of them comes.
    pub block_size: BlockSizes,
    /// Offsets are multiples of this; the smallest block size if not given.
    pub align: Option<Size>,
    /// Percent of the requests that are reads.
    pub read: Percent,
    /// Percent of the requests that are trims.
    pub trim: Percent,
    /// Percent of the requests that are writes of zeros.
    pub write_zeroes: Percent,
    /// Writes are durable when they are answered.
    pub fua: bool,
    /// Writes after which a flush follows; 0 for no flushes.
    pub flush_every: u64,
    /// Requests outstanding at once for each client; 1, or 1024 if there is a rate.
    pub depth: Option<u32>,
    /// Open loop: requests of each client arrive at this rate.
    pub rate: Option<Rate>,
    /// Where the footprint begins.
    pub offset: Size,
    /// How long it is; to the volume's end if not given.
    pub size: Option<Size>,
    /// Each client stops after this many requests.
    pub requests: Option<u64>,
    /// Each client stops after this many bytes.
    pub bytes: Option<Size>,
    /// Time from the run's start until clients begin.
    pub after: Span,
    /// Their first part, which is not measured.
    pub ramp: Span,
    /// Clients stop after this much time, the ramp included.
    pub duration: Option<Span>,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            name: None,
            clients: 1,
            pattern: Pattern::default(),
            distribution: Distribution::default(),
            scramble: true,
            block_size: BlockSizes::only(ByteSize(BLOCK as u64)),
            align: None,
            read: Percent(0.0),
            trim: Percent(0.0),
            write_zeroes: Percent(0.0),
            fua: false,
            flush_every: 0,
            depth: None,
            rate: None,
            offset: Size(0),
            size: None,
            requests: None,
            bytes: None,
            after: Span::default(),
            ramp: Span::default(),
            duration: None,
        }
    }
}

impl Job {
    fn depth(&self) -> u32 {
        self.depth.unwrap_or(if self.rate.is_some() { OPEN_DEPTH } else { 1 })
    }

    fn align(&self) -> u64 {
        let smallest = self.block_size.0.iter().map(|(size, _)| size.0).min();
        self.align.map_or(smallest.unwrap_or(SECTOR), |align| align.0)
    }

    fn longest(&self) -> u64 {
        self.block_size.0.iter().map(|(size, _)| size.0).max().unwrap_or(0)
    }

    /// The bytes of a volume that this job may touch.
    fn footprint(&self, volume_size: u64) -> Range<u64> {
        let Size(start) = self.offset;
        start..self.size.map_or(volume_size.max(start), |size| start.saturating_add(size.0))
    }

    /// What reports call the job of that number.
    pub(crate) fn name(&self, number: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("job{number}"))
    }

    /// Finds what contradicts itself on a volume of any size.
    fn check(&self, name: &str) -> Result<(), WorkloadError> {
        let wrong = |what: String| Err(WorkloadError::setting(name, what));
        let sizes = &self.block_size.0;
        if sizes.is_empty() || sizes.iter().all(|&(_, weight)| weight == 0) {
            return wrong("block-size: at least one size needs a weight above 0".into());
        }
        let aligned = |bytes: u64| bytes > 0 && bytes.is_multiple_of(SECTOR);
        if let Some((Size(size), _)) = sizes.iter().find(|(Size(size), _)| !aligned(*size) || *size > LONGEST) {
            return wrong(format!("block-size: {size} is not a multiple of 512 bytes from 512 B to 32 MiB"));
        }
        for (what, is_fine) in [("align", aligned(self.align())), ("offset", self.offset.0.is_multiple_of(SECTOR))] {
            if !is_fine {
                return wrong(format!("{what}: not a multiple of 512 bytes"));
            }
        }
        let reads_and_trims = self.read.0 + self.trim.0 + self.write_zeroes.0;
        if reads_and_trims > 100.0 {
            return wrong(format!("read, trim and write-zeroes are {reads_and_trims} % together, more than 100 %"));
        }
        if self.clients == 0 || self.depth() == 0 {
            return wrong("clients and depth are at least 1".into());
        }
        if u64::from(self.clients) * u64::from(self.depth()) > MOST_AT_ONCE.into() {
            return wrong(format!("clients and depth: at most {MOST_AT_ONCE} requests at once, clients times depth"));
        }
        match self.pattern {
            Pattern::Shuffled if sizes.len() > 1 => {
                return wrong("pattern: \"shuffled\" takes requests of one size; give one block-size".into());
            }
            Pattern::Strided(Size(stride)) if !aligned(stride) => {
                return wrong("pattern: the stride is a multiple of 512 bytes above 0".into());
            }
            _ => {}
        }
        if self.distribution != Distribution::Uniform && self.pattern != Pattern::Random {
            return wrong("distribution: only the random pattern has one; set pattern = \"random\"".into());
        }
        if let Err(error) = self.distribution.check() {
            return wrong(error.to_string());
        }
        if let Some(Err(error)) = self.rate.map(|rate| rate.check()) {
            return wrong(error.to_string());
        }
        if self.duration.is_some_and(|duration| duration <= self.ramp) {
            return wrong("duration: must be longer than ramp, which is part of it".into());
        }
        Ok(())
    }

    /// Finds what does not fit into a volume.
    fn check_fit(&self, name: &str, volume_size: u64) -> Result<(), WorkloadError> {
        let footprint = self.footprint(volume_size);
        if footprint.end > volume_size || footprint.start == volume_size {
            let needs = ByteSize(footprint.end.max(footprint.start.saturating_add(self.longest())));
            return Err(WorkloadError::Volume { name: name.into(), needs, volume: ByteSize(volume_size) });
        }
        if footprint.end - footprint.start < self.longest() {
            let bytes = ByteSize(footprint.end - footprint.start);
            let what = format!("size: a footprint of {bytes} cannot hold a request of {}", ByteSize(self.longest()));
            return Err(WorkloadError::setting(name, what));
        }
        Ok(())
    }
}

/// Finds jobs that contradict themselves.
pub(crate) fn check(jobs: &[Job]) -> Result<(), WorkloadError> {
    jobs.iter().enumerate().try_for_each(|(n, job)| job.check(&job.name(n)))
}

/// The clients of all jobs.
pub(crate) fn build(jobs: &[Job], volume_size: u64, seeds: &mut Rng) -> Result<Vec<Box<dyn Source>>, WorkloadError> {
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let name = job.name(index);
        job.check(&name)?;
        job.check_fit(&name, volume_size)?;
        // The clients of a job share its hot places: the seed of where they are belongs to the job.
        let places = seeds.fork();
        for _ in 0..job.clients {
            let generator = Generator::new(job, &name, index as u16, volume_size, places.clone(), seeds.fork());
            sources.push(Box::new(generator));
        }
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
