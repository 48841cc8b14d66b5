//! The only place where short-lived commands touch arrays: on one reactor of the calling thread. The long-lived one is
//! `cygnus-server`.

pub mod inplace;

use crate::failure::Failure;
use cygnus_control::media::Media;
use cygnus_control::status::Growth;
use cygnus_engine::{
    Array, ArrayError, CheckProgress, CheckReport, CreateOptions, Found, JobState, JobStatus, Log, OpenOptions,
    Readmitted, Salvage, ScrubReport, VolumeAdminError, VolumeOptions,
};
use cygnus_format::Raid;
use cygnus_host::devices::{
    may_be_served, now_unix, on_reactor, open_all, open_all_to_read, open_members, open_members_to_read,
};
use cygnus_host::members::Assembly;
use cygnus_host::place;
use cygnus_host::state::ArrayRecord;
use cygnus_runtime::Keeper;
use cygnus_server::status::growth;
use cygnus_types::{Acknowledged, ByteSize, Medium, Nanos, Paging, Uuid};
use cygnus_uring::Access;
use std::path::PathBuf;
use std::sync::Arc;

/// An array that was made.
#[derive(Debug)]
pub struct NewArray {
    /// The identity that its superblocks have.
    pub uuid: Uuid,
    /// The columns of each group.
    pub shapes: Vec<Raid>,
    /// By group: bytes of its members that stay unused.
    pub unused_bytes: Vec<u64>,
    /// Bytes of a segment on each member.
    pub segment_bytes: u64,
}

/// Makes an array of these members, in this order.
pub fn create(members: &[PathBuf], options: &CreateOptions) -> Result<NewArray, Failure> {
    on_reactor(open_all(members, Access::Exclusive)?, async |reactor| {
        // There is no array yet that could be unavailable.
        let uuid = cygnus_engine::create(&reactor.rt, &reactor.devices, options).await.map_err(Failure::of)?;
        let first = &reactor.devices[0];
        match cygnus_engine::inspect(&reactor.rt, first).await.map_err(Failure::from)? {
            Found::Member(superblock) => {
                let (groups, geometry) = (&superblock.state.groups, &superblock.state.geometry);
                let unused_bytes = groups.iter().map(|group| group.unused_bytes()).collect();
                let shapes = groups.iter().map(|group| group.raid).collect();
                Ok(NewArray { uuid, shapes, unused_bytes, segment_bytes: geometry.segment_bytes() })
            }
            other => Err(Failure::Failed(format!("{}: {other:?} just after it became a member", first.name))),
        }
    })
}

/// Makes these devices forget that they were members.
pub fn wipe(members: &[PathBuf]) -> Result<(), Failure> {
    on_reactor(open_all(members, Access::Exclusive)?, async |reactor| {
        for device in &reactor.devices {
            cygnus_engine::wipe(&reactor.rt, device).await.map_err(Failure::of)?;
        }
        Ok(())
    })
}

/// How a stopped array is opened for a command that changes nothing.
fn to_read(array: Uuid, log: Arc<dyn Log>) -> OpenOptions {
    OpenOptions { array: Some(array), read_only: true, ..OpenOptions::new(log) }
}

/// How a stopped array is opened for a command that changes it: what a server that was killed has left in memory comes first.
fn to_change(array: Uuid, left_with: Vec<Arc<dyn Keeper>>, log: Arc<dyn Log>) -> OpenOptions {
    OpenOptions { array: Some(array), left_with, ..OpenOptions::new(log) }
}

/// Opens a stopped array, recovering it if need be, does something with it, and closes it cleanly.
pub fn with_array<T>(
    assembly: &Assembly,
    log: Arc<dyn Log>,
    work: impl AsyncFnOnce(&Array) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let options = to_change(assembly.newest.array, assembly.keepers(), log);
    on_reactor(open_members(assembly, Access::Exclusive)?, async |reactor| {
        let array = Array::open(&reactor.rt, &reactor.devices, &options).await.map_err(Failure::from)?;
        let done = work(&array).await;
        // Also when the work failed: what it did not do is no reason to leave the array unclean.
        array.close().await.map_err(Failure::from)?;
        done
    })
}

