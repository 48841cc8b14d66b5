//! The engine as the runs use it.

use std::sync::Arc;

use cygnus_engine::{
    Array as Engine, ArrayError, ArrayPeer, Autonomics, CreateOptions, Finding, Link, Log, MapRule, OpenOptions,
    Readmitted, Volume, VolumeAdminError, VolumeError, VolumeOptions,
};
use cygnus_policy::HybridRule;
use cygnus_runtime::{BufSlice, DeviceInfo, Runtime};
use cygnus_sim::{Cluster, World};
use cygnus_types::{BLOCK, ByteSize, Lba, Medium, Nanos, Paging, VolumeId};

use crate::contention;
use crate::coverage;
use crate::failure::{ForceFault, Inexcusable, RunFailure, Trouble};
use crate::journal;
use crate::kept::Kept;
use crate::members::device;
use crate::patience::run_with_patience;
use crate::story::{Drives, Shape};
use crate::target::{RequestError, Target};
use crate::truth::Truth;

/// What the engine says goes into the journal, and its steps into the coverage.
struct Listener;

impl Log for Listener {
    fn line(&self, text: &str) {
        journal::tell(format!("    {text}"));
    }

    fn rehomed(&self, volume: VolumeId, lba: Lba, at: Nanos) {
        contention::moved(volume, lba, at);
    }

    fn step(&self, name: &'static str, begins: bool) {
        coverage::step(name, begins);
    }
}

pub(crate) fn options(reactors: usize) -> OpenOptions {
    // Chunks of the map become dense, and thin again, with the few blocks that there are. Checks, salvage and the openings of arrays
    // with one reactor put what a crash has left into the maps in several passes.
    let at_once = if reactors == 1 { 24 } else { u64::MAX };
    let map = MapRule { dense_from: 24, at_once, ..MapRule::default() };
    // With a few reads blocks are hot, flash is full with a few of them, and they cool within a story.
    let hybrid = HybridRule {
        hot_from: 3,
        half_life: Nanos::millis(50),
        full_from: 6,
        at_a_time: 5,
        cools_after: Nanos::micros(200),
    };
    // Groups of a few dozen segments are cleaned by several reactors too.
    let segments_per_helper = 8;
    OpenOptions { reactors, segments_per_helper, map, hybrid, ..OpenOptions::new(Arc::new(Listener)) }
}

/// Blocks that volumes can hold in an array of this shape.
pub(crate) fn usable_blocks(shape: &Shape) -> u64 {
    usable_by_pages(shape, 1)
}

/// The same where a volume is mapped by pages of so many blocks.
pub(crate) fn usable_by_pages(shape: &Shape, page: u8) -> u64 {
    let paging = Paging::new(page, 0).expect("such pages there are");
    let options_of_volume = VolumeOptions { paging, ..VolumeOptions::default() };
    let world = World::new(0);
    let disks: Vec<_> = (0..shape.members()).map(|n| world.add_disk(device(shape, n))).collect();
    let cluster = Cluster::new(&world, 1, &disks);
    let (rt, infos, shape) = (cluster.reactor(0).clone(), world.infos(&disks), shape.clone());
    let usable = cluster.run(async move {
        create(&rt, &infos, &shape).await?;
        let array = Engine::open(&rt, &infos, &options(usize::from(shape.reactors))).await?;
        if paging.is_by_pages() {
            array.create_volume_with("v", paging.page(), options_of_volume, 0).await?;
        }
        Ok::<_, VolumeAdminError>(array.status().usable.blocks())
    });
    // A shape that cannot be made fails again, with words, when its story is run.
    usable.ok().and_then(Result::ok).unwrap_or(0)
}

/// Makes an array of this shape on the devices.
pub(crate) async fn create(rt: &Runtime, devices: &[DeviceInfo], shape: &Shape) -> Result<(), ArrayError> {
    let geometry = shape.geometry;
    let of_medium = |medium: Medium| (medium, shape.disks.filter(|_| medium.has_arms()).unwrap_or(geometry.raid()));
    let by_medium = shape.disks.map(|_| Medium::ALL.map(of_medium).to_vec());
    let rules = shape.cleaning.clone().unwrap_or_default();
    let options = CreateOptions {
        raid_on: by_medium.unwrap_or_default(),
        chunk: ByteSize::of_blocks(u64::from(geometry.chunk_blocks)),
        stripe_rows: Some(geometry.stripe_rows),
        segment: Some(ByteSize::of_blocks(u64::from(geometry.segment_blocks))),
        over_provision_permille: shape.over_provision_permille,
        placement: Some(shape.placement),
        clients_parity: shape.clients_parity,
        victim: rules.all,
        victim_on: rules.on,
        streams: shape.streams,
        media: shape.media(),
        until_full: Some(shape.until_full()),
        transient: Some(ByteSize::of_blocks(geometry.transient_blocks.into())),
        ..CreateOptions::new("torture", shape.preset, usize::from(shape.groups), geometry.data, geometry.parity)
    };
    cygnus_engine::create(rt, devices, &options).await.map(|_| ())
}

