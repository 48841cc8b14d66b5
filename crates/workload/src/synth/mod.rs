//! Makes traces up that have the published statistics of real ones, and says so.

mod place;
mod presets;

pub use presets::{PRESETS, Preset, Table, UnknownPreset};

use crate::arrivals::Clock;
use crate::random::chance;
use crate::request::MOST_AT_ONCE;
use crate::{Kind, Rate, Request, Schedule, Size, Source, Span, WorkloadError};
use cygnus_runtime::Rng;
use cygnus_types::ByteSize;
use place::Places;
use serde::Deserialize;
use std::ops::Range;

/// Everything is aligned to this.
const ALIGN: u64 = 4096;
/// The smallest space that still has 64 regions with room for the longest request.
const SMALLEST: u64 = place::REGIONS * (4 << 20);

/// Requests with the statistics of a preset. `[workload.synth]` with at least `preset`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SynthConfig {
    /// The preset's name, such as `scala-afa/prn`.
    pub preset: String,
    /// How many; endless if not given.
    pub requests: Option<u64>,
    /// The address space, from the volume's start; all of it if not given.
    pub size: Option<Size>,
    /// Open loop at this rate; closed loop if not given.
    pub rate: Option<Rate>,
    /// Requests outstanding at once; 32 in the closed loop, 1024 in the open one.
    pub depth: Option<u32>,
    /// The first part of the run, which is not measured.
    #[serde(default)]
    pub ramp: Span,
    /// Stop after this time, the ramp included.
    pub duration: Option<Span>,
}

impl SynthConfig {
    /// A preset without limits, in the closed loop.
    pub fn new(preset: &str) -> SynthConfig {
        SynthConfig {
            preset: preset.into(),
            requests: None,
            size: None,
            rate: None,
            depth: None,
            ramp: Span::default(),
            duration: None,
        }
    }

    /// Finds what contradicts itself on a volume of any size.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let wrong = |what: String| WorkloadError::setting(&self.preset, what);
        self.found()?;
        self.rate.map_or(Ok(()), |rate| rate.check()).map_err(|error| wrong(error.to_string()))?;
        if self.depth == Some(0) {
            return Err(wrong("depth is at least 1".into()));
        }
        if self.depth.is_some_and(|depth| depth > MOST_AT_ONCE) {
            return Err(wrong(format!("depth is at most {MOST_AT_ONCE}")));
        }
        if self.duration.is_some_and(|duration| duration <= self.ramp) {
            return Err(wrong("duration: must be longer than ramp, which is part of it".into()));
        }
        Ok(())
    }

    /// The preset of that name.
    fn found(&self) -> Result<&'static Preset, WorkloadError> {
        Preset::find(&self.preset).map_err(|error| WorkloadError::setting(&self.preset, error.to_string()))
    }

    pub(crate) fn build(&self, volume_size: u64, mut rng: Rng) -> Result<Box<dyn Source>, WorkloadError> {
        self.check()?;
        let preset = self.found()?;
        let size = self.size.map_or(volume_size, |size| size.0);
        if size > volume_size || size < SMALLEST {
            let (name, needs) = (preset.full_name(), ByteSize(size.max(SMALLEST)));
            return Err(WorkloadError::Volume { name, needs, volume: ByteSize(volume_size) });
        }
        Ok(Box::new(Synth {
            places: Places::new(preset, size, &mut rng),
            sizes: [TwoSizes::with_mean(preset.mean_read), TwoSizes::with_mean(preset.mean_write)],
            label: preset.label(),
            clock: self.rate.map(Clock::new),
            left: self.requests,
            size,
            preset,
            config: self.clone(),
            rng,
        }))
    }
}

/// The simplest distribution of sizes with a given mean: the power of two below it, and now and then eight times that.
#[derive(Clone, Copy, Debug)]
struct TwoSizes {
    usual: u64,
    rare: u64,
    rare_share: f64,
}

impl TwoSizes {
    fn with_mean(mean: f64) -> TwoSizes {
        let mean = mean.max(ALIGN as f64);
        let usual = 1_u64 << (mean as u64).ilog2();
        let rare = usual * 8;
        TwoSizes { usual, rare, rare_share: (mean - usual as f64) / (rare - usual) as f64 }
    }

    fn draw(self, rng: &mut Rng) -> u64 {
        if chance(rng, self.rare_share) { self.rare } else { self.usual }
    }
}

struct Synth {
    preset: &'static Preset,
    label: String,
    config: SynthConfig,
    size: u64,
    /// For reads and for writes.
    sizes: [TwoSizes; 2],
    places: Places,
    clock: Option<Clock>,
    left: Option<u64>,
    rng: Rng,
}

impl Source for Synth {
    fn next(&mut self) -> Option<Request> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let read = chance(&mut self.rng, self.preset.read_percent / 100.0);
        let len = self.sizes[usize::from(!read)].draw(&mut self.rng);
        let offset = self.places.next(read, len, &mut self.rng);
        let arrival = self.clock.as_mut().map(|clock| clock.arrival(len as u32, &mut self.rng));
        let kind = if read { Kind::Read } else { Kind::Write };
        Some(Request { arrival, ..Request::new(kind, offset, len as u32, 0) })
    }

    fn depth(&self) -> u32 {
        self.config.depth.unwrap_or(if self.clock.is_some() { 1024 } else { 32 })
    }

    fn footprint(&self) -> Range<u64> {
        0..self.size
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            ramp: self.config.ramp.0,
            duration: self.config.duration.map(|duration| duration.0),
            ..Schedule::default()
        }
    }

    fn name(&self) -> &str {
        &self.label
    }
}

#[cfg(test)]
mod tests;
