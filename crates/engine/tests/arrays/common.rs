//! An array of simulated disks with a volume "v", and what its tests do with it.

use cygnus_engine::{Array, ArrayHealth, CreateOptions, JobState, JobStatus, Volume, check, create};
use cygnus_format::MemberState;
use cygnus_policy::Preset;
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Nanos};

use crate::sessions::*;

pub const BLOCKS: u64 = 3000;

/// An array of `groups` of k + m with a volume "v", and `more` disks beside it.
pub fn make(world: &World, groups: usize, k: u8, m: u8, more: usize) -> Vec<DiskId> {
    let members = groups * usize::from(k + m);
    let disks: Vec<DiskId> =
        (0..members + more).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 24 * MIB))).collect();
    let preset = if groups > 1 { Preset::Swan } else { Preset::LogRaid };
    let how = CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("tank", preset, groups, k, m) };
    session(world, &disks[..members], |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume("v", ByteSize(16 * MIB), 0).await.unwrap();
        array.close().await.unwrap();
    });
    disks
}

/// Opens the array, with its volume "v".
pub async fn open(rt: &Runtime, devices: &[DeviceInfo]) -> (Array, Volume) {
    let array = Array::open(rt, devices, &options()).await.unwrap();
    let volume = array.volume("v").unwrap();
    (array, volume)
}

/// Fills the volume, each block with its address for a tag, and closes the array.
pub fn filled(world: &World, disks: &[DiskId]) {
    session(world, disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        fill(&rt, &volume, 0).await;
        array.close().await.unwrap();
    });
}

pub fn block(tag: u64) -> Vec<u8> {
    (0..512_u64).flat_map(|i| (tag.wrapping_mul(0x9E37_79B9) ^ i).to_le_bytes()).collect()
}

pub async fn put(rt: &Runtime, volume: &Volume, at: u64, tag: u64) {
    let mut buf = rt.alloc(4096);
    buf.bytes_mut().copy_from_slice(&block(tag));
    volume.write(at * 4096, buf.full()).await.unwrap();
}

pub async fn fill(rt: &Runtime, volume: &Volume, tag: u64) {
    for at in 0..BLOCKS {
        put(rt, volume, at, at + tag).await;
    }
    volume.flush().await.unwrap();
}

pub async fn verify(rt: &Runtime, volume: &Volume, tag: impl Fn(u64) -> u64) {
    let buf = rt.alloc(4096);
    for at in 0..BLOCKS {
        let data = volume.read(at * 4096, buf.full()).await.unwrap();
        assert!(data.bytes() == block(tag(at)), "block {at}");
    }
}

/// Waits until the job has ended.
pub async fn ended(rt: &Runtime, array: &Array, id: u64) -> JobStatus {
    loop {
        let job = array.jobs().into_iter().find(|job| job.id == id).unwrap();
        if job.state != JobState::Running {
            return job;
        }
        rt.sleep(Nanos::millis(1)).await;
    }
}

/// Waits until all members are online.
pub async fn healed(rt: &Runtime, array: &Array) {
    while array.status().health != ArrayHealth::Online {
        rt.sleep(Nanos::millis(1)).await;
    }
}

pub fn states(array: &Array) -> Vec<MemberState> {
    array.status().members.iter().map(|m| m.state).collect()
}

/// The array must be flawless, with these disks and no others.
pub fn assert_clean(world: &World, disks: &[DiskId]) {
    session(world, disks, |rt, devices| async move {
        let report = check(&rt, &devices, &options(), |_| {}).await.unwrap();
        let damage: Vec<_> = report.findings.iter().filter(|f| !f.is_remark()).collect();
        assert!(damage.is_empty(), "{damage:#?}");
    });
}
