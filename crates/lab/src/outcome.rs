//! What a run found. Integers wherever a number may be compared: nothing depends on how a platform rounds or prints.

use cygnus_types::Nanos;
use serde::Serialize;

use crate::series::NOTHING;

/// One array's run. Totals leave out the ramp only where that is said.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The scenario's name.
    pub scenario: String,
    /// The array's name.
    pub array: String,
    /// Of all random choices.
    pub seed: u64,
    /// Policies, such as "swan".
    pub preset: String,
    /// Drive preset.
    pub drive: String,
    /// Number of drives.
    pub drives: u64,
    /// Capacity of each drive in bytes.
    pub drive_bytes: u64,
    /// Size of the volume in bytes.
    pub volume_bytes: u64,
    /// Virtual time measured, without ramp and aging, and without what is left of the run once all clients have ended; in nanoseconds.
    pub measured_ns: u64,
    /// Virtual time from the clock's start to the last answer, ramp included, in nanoseconds, if every client came to the end of
    /// its requests before the duration ended, as a replayed trace does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub makespan_ns: Option<u64>,
    /// What whoever reads the numbers must know of how requests were made, such as what a trace that is too large was
    /// folded to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Requests that began after the ramp.
    pub requests: u64,
    /// Bytes that users read per second, after the ramp; nothing if no time was measured, here and in the next one.
    pub read_bytes_per_second: Option<u64>,
    /// Bytes that users wrote per second, after the ramp.
    pub write_bytes_per_second: Option<u64>,
    /// Coefficient of variation (standard deviation by mean) of the bytes read and written per second, in thousandths,
    /// over the samples that begin after the ramp; nothing if there were no bytes, or fewer than two samples.
    pub throughput_variation_milli: Option<u64>,
    /// Latencies after the ramp, by client, job and kind of request.
    pub latency: Vec<LatencyRow>,
    /// Operations after the ramp, of clients whose operations are several requests each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationRow>,
    /// Reads after the ramp, by label and by what the group that had the data was doing, where groups take turns.
    pub reads_by_role: Vec<RoleRow>,
    /// Blocks written to devices per block written by users, in thousandths, after the aging; nothing if users wrote
    /// none, here and in the next two.
    pub array_write_amplification_milli: Option<u64>,
    /// Blocks written anew out of the way of contention per block written by users, in thousandths, after the aging; absent where data
    /// stays or nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rehomed_milli: Option<u64>,
    /// What was decided about blocks that are in others' way, aging included; absent where data stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moves>,
    /// Blocks written by users and by cleaning per block written by users, in thousandths, after the aging.
    pub cleaning_amplification_milli: Option<u64>,
    /// Flash pages programmed per page that the array wrote, in thousandths, after the aging; nothing if drives have
    /// no flash, too.
    pub drive_write_amplification_milli: Option<u64>,
    /// Changes of the front-end group, after the aging.
    pub rotations: u64,
    /// Segments cleaned, after the aging.
    pub victims: u64,
    /// Of these, in a second group that was cleaned at the same time as the first one.
    #[serde(skip)]
    pub victims_beside: u64,
    /// Valid share of those segments, in thousandths; nothing if there were none.
    pub victim_valid_milli: Option<u64>,
    /// Cores of the array, each with a reactor.
    pub cores: u64,
    /// Time that those cores worked, in thousandths of the run's: 1000 is one whole core; 0 if they are not modelled.
    pub cpu_milli: u64,
    /// The same of the core that worked most: nothing that it alone does can go faster than until this is 1000.
    pub busiest_core_milli: u64,
    /// Totals of the drives, after the aging.
    pub devices: Vec<DeviceTotals>,
    /// Clusters of the fabric, if there is one, after the last sample that lies within the ramp.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ClusterRow>,
    /// Smallest and greatest erase count of the flash blocks of each drive at the end, aging included.
    pub wear: Vec<(u32, u32)>,
    /// Host memory of the simulated drives at the end: translation state, and what they hold; bytes. It is about the
    /// simulation, not about what is simulated.
    #[serde(skip)]
    pub memory: (u64, u64),
    /// Memory of the array's map at the end, in bytes; 0 of arrays that have none.
    #[serde(skip)]
    pub map_bytes: u64,
    /// Headers and checkpoints for each million blocks that clients or cleaning wrote, after the aging.
    #[serde(skip)]
    pub metadata_per_million: u64,
    /// Time series, from the end of the aging; in a file of their own.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

