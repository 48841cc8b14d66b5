//! From counters to an outcome.

use cygnus_fabric::ClusterCounters;
use cygnus_types::{ByteSize, Nanos};
use cygnus_workload::Kind;

use crate::client::Shared;
use crate::outcome::{
    ClusterRow, DeviceTotals, LatencyRow, OperationRow, Outcome, RoleRow, Sample, is_measured, milli, per_million,
    per_second, quotient_milli, quotient_per_second, variation_milli,
};
use crate::sampler::Snapshot;
use crate::scenario::{ArraySection, Scenario};
use crate::store::Role;
use crate::tally::{Counts, Key, Operations};
use crate::testbed::Testbed;

/// A run that has come to its end.
pub(crate) struct Ended<'a> {
    pub scenario: &'a Scenario,
    pub section: &'a ArraySection,
    pub seed: u64,
    pub bed: &'a Testbed,
    pub shared: &'a Shared,
    /// At the end of the aging, of the ramp (by the samples), and now.
    pub before: &'a Snapshot,
    pub ramp: &'a Snapshot,
    pub after: &'a Snapshot,
}

impl Ended<'_> {
    /// Names of its drives: of all the same, or one kind for flash and one for disks.
    fn drive(&self) -> String {
        let name = |n| self.scenario.devices_of(self.section, n).name();
        let mut names: Vec<&str> = (0..self.bed.disks.len()).map(name).collect();
        names.dedup();
        names.sort_unstable();
        names.dedup();
        names.join(" and ")
    }

    /// What it found.
    pub fn outcome(&self, samples: Vec<Sample>) -> Outcome {
        let (before, after) = (&self.before.activity, &self.after.activity);
        let devices = self.devices();
        let latency = latency_rows(self.shared);
        let (from, until) = self.shared.measured();
        let requests = latency.iter().map(|row| row.count).sum();
        // Where all clients had ended, what is left is the wait for an answer to what began before.
        let idle = from == until || (requests == 0 && self.shared.makespan().is_some());
        let measured = if idle { 0 } else { until.since(from).0 };
        let bytes = |kind| latency.iter().filter(|row| row.kind == kind).map(|row| row.bytes).sum();
        let user = after.user_blocks - before.user_blocks;
        let moved = after.moved_blocks - before.moved_blocks;
        let (programmed, collected) =
            devices.iter().fold((0, 0), |(p, c), device| (p + device.pages_programmed, c + device.pages_collected));
        let written_pages: u64 = devices.iter().map(|device| device.written_bytes / 4096).sum();
        let time = self.after.at.since(self.before.at).0;
        let worked = || self.after.worked_since(self.before).map(|core| core.0);
        debug_assert!(collected <= programmed, "collected pages are programmed pages");
        let mut remarks = self.shared.remarks.borrow().clone();
        remarks.extend(self.never_read(bytes("read"), devices.iter().map(|device| device.read_bytes).sum()));
        remarks.extend((idle && requests == 0).then(|| nothing_measured(from.since(self.shared.start))));
        Outcome {
            scenario: self.scenario.name().into(),
            array: self.section.name().into(),
            seed: self.seed,
            preset: self.bed.home().store.preset(),
            drive: self.drive(),
            drives: self.bed.disks.len() as u64,
            drive_bytes: self.bed.world.infos(&self.bed.disks[..1])[0].size,
            volume_bytes: self.bed.home().store.size(),
            measured_ns: measured,
            makespan_ns: self.shared.makespan().map(|span| span.0),
            remarks,
            requests,
            read_bytes_per_second: quotient_per_second(bytes("read"), measured),
            write_bytes_per_second: quotient_per_second(bytes("write"), measured),
            throughput_variation_milli: self.variation(&samples),
            latency,
            operations: operation_rows(self.shared),
            reads_by_role: role_rows(self.shared),
            array_write_amplification_milli: quotient_milli(written_pages, user),
            rehomed_milli: after
                .rehomed_blocks
                .zip(before.rehomed_blocks)
                .and_then(|(all, old)| quotient_milli(all - old, user)),
            moves: self.bed.home().store.moves(),
            cleaning_amplification_milli: quotient_milli(user + moved, user),
            // Drives without flash program nothing.
            drive_write_amplification_milli: quotient_milli(programmed, written_pages).filter(|_| programmed > 0),
            rotations: after.rotations - before.rotations,
            victims: after.victims - before.victims,
            victims_beside: after.victims_beside - before.victims_beside,
            victim_valid_milli: quotient_milli(
                after.victim_live - before.victim_live,
                after.victim_capacity - before.victim_capacity,
            ),
            cores: self.bed.seats.len() as u64,
            cpu_milli: milli(worked().sum(), time),
            busiest_core_milli: milli(worked().max().unwrap_or(0), time),
            memory: self.bed.world.memory(),
            map_bytes: self.bed.home().store.map_bytes(),
            metadata_per_million: per_million(after.metadata_blocks - before.metadata_blocks, user + moved),
            devices,
            clusters: self.clusters(),
            wear: self.after.wear.clone(),
            samples,
        }
    }

    /// A sentence where drives had little to do with what clients read. Rates and latencies of such reads are those of no drive.
    fn never_read(&self, clients: u64, drives: u64) -> Option<String> {
        let array = self.section.name();
        (drives < clients / 2 && !self.scenario.has_cache()).then(|| {
            format!(
                "{array}: clients read {}, and drives were read for {} only: the rest was never written (see [aging]), or still in \
                 memory",
                ByteSize(clients),
                ByteSize(drives)
            )
        })
    }

    fn variation(&self, samples: &[Sample]) -> Option<u64> {
        let (from, until) = self.shared.measured();
        let (ramp, end) = (from.since(self.shared.start).0, until.since(self.shared.start).0);
        // The last one of a run may end a little after it, by what a core had yet to do.
        let to_the_end = until == self.shared.end;
        let is_within =
            |sample: &&Sample| is_measured(sample.at_ns, sample.span_ns, ramp) && (to_the_end || sample.at_ns <= end);
        let measured = samples.iter().filter(is_within);
        let rates: Vec<u64> =
            measured.map(|sample| per_second(sample.reads[1] + sample.writes[1], sample.span_ns)).collect();
        variation_milli(&rates)
    }

    fn clusters(&self) -> Vec<ClusterRow> {
        let Some(network) = &self.scenario.network else { return Vec::new() };
        let span = self.after.at.since(self.ramp.at).0;
        let row = |(n, (after, before)): (usize, (&ClusterCounters, &ClusterCounters))| {
            let since = *after - *before;
            let mean = |sum: Nanos| sum.0.checked_div(since.requests);
            ClusterRow {
                cluster: network.topology.cluster_name(n).into(),
                requests: since.requests,
                mean_ns: mean(since.latency),
                link_ns: mean(since.stalls.link),
                storage_ns: mean(since.stalls.storage),
                root_ns: mean(since.stalls.root),
                switch_ns: mean(since.stalls.switch),
                endpoint_ns: mean(since.stalls.endpoint),
                module_ns: mean(since.stalls.module),
                bus_milli: milli(since.bus.0, span),
            }
        };
        self.after.clusters.iter().zip(&self.ramp.clusters).enumerate().map(row).collect()
    }

    fn devices(&self) -> Vec<DeviceTotals> {
        self.after.devices.iter().zip(&self.before.devices).map(|(after, before)| after.since(before)).collect()
    }
}

