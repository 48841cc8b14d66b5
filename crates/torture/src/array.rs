//! The engine as the runs use it.

use std::sync::Arc;

use cygnus_engine::{
    Array as Engine, ArrayPeer, CreateOptions, Log, OpenOptions, Volume, VolumeAdminError, VolumeError,
};
use cygnus_runtime::{BufSlice, DeviceInfo, Halt, Runtime};
use cygnus_sim::Cluster;
use cygnus_types::{BLOCK, ByteSize};

use crate::plan::Plan;
use crate::run::{PATIENCE, run_with_patience};
use crate::story;
use crate::target::{Failure, Target};

/// What the engine says goes into the story.
struct ToStory;

impl Log for ToStory {
    fn line(&self, text: &str) {
        story::tell(format!("    {text}"));
    }
}

/// Makes an array of the plan's shape on all its devices.
pub(crate) async fn create(rt: &Runtime, devices: &[DeviceInfo], plan: &Plan) -> Result<(), String> {
    let geometry = plan.geometry;
    let options = CreateOptions {
        chunk: ByteSize::of_blocks(u64::from(geometry.chunk_blocks)),
        stripe_rows: Some(geometry.stripe_rows),
        segment: Some(ByteSize::of_blocks(u64::from(geometry.segment_blocks))),
        over_provision_permille: plan.over_provision_permille,
        placement: plan.placement,
        ..CreateOptions::new("torture", plan.preset, usize::from(plan.groups), geometry.data, geometry.parity)
    };
    let made = cygnus_engine::create(rt, devices, &options).await;
    made.map(|_| ()).map_err(|error| format!("making the array: {error}"))
}

/// An open array, on all reactors of a cluster.
pub(crate) struct Array {
    home: Engine,
    peers: Vec<ArrayPeer>,
}

/// A change of the array that is under way.
type Change = std::pin::Pin<Box<dyn Future<Output = Result<(), String>>>>;

fn change(work: impl Future<Output = Result<(), VolumeAdminError>> + 'static) -> Change {
    Box::pin(async move { work.await.map_err(|error| error.to_string()) })
}

impl Array {
    /// Opens the array that the devices make up.
    pub(crate) fn open(
        cluster: &Cluster,
        devices: &[DeviceInfo],
        reactors: usize,
    ) -> Result<Result<Self, String>, Halt> {
        let (rt, devices) = (cluster.reactor(0).clone(), devices.to_vec());
        let options = OpenOptions { array: None, reactors, read_only: false, log: Arc::new(ToStory) };
        let opened = run_with_patience(cluster, async move { Engine::open(&rt, &devices, &options).await })?;
        let Some(opened) = opened else { return Ok(Err(format!("no end after {PATIENCE}"))) };
        Ok(opened.map_err(|error| error.to_string()).map(|home| Self::attach(cluster, home, reactors)))
    }

    fn attach(cluster: &Cluster, home: Engine, reactors: usize) -> Self {
        let mut peers = Vec::new();
        for n in 1..reactors {
            let rt = cluster.reactor(n).clone();
            let peer = home.handle(reactors).attach(&rt);
            peers.push(peer.clone());
            cluster.reactor(n).spawn(async move {
                loop {
                    peer.handle_message(rt.recv_msg().await);
                }
            });
        }
        if reactors > 1 {
            let (rt, array) = (cluster.reactor(0).clone(), home.clone());
            cluster.reactor(0).spawn(async move {
                loop {
                    array.handle_message(rt.recv_msg().await);
                }
            });
        }
        Self { home, peers }
    }

    /// Bytes that volumes can hold.
    pub(crate) fn usable(&self) -> u64 {
        self.home.status().usable.0
    }

    /// Names and sizes of the volumes.
    pub(crate) fn volumes(&self) -> Vec<(String, u64)> {
        let size = |name: &String| self.home.volume(name).map_or(0, |volume| volume.size());
        self.home.volume_names().into_iter().map(|name| (name.clone(), size(&name))).collect()
    }

