//! What a trace is like: mix, sizes, randomness, footprint, hot places, arrivals.

mod gaps;
mod heat;
mod runs;

use crate::Kind;
use crate::trace::Record;
use gaps::Gaps;
use heat::Heat;
use runs::Runs;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

pub use gaps::GapStat;
pub use heat::{Footprint, HotShare, REGIONS, Reuse};

/// The description of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Stat {
    /// Requests of any kind.
    pub requests: u64,
    /// Seconds from the first arrival to the last.
    pub duration_seconds: f64,
    /// How many disks, LUNs or volumes it names.
    pub volumes: u64,
    /// Each kind of request that occurs.
    pub kinds: Vec<KindStat>,
    /// How large requests are, smallest first.
    pub sizes: Vec<SizeBucket>,
    /// What it touches, by reads and writes.
    pub footprint: Footprint,
    /// How much goes to the hottest blocks; empty if nothing is read or written, here and in the next one.
    pub hot: Vec<HotShare>,
    /// Percent of the block accesses that go to each sixty-fourth of the address space, the busiest first. The volumes
    /// stand one behind the other.
    pub regions_percent: Vec<f64>,
    /// What is touched more than once.
    pub reuse: Reuse,
    /// Requests per second, on average: those after the first, over the time from the first arrival to the last. There is one gap
    /// less than there are requests, and this is one by the mean gap. Nothing if all arrive at once.
    pub mean_iops: Option<f64>,
    /// Requests within the busiest second, seconds counted from the first arrival. It is a count and no rate: less than the mean
    /// rate if the trace is shorter than a second, and all of it then.
    pub peak_iops: u64,
    /// Bytes read and written per second, on average, by the requests after the first, as of [`Self::mean_iops`]; nothing if all
    /// arrive at once.
    pub mean_bytes_per_second: Option<f64>,
    /// Time from one arrival to the next, and how much it varies; nothing of a single request.
    pub gaps: Option<GapStat>,
}

/// How many requests of one kind there are, and how large they are.
#[derive(Clone, Debug, Serialize)]
pub struct KindStat {
    /// The kind of request that this is about.
    pub kind: KindName,
    /// How many requests are of this kind.
    pub requests: u64,
    /// Percent of all requests that are of this kind.
    pub percent: f64,
    /// Bytes of all of them together.
    pub bytes: u64,
    /// Mean bytes of one of them; nothing of flushes, which have neither length nor address.
    pub mean_bytes: Option<f64>,
    /// Percent that do not begin where one of the 16 requests of this kind before it ended, on the same volume; nothing of
    /// flushes.
    pub random_percent: Option<f64>,
}

/// A [`Kind`] as reports call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindName {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Writes of zeros.
    WriteZeroes,
    /// Flushes.
    Flush,
}

impl KindName {
    /// The word for the kind, as JSON and tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::WriteZeroes => "write-zeroes",
            Self::Flush => "flush",
        }
    }
}

impl From<Kind> for KindName {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Read => Self::Read,
            Kind::Write => Self::Write,
            Kind::Trim => Self::Trim,
            Kind::WriteZeroes => Self::WriteZeroes,
            Kind::Flush => Self::Flush,
        }
    }
}

/// Reads and writes within a range of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SizeBucket {
    /// The largest size in it; the smallest is above half of that.
    pub up_to_bytes: u64,
    /// Read requests of these sizes.
    pub reads: u64,
    /// Write requests of these sizes.
    pub writes: u64,
}

/// Sizes up to this share the first bucket.
const SMALLEST_BUCKET: u64 = 512;

#[derive(Debug, Default)]
struct OfKind {
    requests: u64,
    bytes: u64,
    /// Of them, those that name a range.
    ranged: u64,
    sequential: u64,
    runs: Runs,
}

/// Collects the description from the requests, which come in the order of their arrival.
#[derive(Debug, Default)]
pub struct Collector {
    kinds: BTreeMap<KindName, OfKind>,
    sizes: BTreeMap<u64, SizeBucket>,
    heat: Heat,
    gaps: Gaps,
    /// Those that requests of any kind name.
    volumes: BTreeSet<u32>,
    /// Bytes read and written by all but the first request.
    moved: u64,
}

impl Collector {
    /// A collector that has seen no request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next request.
    pub fn add(&mut self, record: &Record) {
        let is_first = self.gaps.add(record.at);
        self.volumes.insert(record.volume);
        let of_kind = self.kinds.entry(record.kind.into()).or_default();
        of_kind.requests += 1;
        of_kind.bytes += u64::from(record.len);
        of_kind.ranged += u64::from(record.kind.has_range());
        of_kind.sequential += u64::from(of_kind.runs.continues(record));
        if matches!(record.kind, Kind::Read | Kind::Write) {
            let up_to_bytes = u64::from(record.len).next_power_of_two().max(SMALLEST_BUCKET);
            let bucket = self.sizes.entry(up_to_bytes).or_insert(SizeBucket { up_to_bytes, ..SizeBucket::default() });
            let count = if record.kind == Kind::Read { &mut bucket.reads } else { &mut bucket.writes };
            *count += 1;
            self.moved += if is_first { 0 } else { u64::from(record.len) };
            self.heat.add(record);
        }
    }

    /// The description of what was taken.
    pub fn finish(self) -> Stat {
        let requests: u64 = self.kinds.values().map(|kind| kind.requests).sum();
        let duration = self.gaps.duration().as_secs_f64();
        let per_second = |count: u64| (duration > 0.0).then(|| count as f64 / duration);
        let kind_stat = |(&kind, of_kind): (&KindName, &OfKind)| KindStat {
            kind,
            requests: of_kind.requests,
            percent: of_kind.requests as f64 * 100.0 / requests as f64,
            bytes: of_kind.bytes,
            mean_bytes: quotient(of_kind.bytes, of_kind.ranged),
            random_percent: percent(of_kind.ranged - of_kind.sequential, of_kind.ranged),
        };
        let heat = self.heat.finish();
        Stat {
            requests,
            duration_seconds: duration,
            volumes: self.volumes.len() as u64,
            kinds: self.kinds.iter().map(kind_stat).collect(),
            sizes: self.sizes.into_values().collect(),
            footprint: heat.footprint,
            hot: heat.hot,
            regions_percent: heat.regions_percent,
            reuse: heat.reuse,
            mean_iops: per_second(requests.saturating_sub(1)),
            peak_iops: self.gaps.peak(),
            mean_bytes_per_second: per_second(self.moved),
            gaps: self.gaps.finish(),
        }
    }
}

impl Stat {
    /// The requests of this kind, if there are any.
    pub fn kind(&self, kind: Kind) -> Option<&KindStat> {
        self.kinds.iter().find(|stat| stat.kind == kind.into())
    }
}

/// `part` by `whole`; of nothing there is none, since 0 would be an answer.
fn quotient(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// `part` of `whole` in percent; of nothing there is none.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}

#[cfg(test)]
mod tests;
