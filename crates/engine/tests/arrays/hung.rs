//! A device that hangs delays its own reads and the flushes that need it, and no write.

use std::cell::Cell;
use std::rc::Rc;

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
    let opened = Opened::new(seed);
    let (longest, ended) = (Rc::new(Cell::new(Nanos::ZERO)), Rc::new(Cell::new(false)));
    opened.on_all(|n, rt, volume| {
        let (world, hung, longest, ended) = (opened.world.clone(), opened.disks[1], longest.clone(), ended.clone());
        let array = (n == 0).then(|| opened.array.clone());
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
    assert!(opened.array.status().members.iter().all(|member| member.is_online()));
    let opened = opened.after_a_power_cut();
    opened.on_all(|n, rt, volume| async move {
        for i in WRITES - 800..WRITES {
            assert_eq!(get(&rt, &volume, i % 800 * u64::from(REACTORS) + n).await, 1000 + i, "seed {seed}");
        }
    });
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