    /// A volume on a reactor.
    pub(crate) fn volume(&self, reactor: usize, name: &str) -> Result<VolumeHandle, String> {
        let volume = match reactor {
            0 => self.home.volume(name),
            n => self.peers[n - 1].volume(name),
        };
        volume.map(VolumeHandle).ok_or_else(|| format!("volume {name} is not there on reactor {reactor}"))
    }

    pub(crate) fn create_volume(&self, name: &str, size: u64) -> Change {
        let (array, name) = (self.home.clone(), name.to_owned());
        change(async move { array.create_volume(&name, ByteSize(size), 0).await.map(|_| ()) })
    }

    pub(crate) fn delete_volume(&self, name: &str) -> Change {
        let (array, name) = (self.home.clone(), name.to_owned());
        change(async move { array.delete_volume(&name).await })
    }

    pub(crate) fn resize_volume(&self, name: &str, size: u64) -> Change {
        let (array, name) = (self.home.clone(), name.to_owned());
        change(async move { array.resize_volume(&name, ByteSize(size)).await })
    }

    pub(crate) fn close(&self) -> Change {
        let array = self.home.clone();
        Box::pin(async move { array.close().await.map_err(|error| error.to_string()) })
    }

    /// What has been cleaned and rotated, for the tally.
    pub(crate) fn traffic(&self) -> cygnus_engine::Traffic {
        self.home.traffic()
    }

    /// The state of its space, for the story.
    pub(crate) fn describe(&self) -> String {
        let status = self.home.status();
        let group = |g: &cygnus_engine::GroupStatus| {
            format!(
                "\n    {} {:?}: free {}, open {}, sealed {}, pending {}, meta {}, damaged {}; {} of {} blocks live",
                g.id, g.role, g.free, g.open, g.sealed, g.pending, g.meta, g.damaged, g.live_blocks, g.capacity_blocks
            )
        };
        let groups: String = status.groups.iter().map(group).collect();
        let (mapped, usable, fault) = (status.mapped.blocks(), status.usable.blocks(), status.fault);
        let delay = status.pressure_ns;
        let traffic = status.traffic;
        format!("{mapped} of {usable} usable blocks mapped, pressure {delay} ns, fault {fault:?}; {traffic:?}{groups}")
    }
}

/// A volume on one reactor.
#[derive(Clone)]
pub(crate) struct VolumeHandle(Volume);

fn failure(error: VolumeError) -> Failure {
    match error {
        VolumeError::NoSpace { .. } => Failure::NoSpace,
        other => Failure::Other(other.to_string()),
    }
}

impl VolumeHandle {
    async fn flush_if(&self, fua: bool) -> Result<(), Failure> {
        if fua { self.0.flush().await.map_err(failure) } else { Ok(()) }
    }
}

impl Target for VolumeHandle {
    async fn read(&self, offset: u64, buf: BufSlice) -> Result<BufSlice, Failure> {
        self.0.read(offset, buf).await.map_err(failure)
    }

    async fn write(&self, offset: u64, buf: BufSlice, fua: bool) -> Result<(), Failure> {
        // As a server does: at once if that is possible, else by waiting.
        match self.0.try_write(offset, buf.bytes()) {
            Some(done) => done.map_err(failure)?,
            None => self.0.write(offset, buf).await.map_err(failure)?,
        }
        self.flush_if(fua).await
    }

    async fn write_zeroes(&self, offset: u64, len: u64, fua: bool) -> Result<(), Failure> {
        let allocate = (offset / BLOCK as u64).is_multiple_of(2);
        self.0.write_zeroes(offset, len, allocate).await.map_err(failure)?;
        self.flush_if(fua).await
    }

    async fn trim(&self, offset: u64, len: u64) -> Result<(), Failure> {
        self.0.trim(offset, len).await.map_err(failure)
    }

    async fn flush(&self) -> Result<(), Failure> {
        self.0.flush().await.map_err(failure)
    }
}
