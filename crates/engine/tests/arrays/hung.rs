//! A device that hangs delays its own reads and the flushes that need it, and no write.

use std::cell::Cell;
use std::rc::Rc;

use cygnus_sim::{Cluster, World};
use cygnus_types::Nanos;

use crate::reactors::*;

/// How long the device hangs; less than the engine's patience with it.
const HANG: Nanos = Nanos::secs(20);
/// Between two writes of a reactor: what gathers meanwhile fits into the stripes that may be on their way.
const BETWEEN: Nanos = Nanos::millis(20);
const WRITES: u64 = 1100;

/// What the home reactor does while the device hangs.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    Nothing,
    Checkpoint,
}

/// The longest that any write took, on all reactors, while one device of the front-end hung.
fn longest_write(seed: u64, beside: Beside) -> Nanos {
    let world = World::new(seed);
    let disks = make(&world);
    let cluster = Cluster::new(&world, REACTORS, &disks);
    let array = open(&cluster, &world, &disks);
    let peers = attach(&cluster, &array);
    let (longest, ended) = (Rc::new(Cell::new(Nanos::ZERO)), Rc::new(Cell::new(false)));
    on_all(&cluster, &array, &peers, |n, rt, volume| {
        let (world, hung, longest, ended) = (world.clone(), disks[1], longest.clone(), ended.clone());
        let array = (n == 0).then(|| array.clone());
        async move {
            for i in 0..WRITES {
                if let Some(array) = array.clone().filter(|_| i == 20) {
                    world.hang(hung, Some(HANG));
                    let ended = ended.clone();
                    rt.spawn(async move {
                        if beside == Beside::Checkpoint {
                            array.checkpoint().await.unwrap();
                        }
                        ended.set(true);
                    });
                }
                let begun = rt.now();
                put(&rt, &volume, i % 800 * u64::from(REACTORS) + n, 1000 + i).await;
                longest.set(longest.get().max(rt.now().since(begun)));
                rt.sleep(BETWEEN).await;
            }
            // The device has gone on by now.
            volume.flush().await.unwrap();
            while !ended.get() {
                rt.sleep(BETWEEN).await;
            }
        }
    });
    assert!(array.status().members.iter().all(|member| member.is_online()));
    world.cut_power();
    stop(&cluster);
    drop((cluster, array, peers));
    world.restore_power();
    let cluster = Cluster::new(&world, REACTORS, &disks);
    let array = open(&cluster, &world, &disks);
    let peers = attach(&cluster, &array);
    on_all(&cluster, &array, &peers, |n, rt, volume| async move {
        for i in WRITES - 800..WRITES {
            assert_eq!(get(&rt, &volume, i % 800 * u64::from(REACTORS) + n).await, 1000 + i, "seed {seed}");
        }
    });
    stop(&cluster);
    longest.get()
}

#[test]
fn writers_do_not_feel_a_checkpoint_that_waits_for_a_hung_device() {
    for seed in 0..3 {
        let without = longest_write(seed, Beside::Nothing);
        let with = longest_write(seed, Beside::Checkpoint);
        // The cut takes a message there and back.
        assert!(with <= without + Nanos::millis(1), "seed {seed}: {with}, and {without} without a checkpoint");
    }
}
