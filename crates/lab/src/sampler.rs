//! Looks at every resource once per interval.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_fabric::ClusterCounters;
use cygnus_types::Nanos;

use crate::client::Shared;
use crate::link::Way;
use crate::outcome::{DeviceSample, DeviceTotals, Sample};
use crate::store::Activity;
use crate::tally::{Counts, Interval};
use crate::testbed::Testbed;

/// Counters of everything at one moment.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub at: Nanos,
    pub activity: Activity,
    pub devices: Vec<DeviceTotals>,
    pub wear: Vec<(u32, u32)>,
    /// Time that each of the array's cores has worked; none where they are not modelled.
    pub cpu: Vec<Nanos>,
    /// Of the fabric, if there is one.
    pub clusters: Vec<ClusterCounters>,
    link: [(u64, Nanos); 2],
}

impl Snapshot {
    pub fn take(bed: &Testbed, shared: &Shared) -> Self {
        let link = |way| shared.link.as_ref().map_or((0, Nanos::ZERO), |link| link.totals(way));
        Self {
            at: bed.home().rt.now(),
            activity: bed.home().store.activity(),
            devices: bed.disks.iter().map(|&disk| device(bed, disk)).collect(),
            wear: bed.disks.iter().map(|&disk| bed.world.model_wear(disk).unwrap_or_default()).collect(),
            cpu: bed.seats.iter().map(|seat| bed.world.cpu_busy(seat.reactor)).collect(),
            clusters: bed.world.clusters(),
            link: [Way::ToArray, Way::ToClient].map(link),
        }
    }

    /// Time that each of the array's cores has worked since then.
    pub fn worked_since(&self, earlier: &Self) -> impl Iterator<Item = Nanos> {
        self.cpu.iter().zip(&earlier.cpu).map(|(after, before)| Nanos(after.0 - before.0))
    }
}

fn device(bed: &Testbed, disk: cygnus_sim::DiskId) -> DeviceTotals {
    let (stats, load) = (bed.world.stats(disk), bed.world.load(disk));
    let flash = bed.world.model_counters(disk).unwrap_or_default();
    DeviceTotals {
        read_bytes: stats.read_bytes,
        written_bytes: stats.written_bytes,
        pages_programmed: flash.nand_writes(),
        pages_collected: flash.programmed_gc,
        pages_slc: flash.programmed_slc,
        erases: flash.erases,
        busy_ns: load.busy.0,
        in_flight_ns: load.in_flight.0,
    }
}

fn figures(counts: &Counts) -> [u64; 4] {
    [counts.requests, counts.bytes, counts.latency.mean().0, counts.latency.quantile(0.99).0]
}

/// Takes samples until the end of the run, telling `progress` the time since its start. Gives back how things were at the end of the
/// last sample that lies within the ramp.
pub(crate) async fn sample(
    bed: Rc<Testbed>,
    shared: Rc<Shared>,
    interval: Nanos,
    samples: Rc<RefCell<Vec<Sample>>>,
    progress: Rc<dyn Fn(Nanos)>,
) -> Snapshot {
    let mut before = Snapshot::take(&bed, &shared);
    let mut ramp = before.clone();
    while before.at < shared.end {
        let at = shared.start + interval * (samples.borrow().len() as u64 + 1);
        bed.home().rt.sleep_until(at.min(shared.end)).await;
        let after = Snapshot::take(&bed, &shared);
        let sample = between(&bed, &shared, &before, &after);
        samples.borrow_mut().push(sample);
        progress(after.at.since(shared.start));
        if after.at <= shared.measured_from {
            ramp = after.clone();
        }
        before = after;
    }
    ramp
}

fn between(bed: &Testbed, shared: &Shared, before: &Snapshot, after: &Snapshot) -> Sample {
    let Interval { reads, short_reads, writes } = shared.tally.borrow_mut().take_interval();
    let standing = bed.home().store.standing();
    let (earlier, later) = (&before.activity, &after.activity);
    let device = |n: usize| {
        let (group, role) = standing.roles[n];
        DeviceSample { totals: after.devices[n].since(&before.devices[n]), group, role, wear: after.wear[n] }
    };
    Sample {
        at_ns: after.at.since(shared.start).0,
        span_ns: after.at.since(before.at).0,
        reads: figures(&reads),
        short_reads: figures(&short_reads),
        writes: figures(&writes),
        user_blocks: later.user_blocks - earlier.user_blocks,
        moved_blocks: later.moved_blocks - earlier.moved_blocks,
        cleaning_read_bytes: later.cleaning_read_bytes - earlier.cleaning_read_bytes,
        victims: [later.victim_live - earlier.victim_live, later.victim_capacity - earlier.victim_capacity],
        free_segments: standing.free_segments,
        data_segments: standing.data_segments,
        front_end: standing.front_end,
        rotations: later.rotations - earlier.rotations,
        cleaning: standing.cleaning,
        pressure_ns: standing.pressure_ns,
        cpu_ns: after.worked_since(before).map(|core| core.0).sum(),
        link_bytes: std::array::from_fn(|way| after.link[way].0 - before.link[way].0),
        link_ns: std::array::from_fn(|way| after.link[way].1.0 - before.link[way].1.0),
        devices: (0..after.devices.len()).map(device).collect(),
    }
}
