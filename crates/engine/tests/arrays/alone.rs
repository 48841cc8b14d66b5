//! What a program does with an array that it must not: open it twice, make another one of its devices, use it when it is closed, ask for
//! what lies behind the end. Each is an error, and nothing is lost.

use cygnus_engine::{Array, ArrayError, CreateOptions, VolumeAdminError, create};
use cygnus_format::Raid;
use cygnus_policy::Preset;
use cygnus_sim::World;
use cygnus_types::{ByteSize, Medium};

use crate::common::*;
use crate::sessions::{MIB, options, session};

#[test]
fn one_array_at_a_time_works_with_a_device() {
    let world = World::new(1);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        let taken = |result: Result<_, ArrayError>| matches!(result, Err(ArrayError::Open(device)) if device == devices[0].name);
        assert!(taken(Array::open(&rt, &devices, &options()).await.map(drop)));
        assert!(taken(Array::open_by_force(&rt, &devices, &options()).await.map(drop)));
        let by_force = CreateOptions { force: true, ..CreateOptions::new("other", Preset::LogRaid, 1, 2, 1) };
        assert!(taken(create(&rt, &devices, &by_force).await.map(drop)));
        drop(volume);
        array.clone().close().await.unwrap();
        // Who is refused has taken nothing.
        assert!(Array::open(&rt, &devices[..1], &options()).await.is_err(), "too few");
        let (again, volume) = open(&rt, &devices).await;
        verify(&rt, &volume, |at| at).await;
        drop((again, volume));
        rt.sleep(cygnus_types::Nanos::secs(10)).await;
        assert!(taken(Array::open(&rt, &devices, &options()).await.map(drop)), "it goes on until it is closed");
    });
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        verify(&rt, &volume, |at| at).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn each_member_has_a_device_of_its_own_and_a_place_for_data() {
    let world = World::new(2);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let options = CreateOptions { force: true, ..CreateOptions::new("other", Preset::LogRaid, 1, 2, 1) };
        let twice = [&devices[0], &devices[1], &devices[0]].map(Clone::clone);
        assert!(matches!(create(&rt, &twice, &options).await, Err(ArrayError::Twice(_))));
        let none = CreateOptions { groups: None, data: 0, parity: 0, ..options.clone() };
        let none_there =
            CreateOptions { raid_on: vec![(Medium::Flash, Raid { data: 0, parity: 0 })], groups: None, ..options };
        for options in [none, none_there] {
            assert!(matches!(create(&rt, &devices, &options).await, Err(ArrayError::Invalid(_))));
        }
    });
    assert_clean(&world, &disks);
}

#[test]
fn a_closed_array_changes_nothing_more_and_says_so() {
    let world = World::new(3);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let (array, _) = open(&rt, &devices).await;
        array.clone().close().await.unwrap();
        let is_closed = |result| matches!(result, Err(VolumeAdminError::Array(ArrayError::Closed)));
        assert!(is_closed(array.create_volume("ghost", ByteSize(MIB), 0).await.map(drop)));
        assert!(is_closed(array.delete_volume("v").await));
        assert!(matches!(array.checkpoint().await, Err(ArrayError::Closed)));
        let (array, volume) = open(&rt, &devices).await;
        assert_eq!(array.volume_names(), ["v"]);
        // What lies behind the end is nowhere.
        assert!(array.role_at(&volume, u64::MAX).is_none());
        let all: u64 = volume.extents(10, u64::MAX, 1000).iter().map(|extent| extent.len).sum();
        assert_eq!(all, volume.size().min(all + 10) - 10);
        array.close().await.unwrap();
    });
}

#[test]
fn a_long_read_that_is_not_of_whole_blocks_is_one_of_all_its_bytes() {
    let world = World::new(4);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        let long = 3 * MIB as usize;
        let mut data = rt.alloc(long);
        data.bytes_mut().iter_mut().enumerate().for_each(|(at, byte)| *byte = ((at * 31) >> 7) as u8);
        let expected = data.bytes().to_vec();
        volume.write(0, data.full()).await.unwrap();
        for (from, len) in [(512, long - 512), (4095, 2), (1, long - 2), (MIB as usize - 1, MIB as usize + 2)] {
            let got = volume.read(from as u64, rt.alloc(len).full()).await.unwrap();
            assert!(got.bytes() == &expected[from..from + len], "{len} bytes from {from}");
        }
        array.close().await.unwrap();
    });
}