/// Checks a stopped array; the answer lists what is more than a remark.
pub(crate) async fn check(rt: &Runtime, devices: &[DeviceInfo]) -> Result<Vec<Finding>, ArrayError> {
    let report = cygnus_engine::check(rt, devices, &options(1), |_| {}).await?;
    Ok(report.findings.into_iter().filter(|finding| !finding.is_remark()).collect())
}

/// What would come of opening a stopped array by force of which a group lacks too many members, as the check foretells it.
pub(crate) async fn foretell(rt: &Runtime, devices: &[DeviceInfo]) -> Result<Readmitted, ForceFault> {
    let report = cygnus_engine::check(rt, devices, &options(1), |_| {}).await;
    report.map_err(|error| ForceFault::NotChecked(Arc::new(error)))?.readmission.ok_or(ForceFault::NotForetold)
}

/// An open array, on all reactors of a cluster.
pub(crate) struct Array {
    home: Engine,
    peers: Vec<ArrayPeer>,
}

/// A change of the array that is under way.
type Change<E> = std::pin::Pin<Box<dyn Future<Output = Result<(), E>>>>;

/// Why an array was not opened.
pub(crate) enum Unopened {
    /// The engine refused.
    Refused(Arc<ArrayError>),
    /// It did not come to an end.
    Halted(Trouble),
}

