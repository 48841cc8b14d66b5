//! What clients have met with: latencies, counted by client, job and kind of request.

use std::collections::BTreeMap;

use cygnus_target::Histogram;
use cygnus_types::Nanos;
use cygnus_workload::{Kind, SHORT_READ};

use crate::store::Role;

/// Whose requests, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Number of the source's name.
    pub client: u16,
    pub job: u16,
    pub kind: Kind,
}

/// Counts of one kind of request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub requests: u64,
    pub bytes: u64,
    pub latency: Histogram,
}

impl Counts {
    fn add(&mut self, bytes: u64, latency: Nanos) {
        self.requests += 1;
        self.bytes += bytes;
        self.latency.record(latency);
    }
}

/// Operations of the clients of one name.
#[derive(Clone, Debug)]
pub(crate) struct Operations {
    /// When the first one began, and when the last one ended.
    pub began: Nanos,
    pub ended: Nanos,
    pub latency: Histogram,
}

/// Everything counted since the ramp, and since the last sample.
#[derive(Default)]
pub(crate) struct Tally {
    /// There are few, so they are looked for one by one.
    totals: Vec<(Key, Counts)>,
    interval: Interval,
    /// Reads by the client's own label and by what the group that had the data was doing.
    reads: BTreeMap<(u16, Role), Counts>,
    /// By the number of the source's name.
    operations: BTreeMap<u16, Operations>,
}

/// Counts since the last sample.
#[derive(Default)]
pub(crate) struct Interval {
    pub reads: Counts,
    /// Of them those up to [`SHORT_READ`].
    pub short_reads: Counts,
    pub writes: Counts,
}

impl Tally {
    /// A request has been answered; `measured` if it began after the ramp.
    pub fn count(&mut self, key: Key, bytes: u64, latency: Nanos, measured: bool) {
        if measured {
            let at = self.totals.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                self.totals.push((key, Counts::default()));
                self.totals.len() - 1
            });
            self.totals[at].1.add(bytes, latency);
        }
        match key.kind {
            Kind::Read => {
                self.interval.reads.add(bytes, latency);
                if bytes <= u64::from(SHORT_READ) {
                    self.interval.short_reads.add(bytes, latency);
                }
            }
            Kind::Write | Kind::WriteZeroes => self.interval.writes.add(bytes, latency),
            Kind::Flush | Kind::Trim => {}
        }
    }

    /// A read that a group of this role served has been answered.
    pub fn count_read(&mut self, job: u16, role: Role, bytes: u64, latency: Nanos) {
        self.reads.entry((job, role)).or_default().add(bytes, latency);
    }

    /// An operation of a client of that name took so long.
    pub fn count_operation(&mut self, client: u16, began: Nanos, ended: Nanos) {
        let first = || Operations { began, ended, latency: Histogram::default() };
        let of_client = self.operations.entry(client).or_insert_with(first);
        of_client.began = of_client.began.min(began);
        of_client.ended = of_client.ended.max(ended);
        of_client.latency.record(ended.since(began));
    }

    /// Operations since the ramp, by the number of the source's name.
    pub fn operations(&self) -> &BTreeMap<u16, Operations> {
        &self.operations
    }

    /// Reads since the ramp, by label and role.
    pub fn reads(&self) -> &BTreeMap<(u16, Role), Counts> {
        &self.reads
    }

    /// What came since this was last asked.
    pub fn take_interval(&mut self) -> Interval {
        std::mem::take(&mut self.interval)
    }

    /// Everything since the ramp, in order.
    pub fn totals(&self) -> Vec<(Key, Counts)> {
        let mut totals = self.totals.clone();
        totals.sort_by_key(|(key, _)| *key);
        totals
    }
}
