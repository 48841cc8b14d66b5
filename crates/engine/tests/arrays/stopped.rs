//! The server itself is stopped for longer than any member may be: no member is blamed.

use std::sync::Arc;

use cygnus_engine::{Array, OpenOptions};
use cygnus_sim::World;
use cygnus_types::{Nanos, ReactorId};

use crate::sample::put;
use crate::sessions::*;
use crate::slow::{BLOCKS, fill, make, read_randomly};

#[test]
fn a_server_that_was_stopped_blames_no_member() {
    let world = World::new(9);
    let disks = make(&world, 2, 1, 3);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let lines = Arc::new(Lines::default());
        let array = Array::open(&rt, &devices, &OpenOptions { log: lines.clone(), ..options() }).await.unwrap();
        let volume = array.volume("v").unwrap();
        fill(&rt, &volume).await;
        read_randomly(&rt, &volume, 8, 4_000).await;
        lines.0.lock().unwrap().clear();
        for stop in [1, 33, 100, 1_000] {
            // In the middle of writes, of a flush, and of reads.
            for at in (0..BLOCKS).step_by(7) {
                put(&rt, &volume, at, at).await.unwrap();
            }
            world.pause(ReactorId(0), Nanos::secs(stop));
            volume.flush().await.unwrap();
            world.pause(ReactorId(0), Nanos::secs(stop));
            read_randomly(&rt, &volume, 8, 400).await;
        }
        let status = array.status();
        assert!(status.members.iter().all(|member| member.is_online() && !member.pace.slow), "{:?}", lines.0);
        assert!(status.members.iter().all(|member| member.pace.read_p99 < Nanos::millis(1)), "no read took that long");
        let told = lines.0.lock().unwrap().clone();
        let stops: Vec<&String> = told.iter().filter(|line| line.contains("did not run for")).collect();
        assert_eq!(stops.len(), 8, "each once: {told:?}");
        assert!(stops[0].starts_with("reactor 0 did not run for 1.00 s: the process was stopped"), "{}", stops[0]);
        array.close().await.unwrap();
    });
}