impl Array {
    /// Opens the array that the devices make up, be it `by_force`.
    pub(crate) fn open(
        cluster: &Cluster,
        devices: &[DeviceInfo],
        shape: &Shape,
        by_force: bool,
        kept: Kept,
    ) -> Result<Self, Unopened> {
        let (rt, devices) = (cluster.reactor(0).clone(), devices.to_vec());
        let reactors = usize::from(shape.reactors);
        let links = shape.links.iter().enumerate().map(|(n, members)| Link {
            name: format!("l{n}"),
            devices: members.iter().map(|member| format!("d{member}")).collect(),
            switch: 0,
            times: None,
            declared_at: None,
        });
        let rule = shape.autonomics.map(contention::rule);
        let autonomics = rule.map_or(Autonomics::Off, Autonomics::By);
        let Kept { left_with, keeper } = kept;
        let (links, postponed) = (links.collect(), shape.postponed);
        let mut options = OpenOptions { left_with, keeper, autonomics, links, postponed, ..options(reactors) };
        if shape.segments.is_multiple_of(4) {
            // In some arrays clients are quiet whenever they pause.
            options.quiet_after = Nanos::micros(300);
        }
        if shape.drives == Drives::Slow {
            // Each pass reads all headers, for which an arm takes seconds: a hundred passes would pass for an opening that never ends.
            options.map.at_once = options.map.at_once.saturating_mul(10);
        }
        contention::begin(rt.now());
        let opened = run_with_patience(cluster, || 0, async move {
            match by_force {
                true => Engine::open_by_force(&rt, &devices, &options).await,
                false => Engine::open(&rt, &devices, &options).await,
            }
        });
        let home = opened.map_err(Unopened::Halted)?.map_err(|error| Unopened::Refused(Arc::new(error)))?;
        Ok(Self::attach(cluster, home, reactors))
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

    /// Names of the volumes of which blocks were lost with the caches of devices.
    pub(crate) fn volumes_with_losses(&self) -> Vec<String> {
        let volumes = self.home.status().volumes.into_iter();
        volumes.filter(|volume| volume.lost > 0).map(|volume| volume.name).collect()
    }

    /// The engine's own handle.
    pub(crate) fn home(&self) -> &Engine {
        &self.home
    }

    /// A volume on a reactor.
    pub(crate) fn volume(&self, reactor: usize, name: &str, truth: &Truth) -> Result<VolumeHandle, RunFailure> {
        let volume = match reactor {
            0 => self.home.volume(name),
            n => self.peers[n - 1].volume(name),
        };
        let volume = volume.ok_or_else(|| RunFailure::NoVolume { volume: name.to_owned(), reactor })?;
        Ok(VolumeHandle { volume, array: self.home.clone(), truth: truth.clone() })
    }

    pub(crate) fn create_volume(&self, name: &str, size: u64, options: VolumeOptions) -> Change<VolumeAdminError> {
        let (array, name) = (self.home.clone(), name.to_owned());
        Box::pin(async move { array.create_volume_with(&name, ByteSize(size), options, 0).await.map(|_| ()) })
    }

    pub(crate) fn delete_volume(&self, name: &str) -> Change<VolumeAdminError> {
        let (array, name) = (self.home.clone(), name.to_owned());
        Box::pin(async move { array.delete_volume(&name).await })
    }

    pub(crate) fn resize_volume(&self, name: &str, size: u64) -> Change<VolumeAdminError> {
        let (array, name) = (self.home.clone(), name.to_owned());
        Box::pin(async move { array.resize_volume(&name, ByteSize(size)).await })
    }

    pub(crate) fn close(&self) -> Change<ArrayError> {
        let array = self.home.clone();
        Box::pin(async move { array.close().await })
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

/// Blocks of a volume that are mapped.
pub(crate) fn mapped_blocks(volume: &Volume) -> Vec<u64> {
    const EXTENTS: usize = 1024;
    let (mut blocks, mut at) = (Vec::new(), 0);
    while at < volume.size() {
        for extent in volume.extents(at, volume.size() - at, EXTENTS) {
            let range = at / BLOCK as u64..(at + extent.len) / BLOCK as u64;
            if extent.mapped {
                blocks.extend(range);
            }
            at += extent.len;
        }
    }
    blocks
}

/// A volume on one reactor.
#[derive(Clone)]
pub(crate) struct VolumeHandle {
    volume: Volume,
    array: Engine,
    truth: Truth,
}

fn failure(error: VolumeError) -> RequestError {
    match error {
        VolumeError::NoSpace { .. } | VolumeError::NoSpaceOn { .. } | VolumeError::MapMemory { .. } => {
            RequestError::NoSpace
        }
        VolumeError::Clogged { .. } => RequestError::Clogged,
        VolumeError::Suspended { .. } => RequestError::Suspended,
        VolumeError::Lost { .. } => RequestError::Lost,
        VolumeError::Unreadable { lba, .. } | VolumeError::Unknown { lba, .. } => RequestError::Unreadable(lba.0),
        other => RequestError::Other(other.to_string()),
    }
}

impl VolumeHandle {
    /// Makes a change, and answers when that may be, as a server does.
    async fn change(
        &self,
        change: impl Future<Output = Result<(), VolumeError>>,
        fua: bool,
    ) -> Result<(), RequestError> {
        let terms = self.volume.terms();
        change.await.map_err(failure)?;
        if let Some(terms) = terms {
            self.volume.answerable(terms).await.map_err(failure)?;
        }
        if fua { self.volume.flush().await.map_err(failure) } else { Ok(()) }
    }
}

impl Target for VolumeHandle {
    async fn read(&self, offset: u64, buf: BufSlice) -> Result<BufSlice, RequestError> {
        self.volume.read(offset, buf).await.map_err(failure)
    }

    async fn write(&self, offset: u64, buf: BufSlice, fua: bool) -> Result<(), RequestError> {
        let write = async {
            // As a server does: at once if that is possible, else by waiting.
            match self.volume.try_write(offset, buf.bytes()) {
                true => Ok(()),
                false => self.volume.write(offset, buf).await,
            }
        };
        self.change(write, fua).await
    }

    async fn write_zeroes(&self, offset: u64, len: u64, fua: bool) -> Result<(), RequestError> {
        let allocate = (offset / BLOCK as u64).is_multiple_of(2);
        self.change(self.volume.write_zeroes(offset, len, allocate), fua).await
    }

    async fn trim(&self, offset: u64, len: u64) -> Result<(), RequestError> {
        self.change(self.volume.trim(offset, len), false).await
    }

    async fn flush(&self) -> Result<(), RequestError> {
        self.volume.flush().await.map_err(failure)
    }

    async fn excuse(&self, block: u64) -> Result<(), Inexcusable> {
        self.truth.excuse(&self.array, self.volume.name(), block).await
    }
}
