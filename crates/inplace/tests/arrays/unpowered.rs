//! A member that the array waits for loses its power for a moment, and with it what no flush has covered. As long as the others
//! have it, nothing that was acknowledged is lost; else nothing that was flushed.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_engine::ArrayHealth;
use cygnus_inplace::{Array, Level};
use cygnus_runtime::Runtime;
use cygnus_types::Nanos;

use crate::oracle::{Bench, Oracle, PATIENCE, load, members, redundant, versions};

/// Some members hang, so that the array waits for all in trouble; one more is without power meanwhile, and answers `first` or
/// last.
fn survives(level: Level, hanging: &[usize], unpowered: usize, first: bool, seed: u64) {
    let what = format!("{} {hanging:?} {unpowered} seed {seed}", level.name());
    let n = members(level);
    let bench = Bench::new(level, seed, n);
    let oracle = Rc::new(RefCell::new(Oracle::new()));
    let (world, disks, known) = (bench.world.clone(), bench.disks.clone(), oracle.clone());
    let hanging: Vec<_> = hanging.iter().map(|&member| bench.disks[member]).collect();
    let told = what.clone();
    let body = |rt: Runtime, array: Array| async move {
        let volume = array.volume("v").unwrap();
        load(&rt, &volume, &known, seed, 20).await;
        hanging.iter().for_each(|&disk| world.hang(disk, None));
        world.lose_power_of(disks[unpowered]);
        let clock = rt.clone();
        rt.spawn(async move {
            clock.sleep(PATIENCE * 3).await;
            if first {
                world.revive(disks[unpowered]);
                clock.sleep(Nanos::secs(5)).await;
            }
            hanging.iter().for_each(|&disk| world.release(disk));
            clock.sleep(Nanos::secs(5)).await;
            world.revive(disks[unpowered]);
        });
        load(&rt, &volume, &known, seed + 1, 5).await;
        volume.flush().await.unwrap();
        let last = known.borrow().acknowledged.clone();
        assert_eq!(versions(&rt, &volume).await, last, "{told}");
        let begun = rt.now();
        while array.status().health != ArrayHealth::Online {
            assert!(rt.now().since(begun) < Nanos::secs(600), "{told}: {:?}", array.status().health);
            rt.sleep(Nanos::millis(100)).await;
        }
        array.settled().await;
        assert_eq!(versions(&rt, &volume).await, last, "{told}");
        array.close().await.unwrap();
    };
    bench.with(|member| member < n, body).unwrap();
    assert_eq!(bench.unfit(), (0, false), "{what}: copies or parity do not fit");
    let last = oracle.borrow().acknowledged.clone();
    for lost in 0..n {
        let saved: Vec<_> = bench.disks.iter().map(|&disk| bench.world.save(disk)).collect();
        let found = bench.with(
            |member| member < n && member != lost,
            |rt, array| async move { versions(&rt, &array.volume("v").unwrap()).await },
        );
        assert_eq!(found.unwrap(), last, "{what} without member {lost}");
        bench.disks.iter().zip(&saved).for_each(|(&disk, saved)| bench.world.put_back(disk, saved));
    }
}

#[test]
fn what_an_awaited_member_lost_with_its_cache_it_gets_from_the_others() {
    for level in redundant() {
        let hanging: &[usize] = if level == Level::Raid6 { &[1, 2] } else { &[1] };
        for seed in 0..6 {
            survives(level, hanging, 0, seed % 2 == 0, 700 + seed * 10);
        }
    }
}

#[test]
fn when_all_members_lose_their_caches_nothing_that_was_flushed_is_lost() {
    for level in redundant() {
        for seed in 0..6 {
            let n = members(level);
            let bench = Bench::new(level, 800 + seed, n);
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let (world, disks, known) = (bench.world.clone(), bench.disks[..n].to_vec(), oracle.clone());
            let body = |rt: Runtime, array: Array| async move {
                let volume = array.volume("v").unwrap();
                load(&rt, &volume, &known, seed, 20).await;
                disks.iter().for_each(|&disk| world.lose_power_of(disk));
                let clock = rt.clone();
                rt.spawn(async move {
                    for disk in disks {
                        clock.sleep(Nanos::secs(10)).await;
                        world.revive(disk);
                    }
                });
                // Is answered when all are back.
                let found = versions(&rt, &volume).await;
                rt.sleep(Nanos::secs(60)).await;
                array.settled().await;
                known.borrow_mut().settle_on(&found, level.name());
                let settled = versions(&rt, &volume).await;
                known.borrow_mut().settle_on(&settled, level.name());
                array.close().await.unwrap();
            };
            bench.with(|member| member < n, body).unwrap();
            assert_eq!(bench.unfit(), (0, false), "{} seed {seed}", level.name());
        }
    }
}