impl Outcome {
    /// Bytes that users read per second, as a number; [`NOTHING`] if no time was measured, here and in the next two.
    pub fn read_rate(&self) -> f64 {
        rate(self.read_bytes_per_second)
    }

    /// Bytes that users wrote per second.
    pub fn write_rate(&self) -> f64 {
        rate(self.write_bytes_per_second)
    }

    /// Bytes that users read and wrote per second.
    pub(crate) fn rate(&self) -> f64 {
        self.read_rate() + self.write_rate()
    }

    /// Latencies of the requests of a kind that a source asked for under that label; nothing if there were none.
    pub(crate) fn latency_of(&self, kind: &str, job: u16) -> Option<&LatencyRow> {
        self.latency.iter().find(|row| row.kind == kind && row.job == job)
    }

    /// Latencies of the reads under that label of groups of that role; nothing if there were none.
    pub(crate) fn reads_of(&self, role: &str, job: u16) -> Option<&RoleRow> {
        self.reads_by_role.iter().find(|row| row.role == role && row.job == job)
    }
}

/// Latencies of one client's requests of one kind, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyRow {
    /// The source's name; sources of one name are counted together.
    pub client: String,
    /// The source's own label for what asked for them.
    pub job: u16,
    /// What the label is called; the source's name if it has no labels.
    pub job_name: String,
    /// "read", "write", "flush", "trim" or "write-zeroes".
    pub kind: &'static str,
    /// Requests.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Mean.
    pub mean_ns: u64,
    /// Half of them took at most this.
    pub p50_ns: u64,
    /// 99 % of them.
    pub p99_ns: u64,
    /// 99.9 %.
    pub p999_ns: u64,
    /// 99.99 %.
    pub p9999_ns: u64,
    /// 99.999 %; of fewer than 100 000 requests that is the longest.
    pub p99999_ns: u64,
    /// All of them.
    pub max_ns: u64,
    /// Upper bounds and counts of the histogram's buckets that are not empty; in a file of their own.
    #[serde(skip)]
    pub buckets: Vec<(Nanos, u64)>,
}

/// A percentile or a mean of latencies: its name, and where it stands in a row.
pub(crate) type Point = (&'static str, fn(&LatencyRow) -> u64);

/// Operations of the clients of one name, from the first request's issue to the last one's answer; in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct OperationRow {
    /// The source's name; sources of one name are counted together.
    pub client: String,
    /// Operations.
    pub count: u64,
    /// Time from the beginning of the first one to the end of the last one.
    pub span_ns: u64,
    /// Mean.
    pub mean_ns: u64,
    /// A quarter of them took at most this.
    pub p25_ns: u64,
    /// Half of them.
    pub p50_ns: u64,
    /// Three quarters.
    pub p75_ns: u64,
    /// All of them.
    pub max_ns: u64,
    /// Upper bounds and counts of the histogram's buckets that are not empty.
    #[serde(skip)]
    pub buckets: Vec<(Nanos, u64)>,
}

/// Latencies of the reads that groups of one role served, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct RoleRow {
    /// The source's own label for what asked for them.
    pub job: u16,
    /// "front-end", "back-end" or "cleaning", when the read was issued.
    pub role: &'static str,
    /// Requests.
    pub count: u64,
    /// Mean.
    pub mean_ns: u64,
    /// 99.9 % of them took at most this.
    pub p999_ns: u64,
    /// 99.99 %.
    pub p9999_ns: u64,
}

/// What became of blocks that reads brought from where others were in the way; blocks, if not said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Moves {
    /// Moved away from a hot cluster.
    pub migrated: u64,
    /// Moved to a sibling of a module that lags.
    pub reshaped: u64,
    /// Moved to another cluster because all modules of theirs lag.
    pub expelled: u64,
    /// Stayed: nowhere is cold.
    pub nowhere_cold: u64,
    /// Stayed: no sibling is better off.
    pub no_sibling: u64,
    /// Stayed: the budget is spent.
    pub over_budget: u64,
    /// Stayed: they had moved a short while ago.
    pub resting: u64,
    /// Stayed: no stripe had room at once.
    pub no_room: u64,
    /// Stayed: as many were being read for naive migrations as may be; absent if none did.
    #[serde(skip_serializing_if = "is_zero")]
    pub too_many: u64,
    /// Read for naive migrations; absent if none were.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_to_move: u64,
    /// Read around members that lag or share a contended link.
    pub read_around: u64,
    /// Segments for clients' writes that came from another group than otherwise.
    pub steered: u64,
    /// Segments for clients' writes that ended early.
    pub left_early: u64,
}

