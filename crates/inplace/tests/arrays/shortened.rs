//! Members' files that somebody shortens while they are in service. There are no checksums, and what was cut off reads as zeros as soon
//! as something is written farther behind: nothing of such a member may be believed again.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_engine::ArrayHealth;
use cygnus_format::MemberState;
use cygnus_inplace::{Array, Level};
use cygnus_runtime::Runtime;
use cygnus_types::{MemberIx, Nanos};

use crate::oracle::{Bench, Oracle, load, members, redundant, versions};

const LENGTHS: [u64; 3] = [0, 1 << 20, 5 << 20];

fn last(oracle: &Rc<RefCell<Oracle>>) -> Vec<u64> {
    oracle.borrow().acknowledged.clone()
}

#[test]
fn a_shortened_member_leaves_and_nothing_is_lost() {
    for (seed, level) in (400..).zip(redundant()) {
        for length in LENGTHS {
            let n = members(level);
            let bench = Bench::new(level, seed, n);
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let (world, disk) = (bench.world.clone(), bench.disks[1]);
            let body = |rt: Runtime, array: Array| async move {
                let volume = array.volume("v").unwrap();
                load(&rt, &volume, &oracle, seed, 20).await;
                world.shorten(disk, length);
                load(&rt, &volume, &oracle, seed + 1, 20).await;
                volume.flush().await.unwrap();
                assert_eq!(versions(&rt, &volume).await, last(&oracle), "{} at {length}", level.name());
                let status = array.status();
                assert_eq!(status.members[1].state, MemberState::Failed, "{} at {length}", level.name());
                assert_eq!(status.health, ArrayHealth::Degraded, "{} at {length}", level.name());
                array.close().await.unwrap();
            };
            bench.with(|member| member < n, body).unwrap();
        }
    }
}

#[test]
fn a_device_that_is_shortened_while_it_is_filled_is_no_member() {
    for (seed, level) in (420..).zip(redundant()) {
        let n = members(level);
        let bench = Bench::new(level, seed, n);
        let oracle = Rc::new(RefCell::new(Oracle::new()));
        let (world, old, new) = (bench.world.clone(), bench.disks[0], bench.disks[n]);
        let spare = bench.world.infos(&bench.disks)[n].clone();
        let body = |rt: Runtime, array: Array| async move {
            let volume = array.volume("v").unwrap();
            load(&rt, &volume, &oracle, seed, 20).await;
            world.kill(old);
            load(&rt, &volume, &oracle, seed + 1, 20).await;
            let job = array.replace_member(MemberIx(0), &spare, false).await.expect("the spare fits");
            rt.sleep(Nanos::millis(20)).await;
            world.shorten(new, 0);
            array.settled().await;
            rt.sleep(Nanos::secs(2)).await;
            let ended = array.jobs().into_iter().find(|known| known.id == job).map(|job| job.state);
            assert!(format!("{ended:?}").contains("Failed"), "{}: {ended:?}", level.name());
            assert_ne!(array.status().members[0].state, MemberState::Online, "{}", level.name());
            assert_eq!(versions(&rt, &volume).await, last(&oracle), "{}", level.name());
            array.close().await.unwrap();
        };
        bench.with(|member| member < n, body).unwrap();
    }
}

/// Without redundancy there is nothing to go on with: whoever reads waits, and gets no zeros.
#[test]
fn a_shortened_member_that_is_needed_suspends_the_array() {
    let n = members(Level::Raid0);
    let bench = Bench::new(Level::Raid0, 440, n);
    let oracle = Rc::new(RefCell::new(Oracle::new()));
    let (world, disk) = (bench.world.clone(), bench.disks[1]);
    let body = |rt: Runtime, array: Array| async move {
        let volume = array.volume("v").unwrap();
        load(&rt, &volume, &oracle, 1, 20).await;
        world.shorten(disk, 1 << 20);
        let reader = volume.clone();
        let waits = rt.clone();
        rt.spawn(async move { drop(versions(&waits, &reader).await) });
        rt.sleep(Nanos::secs(30)).await;
        assert_eq!(array.status().health, ArrayHealth::Suspended);
        let waits_for = array.status().suspended.map(|suspended| suspended.words()).unwrap_or_default();
        assert!(waits_for.contains("smaller"), "{waits_for}");
    };
    bench.with(|member| member < n, body).unwrap();
}