/// An open array of either kind.
pub enum Opened<'a> {
    /// Log-structured.
    Log(&'a Array),
    /// Updated in place.
    InPlace(&'a cygnus_inplace::Array),
}

impl Opened<'_> {
    /// Size of a volume; 0 if there is none of that name.
    pub fn volume_size(&self, name: &str) -> u64 {
        match self {
            Self::Log(array) => array.volume(name).map_or(0, |volume| volume.size()),
            Self::InPlace(array) => array.volume(name).map_or(0, |volume| volume.size()),
        }
    }

    /// Makes a volume, with a level of acknowledgement or the usual one, on the media on which it may be, mapped by pages or by blocks.
    pub async fn create_volume(
        &self,
        name: &str,
        size: ByteSize,
        acknowledged: Option<Acknowledged>,
        media: Media,
        paging: Paging,
    ) -> Result<(), VolumeAdminError> {
        match self {
            Self::Log(array) => {
                let constraint = media.constraint(|| array.widest_tiers(name))?;
                let options = VolumeOptions { acknowledged: acknowledged.unwrap_or_default(), constraint, paging };
                array.create_volume_with(name, size, options, now_unix()).await.map(drop)
            }
            Self::InPlace(_) if !media.is_any() => Err(VolumeAdminError::NoMedia),
            Self::InPlace(_) if paging.is_by_pages() => Err(VolumeAdminError::NoPages),
            Self::InPlace(array) => {
                acknowledged.map_or(Ok(()), |level| array.check_acknowledged(level))?;
                array.create_volume(name, size, now_unix()).await.map(drop)
            }
        }
    }

    /// Changes where a write of a volume is when it is answered.
    pub async fn set_acknowledged(&self, name: &str, level: Acknowledged) -> Result<(), VolumeAdminError> {
        match self {
            Self::Log(array) => array.set_acknowledged(name, level).await,
            Self::InPlace(array) => array.set_acknowledged(name, level),
        }
    }

    /// Changes a volume's size.
    pub async fn resize_volume(&self, name: &str, size: ByteSize) -> Result<(), VolumeAdminError> {
        match self {
            Self::Log(array) => array.resize_volume(name, size).await,
            Self::InPlace(array) => array.resize_volume(name, size).await,
        }
    }

    /// Deletes a volume and all that it holds.
    pub async fn delete_volume(&self, name: &str) -> Result<(), VolumeAdminError> {
        match self {
            Self::Log(array) => array.delete_volume(name).await,
            Self::InPlace(array) => array.delete_volume(name).await,
        }
    }
}