/// What a drive did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceTotals {
    /// Bytes read by the array.
    pub read_bytes: u64,
    /// Bytes written by the array.
    pub written_bytes: u64,
    /// 4 KiB pages programmed, of the host's and of the drive's own collection.
    pub pages_programmed: u64,
    /// Of them by its own collection.
    pub pages_collected: u64,
    /// Of them in single-level mode, which is to say in its SLC buffer; absent if there were none. All others are in normal cells,
    /// with as many bits each as these hold.
    #[serde(skip_serializing_if = "is_zero")]
    pub pages_slc: u64,
    /// Flash blocks erased.
    pub erases: u64,
    /// Time with anything in flight, in nanoseconds.
    pub busy_ns: u64,
    /// Sum of the times that its commands were in flight, in nanoseconds: divided by time, the mean queue depth.
    pub in_flight_ns: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl DeviceTotals {
    /// Pages programmed in normal cells.
    pub(crate) fn pages_normal(&self) -> u64 {
        self.pages_programmed - self.pages_slc
    }

    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            read_bytes: self.read_bytes - earlier.read_bytes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            pages_programmed: self.pages_programmed - earlier.pages_programmed,
            pages_collected: self.pages_collected - earlier.pages_collected,
            pages_slc: self.pages_slc - earlier.pages_slc,
            erases: self.erases - earlier.erases,
            busy_ns: self.busy_ns - earlier.busy_ns,
            in_flight_ns: self.in_flight_ns - earlier.in_flight_ns,
        }
    }
}

/// What a cluster's requests came to: means of each, nothing of none, in nanoseconds, from the array's request to the module's answer. The waits by
/// where they were (root complex, switch, endpoint, module) are the same as those by what they were for (link, storage).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClusterRow {
    /// The endpoint's name.
    pub cluster: String,
    /// Requests answered.
    pub requests: u64,
    /// Mean time of a request.
    pub mean_ns: Option<u64>,
    /// Mean wait for buses and links.
    pub link_ns: Option<u64>,
    /// Mean wait for modules.
    pub storage_ns: Option<u64>,
    /// Mean wait outside the root complex and in it.
    pub root_ns: Option<u64>,
    /// Mean wait in switches.
    pub switch_ns: Option<u64>,
    /// Mean wait in the endpoint.
    pub endpoint_ns: Option<u64>,
    /// Mean wait at the module.
    pub module_ns: Option<u64>,
    /// Part of the time for which the bus was taken, in thousandths.
    pub bus_milli: u64,
}

/// Every resource over one interval.
#[derive(Clone, Debug)]
pub struct Sample {
    /// End of the interval, in nanoseconds since the end of the aging.
    pub at_ns: u64,
    /// Length of the interval in nanoseconds.
    pub span_ns: u64,
    /// Users' reads: requests, bytes, mean and 99th percentile of the latency in nanoseconds.
    pub reads: [u64; 4],
    /// Those of at most 64 KiB, likewise: somebody waits for them, as merges and read-ahead do not.
    pub short_reads: [u64; 4],
    /// Users' writes likewise.
    pub writes: [u64; 4],
    /// Blocks of 4 KiB that users wrote, as the engine counts them.
    pub user_blocks: u64,
    /// Blocks of 4 KiB that cleaning moved.
    pub moved_blocks: u64,
    /// Bytes that cleaning read from the devices.
    pub cleaning_read_bytes: u64,
    /// Valid blocks of the segments cleaned, and blocks that they can hold.
    pub victims: [u64; 2],
    /// Free segments of all groups at its end.
    pub free_segments: u64,
    /// Segments of all groups that are full of data or being filled, at its end: all but those that are free, were emptied and wait for a
    /// flush, or hold a checkpoint. Not among the files of a run.
    pub data_segments: u64,
    /// The group that took clients' writes at its end, where groups take turns.
    pub front_end: Option<u64>,
    /// Changes of that group within the interval.
    pub rotations: u64,
    /// The group being cleaned at its end.
    pub cleaning: Option<u64>,
    /// Delay of each written block at its end, in nanoseconds: back-pressure.
    pub pressure_ns: u64,
    /// Time that the array's cores worked, all together, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes over the clients' link, to the array and back.
    pub link_bytes: [u64; 2],
    /// Time that the link was taken, in nanoseconds, likewise.
    pub link_ns: [u64; 2],
    /// Each device.
    pub devices: Vec<DeviceSample>,
}

