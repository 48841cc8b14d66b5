//! Callers that go away: what they began goes on to its end, and nothing that was left undone is told to be done.

use cygnus_engine::{Array, Volume};
use cygnus_runtime::{Raced, Runtime, race};
use cygnus_sim::{DiskId, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common;
use crate::reactors::{Opened, REACTORS, put};
use crate::sessions::{MIB, options, session};

const BLOCKS: u64 = 300;
/// Moments at which callers go away, spread over the time that an operation takes.
const MOMENTS: u64 = 24;

/// Has `work` dropped after `at`; says whether it had ended by then.
async fn dropped_after<T>(rt: &Runtime, at: Nanos, work: impl Future<Output = T>) -> Option<T> {
    match race(work, rt.sleep(at)).await {
        Raced::First(result) => Some(result),
        Raced::Second(()) => None,
    }
}

/// One reactor asks for a flush and goes away; how long a flush took that was waited for.
fn flush_after_a_dropped_one(asker: usize, at: Option<Nanos>) -> Nanos {
    let opened = Opened::new(1);
    let volumes: Vec<Volume> = (0..REACTORS.into()).map(|n| opened.volume(n)).collect();
    let rts: Vec<Runtime> = (0..REACTORS.into()).map(|n| opened.cluster.reactor(n).clone()).collect();
    let took = opened.cluster.run(async move {
        for i in 0..BLOCKS {
            put(&rts[i as usize % rts.len()], &volumes[i as usize % rts.len()], i, 7 + i).await;
        }
        let begun = rts[0].now();
        if let Some(at) = at {
            dropped_after(&rts[0], at, volumes[asker].flush()).await;
        }
        volumes[asker].flush().await.unwrap();
        rts[0].now().since(begun)
    });
    let opened = opened.after_a_power_cut();
    let (volume, rt) = opened.first();
    let lost = opened.cluster.run(async move {
        let mut lost = 0;
        for i in 0..BLOCKS {
            let data = volume.read(i * 4096, rt.alloc(4096).full()).await.unwrap();
            lost += u64::from(data.bytes()[..8] != (7 + i).to_le_bytes());
        }
        lost
    });
    assert_eq!(lost.unwrap(), 0, "blocks lost of a flush that followed one dropped after {at:?} by reactor {asker}");
    took.unwrap()
}

#[test]
fn a_flush_is_true_whenever_the_one_before_it_was_dropped() {
    for asker in 0..2 {
        let whole = flush_after_a_dropped_one(asker, None);
        for moment in 0..=MOMENTS {
            flush_after_a_dropped_one(asker, Some(Nanos(whole.0 * moment / MOMENTS)));
        }
    }
}

fn array_with_data(world: &World) -> Vec<DiskId> {
    let disks = common::make(world, 3, 2, 1, 0);
    session(world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        for at in 0..BLOCKS {
            common::put(&rt, &array.volume("v").unwrap(), at, at).await;
        }
        array.close().await.unwrap();
    });
    disks
}

/// Begins `change` and drops it at several moments; each time the array must go on, close, and be flawless.
fn drop_at_every_moment(change: impl AsyncFn(&Array), then: impl AsyncFn(&Array)) {
    for moment in 0..MOMENTS {
        let world = World::new(moment);
        let disks = array_with_data(&world);
        session(&world, &disks, |rt, devices| {
            let (change, then) = (&change, &then);
            async move {
                let array = Array::open(&rt, &devices, &options()).await.unwrap();
                dropped_after(&rt, Nanos::micros(60 * moment), change(&array)).await;
                let volume = array.volume("v").unwrap();
                for at in 0..BLOCKS {
                    common::put(&rt, &volume, at, at + 9).await;
                }
                volume.flush().await.unwrap();
                then(&array).await;
                array.invariants().unwrap();
                array.close().await.unwrap();
            }
        });
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            assert!(array.recovery().was_clean);
            let volume = array.volume("v").unwrap();
            for at in 0..BLOCKS {
                let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
                assert!(data.bytes() == common::block(at + 9), "block {at}");
            }
            array.close().await.unwrap();
        });
        common::assert_clean(&world, &disks);
    }
}

#[test]
fn a_checkpoint_whose_caller_went_away_ends_and_the_next_one_begins() {
    drop_at_every_moment(
        async |array| array.checkpoint().await.unwrap(),
        async |array| {
            array.checkpoint().await.unwrap();
        },
    );
}

#[test]
fn a_volume_whose_maker_went_away_is_there_or_was_never_asked_for() {
    let make = async |array: &Array| {
        array.create_volume("w", ByteSize(MIB), 0).await.unwrap();
    };
    drop_at_every_moment(make, async |array| {
        // Waits for the one that is under way.
        let again = array.create_volume("w", ByteSize(MIB), 0).await;
        assert!(again.is_err() || array.volume("w").is_some());
        array.delete_volume("w").await.unwrap();
        assert!(array.volume("w").is_none());
    });
}