/// A sentence where there is nothing to tell: all that clients asked for began within the ramp.
fn nothing_measured(ramp: Nanos) -> String {
    format!(
        "no client was active after the ramp of {ramp}: nothing was measured, so give a shorter ramp, or clients more to do"
    )
}

fn latency_rows(shared: &Shared) -> Vec<LatencyRow> {
    let (names, jobs) = (shared.names.borrow(), shared.jobs.borrow());
    let row = |(key, counts): (Key, Counts)| {
        let latency = &counts.latency;
        LatencyRow {
            client: names[usize::from(key.client)].clone(),
            job: key.job,
            job_name: jobs.get(&(key.client, key.job)).unwrap_or(&names[usize::from(key.client)]).clone(),
            kind: kind_name(key.kind),
            count: counts.requests,
            bytes: counts.bytes,
            mean_ns: latency.mean().0,
            p50_ns: latency.quantile(0.5).0,
            p99_ns: latency.quantile(0.99).0,
            p999_ns: latency.quantile(0.999).0,
            p9999_ns: latency.quantile(0.9999).0,
            p99999_ns: latency.quantile(0.99999).0,
            max_ns: latency.max().0,
            buckets: latency.buckets().collect(),
        }
    };
    shared.tally.borrow().totals().into_iter().map(row).collect()
}

fn operation_rows(shared: &Shared) -> Vec<OperationRow> {
    let (names, tally) = (shared.names.borrow(), shared.tally.borrow());
    let row = |(&client, of): (&u16, &Operations)| OperationRow {
        client: names[usize::from(client)].clone(),
        count: of.latency.count(),
        span_ns: of.ended.since(of.began).0,
        mean_ns: of.latency.mean().0,
        p25_ns: of.latency.quantile(0.25).0,
        p50_ns: of.latency.quantile(0.5).0,
        p75_ns: of.latency.quantile(0.75).0,
        max_ns: of.latency.max().0,
        buckets: of.latency.buckets().collect(),
    };
    tally.operations().iter().map(row).collect()
}

fn role_rows(shared: &Shared) -> Vec<RoleRow> {
    let tally = shared.tally.borrow();
    let row = |(&(job, role), counts): (&(u16, Role), &Counts)| RoleRow {
        job,
        role: role.name(),
        count: counts.requests,
        mean_ns: counts.latency.mean().0,
        p999_ns: counts.latency.quantile(0.999).0,
        p9999_ns: counts.latency.quantile(0.9999).0,
    };
    tally.reads().iter().map(row).collect()
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Flush => "flush",
        Kind::Trim => "trim",
        Kind::WriteZeroes => "write-zeroes",
    }
}
