//! Counters of both sides into snapshots: the array's by the control socket, the client's from its own thread.

use super::snapshot::{ClientView, DeviceView, GroupView, Snapshot};
use super::workload::Progress;
use crate::failure::Failure;
use cygnus_control::client::Client;
use cygnus_control::protocol::{Request, Response};
use cygnus_control::rates::RateMeter;
use cygnus_control::stats::Stats;
use cygnus_control::status::{GroupRole, GroupStatus};
use std::sync::Arc;
use std::time::Instant;

/// Takes snapshots; each covers the time since the one before.
pub struct Observer {
    control: Client,
    progress: Arc<Progress>,
    meter: RateMeter,
    begun: Instant,
    last: Instant,
    last_requests: u64,
    last_bytes: u64,
}

impl Observer {
    /// Of the array behind `control` and the client that reports to `progress`.
    pub fn new(control: Client, progress: Arc<Progress>) -> Self {
        let now = Instant::now();
        Self { control, progress, meter: RateMeter::default(), begun: now, last: now, last_requests: 0, last_bytes: 0 }
    }

    /// Asks the server for its counters, and makes rates of what changed since the last call.
    pub fn snapshot(&mut self) -> Result<Snapshot, Failure> {
        let stats = match self.control.call(&Request::Stats)? {
            Response::Stats { stats } => *stats,
            other => return Err(self.control.unexpected(&other).into()),
        };
        let reading = self.progress.read();
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64().max(1e-3);
        let client = ClientView {
            iops: (reading.requests - self.last_requests) as f64 / seconds,
            bytes_per_second: (reading.bytes - self.last_bytes) as f64 / seconds,
            latency: reading.latency,
            moved_bytes: reading.bytes,
        };
        (self.last, self.last_requests, self.last_bytes) = (now, reading.requests, reading.bytes);
        Ok(Snapshot {
            elapsed: now - self.begun,
            phase: reading.phase,
            progress: reading.fraction,
            groups: stats.groups.iter().map(group_view).collect(),
            devices: self.devices(&stats),
            client,
            write_amplification: stats.writes.amplification(),
            rotations: stats.rotations,
            cleaned_bytes: stats.writes.cleaned_bytes,
        })
    }

    fn devices(&mut self, stats: &Stats) -> Vec<DeviceView> {
        let counters: Vec<_> = stats.devices.iter().map(|device| device.io).collect();
        let rates = self.meter.sample(stats.at_ns, &counters);
        stats.devices.iter().zip(rates).map(|(device, &rates)| DeviceView { group: device.group, rates }).collect()
    }
}

fn group_view(group: &GroupStatus) -> GroupView {
    let activity = group.activity.as_ref();
    GroupView {
        role: activity.map_or(GroupRole::BackEnd, |it| it.role),
        free: activity.map_or(0, |it| it.free_segments),
        segments: group.segments,
        live: activity.map_or(0.0, |it| it.live_bytes as f64 / group.capacity_bytes.max(1) as f64),
    }
}