/// As [`with_array`], for arrays of either kind.
pub fn with_either<T>(
    assembly: &Assembly,
    log: Arc<dyn Log>,
    work: impl AsyncFnOnce(Opened<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match assembly.newest.state.in_place {
        Some(_) => inplace::with_array(assembly, log, async |array| work(Opened::InPlace(array)).await),
        None => with_array(assembly, log, async |array| work(Opened::Log(array)).await),
    }
}

/// Adds devices to a stopped array as whole R-groups.
pub fn add_groups(
    assembly: &Assembly,
    paths: &[PathBuf],
    media: &[Medium],
    force: bool,
    log: Arc<dyn Log>,
) -> Result<Growth, Failure> {
    let options = to_change(assembly.newest.array, assembly.keepers(), log);
    let mut devices = open_members(assembly, Access::Exclusive)?;
    let members = devices.len();
    devices.extend(open_all(paths, Access::Exclusive)?);
    on_reactor(devices, async |reactor| {
        let (old, new) = reactor.devices.split_at(members);
        let array = Array::open(&reactor.rt, old, &options).await.map_err(Failure::from)?;
        let added = array.add_groups_on(new, media, force).await;
        let status = array.status();
        let closed = array.close().await;
        let growth = growth(&added.map_err(Failure::of)?, &status);
        match closed {
            Ok(()) => Ok(growth),
            // They are members: nobody may take them for left over.
            Err(error) => {
                Err(Failure::Unknown(format!("the R-groups were added, and the array not stopped cleanly: {error}")))
            }
        }
    })
}

/// Opens a stopped array without writing anything to it; nobody else can open it meanwhile.
pub fn read_array<T>(
    assembly: &Assembly,
    log: Arc<dyn Log>,
    work: impl AsyncFnOnce(&Array) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let options = to_read(assembly.newest.array, log);
    on_reactor(open_members_to_read(assembly)?, async |reactor| {
        let array = Array::open(&reactor.rt, &reactor.devices, &options).await.map_err(Failure::from)?;
        work(&array).await
    })
}

/// Where members of an array were last seen and something is, and where others of its members are now: what cannot be opened, and second
/// paths to a member, are left out.
fn places<'a>(record: &'a ArrayRecord, assembly: &'a Assembly) -> impl Iterator<Item = &'a PathBuf> {
    let is_there = |path: &&PathBuf| !assembly.left_out.contains_key(*path) && place::is_there(path);
    record.paths().filter(is_there).chain(&assembly.moved)
}

/// Checks a stopped array without writing anything to it; nobody else can open it meanwhile. Whatever stands where a
/// member was last seen is looked at, so that a member that is none any more is told as such.
pub fn check(
    record: &ArrayRecord,
    assembly: &Assembly,
    log: Arc<dyn Log>,
    progress: impl Fn(CheckProgress) + 'static,
) -> Result<CheckReport, Failure> {
    let options = to_read(record.array()?, log);
    let devices = open_all_to_read(places(record, assembly)).map_err(|error| may_be_served(error, assembly))?;
    on_reactor(devices, async |reactor| {
        cygnus_engine::check(&reactor.rt, &reactor.devices, &options, progress).await.map_err(Failure::from)
    })
}

/// What would come of re-admitting members of a stopped array by force; `None`: nobody would be, or the array does not open
/// either way, which serving it will tell. Writes nothing.
pub fn foresee(assembly: &Assembly, log: Arc<dyn Log>) -> Result<Option<Readmitted>, Failure> {
    let options = to_read(assembly.newest.array, log);
    on_reactor(open_members(assembly, Access::Exclusive)?, async |reactor| {
        match Array::open(&reactor.rt, &reactor.devices, &options).await {
            Err(ArrayError::TooManyMissing { .. }) => {
                let opened = Array::open_by_force(&reactor.rt, &reactor.devices, &options).await;
                opened.map(|array| array.recovery().readmission.clone()).map_err(Failure::from)
            }
            _ => Ok(None),
        }
    })
}

/// How often a repair is asked how far it has come.
const LOOK: Nanos = Nanos::millis(50);

/// Repairs a stopped array as far as redundancy goes: opens it, scrubs it to the end, waits for members that catch up,
/// and stops it cleanly.
pub fn repair(assembly: &Assembly, log: Arc<dyn Log>, progress: impl Fn(&JobStatus)) -> Result<ScrubReport, Failure> {
    let options = to_change(assembly.newest.array, assembly.keepers(), log);
    on_reactor(open_members(assembly, Access::Exclusive)?, async |reactor| {
        let array = Array::open(&reactor.rt, &reactor.devices, &options).await.map_err(Failure::from)?;
        array.start_scrub(now_unix());
        while let Some(job) = array.jobs().iter().find(|job| job.state == JobState::Running) {
            progress(job);
            reactor.rt.sleep(LOOK).await;
        }
        let report = array.scrub_report();
        array.close().await.map_err(Failure::from)?;
        report.ok_or_else(|| Failure::Failed("the scrub left no report".into()))
    })
}

/// Opens whatever is there of a stopped array for copying its volumes, at the places of its record and where members have `moved` to. Nothing is written to any device, and those that
/// cannot be opened are done without.
pub fn salvage<T>(
    record: &ArrayRecord,
    moved: &[PathBuf],
    log: Arc<dyn Log>,
    remark: impl Fn(String),
    work: impl AsyncFnOnce(&Salvage) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let options = to_read(record.array()?, log);
    let mut devices = Vec::new();
    for path in record.paths().chain(moved) {
        match open_all([path], Access::ReadOnly) {
            Ok(opened) => devices.extend(opened),
            Err(error) => remark(error.to_string()),
        }
    }
    on_reactor(devices, async |reactor| {
        let salvage = Salvage::open(&reactor.rt, &reactor.devices, &options).await.map_err(Failure::from)?;
        work(&salvage).await
    })
}
