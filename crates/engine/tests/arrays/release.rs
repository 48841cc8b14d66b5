//! Segments that were emptied, and how they are given back.

use cygnus_engine::{Array, CreateOptions, create};
use cygnus_policy::Preset;
use cygnus_runtime::Rng;
use cygnus_sim::{DiskConfig, DiskId, Timing, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common::{assert_clean, put, verify};
use crate::sessions::*;

/// Clients fill a stripe in less time than a release waits, so none of theirs is cut short for its sake.
#[test]
fn what_was_emptied_goes_back_as_stripes_fill() {
    let world = World::new(5);
    let disk = |n: u64| {
        let (read, write, flush) = (Nanos::micros(80), Nanos::micros(40), Nanos::micros(500));
        let timing = Timing { read, write, flush, ..Timing::default() };
        DiskConfig { timing, ..DiskConfig::new(format!("d{n}"), 64 * MIB) }
    };
    let disks: Vec<DiskId> = (0..3).map(|n| world.add_disk(disk(n))).collect();
    let how = CreateOptions {
        chunk: ByteSize(256 << 10),
        segment: Some(ByteSize(MIB)),
        over_provision_permille: 100,
        ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)
    };
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let usable = array.status().usable;
        array.create_volume("v", usable, 0).await.unwrap();
        let (volume, blocks) = (array.volume("v").unwrap(), usable.blocks() * 9 / 10);
        let mut rng = Rng::new(1);
        for n in 0..4 * blocks {
            put(&rt, &volume, if n < blocks { n } else { rng.below(blocks) }, n).await;
            rt.sleep(Nanos::micros(40)).await;
        }
        let traffic = array.status().traffic;
        let written = traffic.client_written + traffic.relocated;
        assert!(traffic.victims > 50, "it was cleaned");
        assert!(
            traffic.padding_written * 30 < written,
            "{} blocks of padding beside {written}",
            traffic.padding_written
        );
        array.close().await.unwrap();
    });
}

/// What a volume held goes back below some time after it was deleted, without anybody writing; not while somebody reads.
#[test]
fn what_is_deleted_goes_back_while_clients_are_quiet() {
    let world = World::new(6);
    let disks: Vec<DiskId> = (0..9).map(|n| world.add_disk(DiskConfig::new(format!("d{n}"), 64 * MIB))).collect();
    for (preset, groups) in [(Preset::LogRaid, 1), (Preset::Swan, 2), (Preset::Serial, 3), (Preset::ScalaAfa, 1)] {
        let disks = &disks[..3 * groups];
        let how = CreateOptions {
            segment: Some(ByteSize(MIB)),
            force: true,
            ..CreateOptions::new("tank", preset, groups, 2, 1)
        };
        session(&world, disks, |rt, devices| async move {
            create(&rt, &devices, &how).await.unwrap();
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            for name in ["deleted", "stays"] {
                array.create_volume(name, ByteSize(32 * MIB), 0).await.unwrap();
                let volume = array.volume(name).unwrap();
                for at in 0..volume.size() / 4096 {
                    put(&rt, &volume, at, at).await;
                }
                volume.flush().await.unwrap();
            }
            array.delete_volume("deleted").await.unwrap();
            let empty = || array.segments().iter().filter(|s| s.state == "sealed" && s.live == 0).count();
            assert!(empty() > 10, "{preset:?}: {}", empty());
            let stays = array.volume("stays").unwrap();
            for _ in 0..20 {
                rt.sleep(Nanos::secs(10)).await;
                let _ = stays.read(0, rt.alloc(4096).full()).await.unwrap();
            }
            assert!(empty() > 10, "{preset:?}: {}", empty());
            rt.sleep(Nanos::secs(120)).await;
            assert_eq!(empty(), 0, "{preset:?}");
            verify(&rt, &stays, |at| at).await;
            array.close().await.unwrap();
        });
        assert_clean(&world, disks);
    }
}
