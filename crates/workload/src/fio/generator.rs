//! One client of a job.

use super::Job;
use super::place::Place;
use crate::arrivals::Clock;
use crate::{Kind, Request, Schedule, Source};
use cygnus_runtime::Rng;
use std::ops::Range;

#[derive(Debug)]
pub(super) struct Generator {
    job: Job,
    name: String,
    label: u16,
    footprint: Range<u64>,
    place: Place,
    clock: Option<Clock>,
    rng: Rng,
    total_weight: u64,
    requests: u64,
    bytes: u64,
    writes_since_flush: u64,
}

impl Generator {
    /// A client of a checked job. `places` decides where hot places are, `rng` everything else.
    pub(super) fn new(job: &Job, name: &str, label: u16, volume_size: u64, mut places: Rng, rng: Rng) -> Generator {
        let footprint = job.footprint(volume_size);
        Generator {
            place: Place::new(job, footprint.clone(), &mut places),
            name: name.into(),
            label,
            footprint,
            clock: job.rate.map(Clock::new),
            rng,
            total_weight: job.block_size.0.iter().map(|&(_, weight)| u64::from(weight)).sum(),
            requests: 0,
            bytes: 0,
            writes_since_flush: 0,
            job: job.clone(),
        }
    }

    fn exhausted(&self) -> bool {
        self.job.requests.is_some_and(|limit| self.requests >= limit)
            || self.job.bytes.is_some_and(|limit| self.bytes >= limit.0)
    }

    fn kind(&mut self) -> Kind {
        let (reads, trims, zeroes) = (self.job.read.share(), self.job.trim.share(), self.job.write_zeroes.share());
        match self.rng.unit() {
            x if x < reads => Kind::Read,
            x if x < reads + trims => Kind::Trim,
            x if x < reads + trims + zeroes => Kind::WriteZeroes,
            _ => Kind::Write,
        }
    }

    fn len(&mut self) -> u32 {
        let mut draw = self.rng.below(self.total_weight);
        for &(size, weight) in &self.job.block_size.0 {
            match draw.checked_sub(weight.into()) {
                Some(rest) => draw = rest,
                None => return size.0 as u32,
            }
        }
        unreachable!("the draw is below the sum of the weights")
    }
}

impl Source for Generator {
    fn next(&mut self) -> Option<Request> {
        if self.job.flush_every > 0 && self.writes_since_flush == self.job.flush_every {
            self.writes_since_flush = 0;
            let arrival = self.clock.as_ref().map(Clock::now);
            return Some(Request { arrival, ..Request::flush(self.label) });
        }
        if self.exhausted() {
            return None;
        }
        let (kind, len) = (self.kind(), self.len());
        let offset = self.place.next(len.into(), &mut self.rng);
        let arrival = self.clock.as_mut().map(|clock| clock.arrival(len, &mut self.rng));
        self.requests += 1;
        self.bytes += u64::from(len);
        self.writes_since_flush += u64::from(kind == Kind::Write);
        let fua = self.job.fua && kind == Kind::Write;
        Some(Request { kind, offset, len, arrival, fua, job: self.label })
    }

    fn depth(&self) -> u32 {
        self.job.depth()
    }

    fn footprint(&self) -> Range<u64> {
        self.footprint.clone()
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            delay: self.job.after.0,
            ramp: self.job.ramp.0,
            duration: self.job.duration.map(|duration| duration.0),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }
}