impl Sample {
    /// Share of the victims' blocks that was valid, in percent; [`NOTHING`] without victims.
    pub fn victims_valid(&self) -> f64 {
        self.victims[0] as f64 * 100.0 / self.victims[1] as f64
    }
}

/// One device over one interval.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSample {
    /// What it did in the interval.
    pub totals: DeviceTotals,
    /// Its group.
    pub group: u64,
    /// What the group was doing at the interval's end: "front-end", "cleaning", "back-end" or "in-place".
    pub role: &'static str,
    /// Smallest and greatest erase count of its flash blocks at the interval's end.
    pub wear: (u32, u32),
}

/// `part` of `whole` in thousandths; 0 of nothing.
pub(crate) fn milli(part: u64, whole: u64) -> u64 {
    quotient_milli(part, whole).unwrap_or(0)
}

/// `part` by `whole` in thousandths; nothing of nothing, since 0 would be an answer.
pub(crate) fn quotient_milli(part: u64, whole: u64) -> Option<u64> {
    (u128::from(part) * 1000).checked_div(u128::from(whole)).map(|milli| milli as u64)
}

/// Thousandths as a number; [`NOTHING`] where there are none.
pub fn ratio(milli: Option<u64>) -> f64 {
    milli.map_or(NOTHING, |milli| milli as f64 / 1e3)
}

/// The same in percent.
pub fn percent(milli: Option<u64>) -> f64 {
    milli.map_or(NOTHING, |milli| milli as f64 / 10.0)
}

/// `part` of `whole` in millionths; 0 of nothing.
pub(crate) fn per_million(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 1_000_000).checked_div(u128::from(whole)).unwrap_or(0) as u64
}

fn rate(per_second: Option<u64>) -> f64 {
    per_second.map_or(NOTHING, |rate| rate as f64)
}

/// `count` per second, over a span in nanoseconds; 0 of no time.
pub(crate) fn per_second(count: u64, span_ns: u64) -> u64 {
    quotient_per_second(count, span_ns).unwrap_or(0)
}

/// `count` per second, over a span in nanoseconds; nothing of no time, since 0 would be an answer.
pub(crate) fn quotient_per_second(count: u64, span_ns: u64) -> Option<u64> {
    (u128::from(count) * 1_000_000_000).checked_div(u128::from(span_ns)).map(|rate| rate as u64)
}

/// Whether a sample of `span` that ends at `at` begins after the ramp. The first one may begin before the start, by what the array's
/// core had yet to do then.
pub(crate) fn is_measured(at: u64, span: u64, ramp: u64) -> bool {
    at >= ramp + span
}

/// Standard deviation of the values divided by their mean, in thousandths; nothing if that is 0, or of one value, which cannot vary.
pub(crate) fn variation_milli(values: &[u64]) -> Option<u64> {
    let count = Some(values.len() as u128).filter(|&count| count > 1)?;
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    // In units of 1 / count, so that the mean is whole.
    let squares: u128 = values.iter().map(|&value| (u128::from(value) * count).abs_diff(sum).pow(2)).sum();
    let deviation = (squares / count).isqrt();
    (deviation * 1000).checked_div(sum).map(|milli| milli as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_that_begins_before_the_start_is_not_measured() {
        assert!(!is_measured(10, 11, 0));
        assert!(is_measured(10, 10, 0) && is_measured(30, 10, 20) && !is_measured(29, 10, 20));
    }

    #[test]
    fn variation_of_known_series() {
        assert_eq!(variation_milli(&[]), None);
        assert_eq!(variation_milli(&[0, 0]), None);
        assert_eq!(variation_milli(&[5]), None);
        assert_eq!(variation_milli(&[5, 5, 5]), Some(0));
        // Mean 5, standard deviation 2.
        assert_eq!(variation_milli(&[2, 4, 4, 4, 5, 5, 7, 9]), Some(400));
        assert_eq!(variation_milli(&[1 << 40; 1000]), Some(0));
    }
}
