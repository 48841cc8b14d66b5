//! Stores on arrays of simulated disks.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::rc::Rc;
use std::sync::Arc;

use cygnus::{Array, ByteSize, CreateOptions, DeviceInfo, Log, OpenOptions, Preset, Runtime, Volume, create};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ReactorId, Rng};
use cygnus_volume::{BlockVolume, VolumeError};
use proptest::prelude::*;

use crate::fickle::Fickle;
use crate::head::LEAST;
use crate::planted::{Bug, plant};
use crate::{Error, MAX_KEY, MAX_VALUE, Store};

const KEYS: u64 = 40;

struct Silent;

impl Log for Silent {
    fn line(&self, _: &str) {}
}

fn options() -> OpenOptions {
    OpenOptions::new(Arc::new(Silent))
}

/// Runs `body` on a fresh reactor over the disks; `None` if the power goes.
fn try_session<T, F: Future<Output = T>>(
    world: &World,
    disks: &[DiskId],
    body: impl FnOnce(Runtime, Vec<DeviceInfo>) -> F,
) -> Option<T> {
    let rt = world.reactor(ReactorId(0), disks);
    let result = rt.run(body(rt.clone(), world.infos(disks)));
    rt.drop_tasks();
    result.ok()
}

/// An array of 2+1 with a volume of this size, and its disks.
fn made(world: &World, size: u64) -> Vec<DiskId> {
    let disks: Vec<DiskId> = (0..3).map(|n| world.add_disk(DiskConfig::new(format!("d{n}"), 32 << 20))).collect();
    let how =
        CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1) };
    let made = try_session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume("kv", ByteSize(size), 0).await.unwrap();
        array.close().await.unwrap();
    });
    made.expect("the power stays");
    disks
}

/// Runs `body` with the array's volume, and closes the array.
fn with_volume<T, F: Future<Output = T>>(
    world: &World,
    disks: &[DiskId],
    body: impl FnOnce(Runtime, Volume) -> F,
) -> T {
    let done = try_session(world, disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let done = body(rt, array.volume("kv").unwrap()).await;
        array.close().await.unwrap();
        done
    });
    done.expect("the power stays")
}

/// Runs `body` with the volume of a new array.
fn on_new<T, F: Future<Output = T>>(body: impl FnOnce(Runtime, Volume) -> F) -> T {
    let world = World::new(1);
    let disks = made(&world, LEAST);
    with_volume(&world, &disks, body)
}

/// What the `n`-th operation stores.
fn value(n: u64, len: usize) -> Vec<u8> {
    (0..len).map(|at| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (at % 8 * 8)) as u8 ^ at as u8).collect()
}

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// A key, and the length of the value that it gets; `None`: it is deleted.
type Operation = (u64, Option<usize>);

fn key(number: u64) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

async fn apply<V: BlockVolume>(store: &mut Store<V>, n: usize, &(number, len): &Operation) {
    match len {
        Some(len) => store.put(&key(number), &value(n as u64, len)).await.unwrap(),
        None => drop(store.delete(&key(number)).await.unwrap()),
    }
}

/// What a store holds after the first `count` operations.
fn expected(operations: &[Operation], count: usize) -> Contents {
    expected_after(Contents::new(), &operations[..count])
}

/// What a store that held this holds after some operations.
fn expected_after(mut all: Contents, operations: &[Operation]) -> Contents {
    for (n, &(number, len)) in operations.iter().enumerate() {
        match len {
            Some(len) => all.insert(key(number), value(n as u64, len)),
            None => all.remove(&key(number)),
        };
    }
    all
}

async fn contents<V: BlockVolume>(store: &Store<V>) -> Contents {
    let mut all = BTreeMap::new();
    for key in store.keys() {
        all.insert(key.to_vec(), store.get(key).await.unwrap().expect("it is listed"));
    }
    all
}

fn operations(seed: u64, count: usize) -> Vec<Operation> {
    let mut rng = Rng::new(seed);
    let one = |_| (rng.below(KEYS), (rng.below(5) > 0).then(|| rng.below(50_000) as usize));
    (0..count).map(one).collect()
}

/// Stores and deletes until the power goes after so many steps. What a flush had covered is there, and of what came later a beginning.
fn survives(seed: u64) {
    let (world, operations) = (World::new(seed), operations(seed, 250));
    let disks = made(&world, LEAST);
    let (flushed, begun) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    with_volume(&world, &disks, |rt, volume| async move {
        Store::format(&rt, volume).await.unwrap().close().await.unwrap()
    });
    world.cut_power_after(Some(world.steps() + 500 + seed * 89 % 12_000));
    let told = (flushed.clone(), begun.clone(), operations.clone());
    try_session(&world, &disks, |rt, devices| async move {
        let (flushed, begun, operations) = told;
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let mut store = Store::open(&rt, array.volume("kv").unwrap()).await.unwrap();
        for (n, operation) in operations.iter().enumerate() {
            begun.set(n + 1);
            apply(&mut store, n, operation).await;
            if n % 7 == 0 {
                store.flush().await.unwrap();
                flushed.set(n + 1);
            }
        }
    });
    world.cut_power();
    world.restore_power();
    let found = with_volume(&world, &disks, |rt, volume| async move {
        let store = Store::open(&rt, volume).await.unwrap();
        contents(&store).await
    });
    let may_be = flushed.get()..=begun.get();
    assert!(may_be.clone().any(|count| found == expected(&operations, count)), "seed {seed}: not as after {may_be:?}");
}

#[test]
fn what_was_flushed_survives_power_cuts() {
    (0..100).for_each(survives);
}

/// Operations, and a compaction now and then, on a volume that keeps what it likes of what was not flushed when the power is cut. The store goes on with
/// what is left, again and again.
fn survives_a_fickle_volume(seed: u64) {
    let rt = World::new(seed).reactor(ReactorId(0), &[]);
    let run = rt.run(async {
        let (mut volume, mut known) = (Fickle::new(LEAST, seed), Contents::new());
        Store::format(&rt, volume.clone()).await.unwrap();
        for round in 0..6 {
            let operations = operations(seed * 100 + round, 12);
            let mut store = Store::open(&rt, volume.clone()).await.unwrap();
            assert_eq!(contents(&store).await, known, "seed {seed}: what was found is found again");
            let flushed = if round % 2 == 0 { 7 } else { operations.len() };
            for (n, operation) in operations.iter().enumerate() {
                apply(&mut store, n, operation).await;
                if n + 1 == flushed {
                    store.flush().await.unwrap();
                }
            }
            if flushed == operations.len() {
                volume.cut_within(store.keys().count() as u64 + 2);
                store.compact().await.unwrap();
            }
            volume = volume.after_a_cut();
            let found = contents(&Store::open(&rt, volume.clone()).await.unwrap()).await;
            let mut may_be = flushed..=operations.len();
            let is_after = |count: usize| expected_after(known.clone(), &operations[..count]) == found;
            assert!(may_be.any(is_after), "seed {seed}, round {round}");
            known = found;
        }
    });
    run.expect("nothing is waited for");
}

#[test]
fn whatever_a_volume_keeps_what_was_flushed_is_there() {
    (0..60).for_each(survives_a_fickle_volume);
}

#[test]
fn a_half_that_is_named_before_it_is_durable_is_noticed() {
    plant(Some(Bug::NamedUnflushed));
    let lost = (0..60).find(|&seed| catch_unwind(|| survives_a_fickle_volume(seed)).is_err());
    plant(None);
    survives_a_fickle_volume(lost.expect("some seed finds it"));
}

/// A power cut takes the first of two records and leaves the second; then the first is stored anew. Says whether the second is there.
fn what_was_left_behind_counts() -> bool {
    on_new(|rt, volume| async move {
        let mut store = Store::format(&rt, volume.clone()).await.unwrap();
        store.put(b"a", b"first").await.unwrap();
        store.put(b"b", b"other").await.unwrap();
        let len = store.usage().used / 2;
        drop(store);
        volume.write_zeroes(BLOCK as u64, len, false).await.unwrap();
        let mut store = Store::open(&rt, volume.clone()).await.unwrap();
        assert_eq!(store.usage().used, 0);
        store.put(b"a", b"again").await.unwrap();
        drop(store);
        let store = Store::open(&rt, volume).await.unwrap();
        assert_eq!(store.get(b"a").await.unwrap().as_deref(), Some(&b"again"[..]));
        store.get(b"b").await.unwrap().is_some()
    })
}

/// A compaction finds no space in its midst; keys are deleted, and the next one is done. Says whether a deleted key is there again.
fn what_a_failed_compaction_left_counts() -> bool {
    let rt = World::new(1).reactor(ReactorId(0), &[]);
    let run = rt.run(async {
        let volume = Fickle::new(LEAST, 1);
        let mut store = Store::format(&rt, volume.clone()).await.unwrap();
        for n in 0..9 {
            store.put(&key(n), b"of one length").await.unwrap();
        }
        volume.full_after(Some(7));
        assert_eq!(store.compact().await, Err(Error::Volume(VolumeError::NoSpace)));
        volume.full_after(None);
        assert_eq!(contents(&store).await.len(), 9, "all is as before");
        for n in 2..7 {
            assert!(store.delete(&key(n)).await.unwrap());
        }
        store.compact().await.unwrap();
        store.close().await.unwrap();
        Store::open(&rt, volume).await.unwrap().get(&key(5)).await.unwrap().is_some()
    });
    run.expect("nothing is waited for")
}

#[test]
fn a_header_that_may_not_be_there_is_told_with_the_volumes_reason_and_the_remedy_works() {
    use std::error::Error as _;
    let unsettled = Error::Unsettled(Some(VolumeError::NoSpace));
    let rt = World::new(1).reactor(ReactorId(0), &[]);
    let run = rt.run(async {
        let volume = Fickle::new(LEAST, 1);
        let full = |after| volume.full_after(after);
        full(Some(0));
        assert_eq!(Store::format(&rt, volume.clone()).await.err(), Some(unsettled));
        full(None);
        let mut store = Store::format(&rt, volume.clone()).await.unwrap();
        for n in 0..9 {
            store.put(&key(n), b"of one length").await.unwrap();
        }
        full(Some(9));
        let told = store.compact().await.unwrap_err();
        assert_eq!(told, unsettled, "all nine are copied, and the header is not written");
        assert_eq!(told.source().map(ToString::to_string), Some(VolumeError::NoSpace.to_string()));
        full(None);
        assert_eq!(contents(&store).await.len(), 9, "it still reads");
        assert_eq!(store.put(&key(1), b"new").await, Err(unsettled));
        assert_eq!(store.close().await, Err(unsettled));
        full(Some(0));
        assert_eq!(Store::open(&rt, volume.clone()).await.err(), Some(unsettled));
        full(None);
        let store = Store::open(&rt, volume.clone()).await.unwrap();
        assert_eq!(contents(&store).await.len(), 9);
        full(Some(0));
        assert_eq!(store.close().await, Err(unsettled));
        full(None);
        assert_eq!(contents(&Store::open(&rt, volume.clone()).await.unwrap()).await.len(), 9);
    });
    run.expect("nothing is waited for");
}

/// What must not be is not, and is where leftovers count.
fn comes_back_only_if_leftovers_count(what_came_back: fn() -> bool) {
    assert!(!what_came_back());
    plant(Some(Bug::LeftoversCount));
    let counts = what_came_back();
    plant(None);
    assert!(counts, "the test would not notice");
}

#[test]
fn records_of_a_failed_compaction_do_not_come_back() {
    comes_back_only_if_leftovers_count(what_a_failed_compaction_left_counts);
}

#[test]
fn records_behind_a_loss_do_not_come_back() {
    comes_back_only_if_leftovers_count(what_was_left_behind_counts);
}

#[test]
fn a_full_store_says_so_and_goes_on() {
    on_new(|rt, volume| async move {
        let mut store = Store::format(&rt, volume.clone()).await.unwrap();
        let mut stored = 0;
        let full = loop {
            match store.put(&key(stored), &vec![7; 100_000]).await {
                Ok(()) => stored += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(full, Error::Full);
        assert!(stored > 15 && contents(&store).await.len() as u64 == stored);
        for n in 0..stored {
            assert!(store.delete(&key(n)).await.unwrap() && !store.delete(&key(n)).await.unwrap());
        }
        assert_eq!((store.usage().live, store.keys().count()), (0, 0));
        store.put(b"again", &vec![8; MAX_VALUE]).await.unwrap();
        store.compact().await.unwrap();
        assert_eq!(store.usage().used, store.usage().live);
        store.close().await.unwrap();
        let store = Store::open(&rt, volume).await.unwrap();
        assert_eq!(store.get(b"again").await.unwrap(), Some(vec![8; MAX_VALUE]));
    });
}

#[test]
fn what_is_wrong_is_said() {
    on_new(|rt, volume| async move {
        assert_eq!(Store::open(&rt, volume.clone()).await.err(), Some(Error::NoStore));
        let mut store = Store::format(&rt, volume.clone()).await.unwrap();
        assert_eq!(store.put(b"", b"").await, Err(Error::Key(0)));
        assert_eq!(store.put(&vec![1; MAX_KEY + 1], b"").await, Err(Error::Key(MAX_KEY + 1)));
        assert_eq!(store.put(b"a", &vec![1; MAX_VALUE + 1]).await, Err(Error::Value(MAX_VALUE + 1)));
        store.put(b"a", b"first").await.unwrap();
        store.put(b"b", b"").await.unwrap();
        // Somebody else writes to the volume, while the store is open and when it was closed.
        let offset = BLOCK as u64;
        volume.write_zeroes(offset, 1, false).await.unwrap();
        assert_eq!(store.get(b"a").await, Err(Error::Damaged { offset }));
        assert_eq!(store.get(b"b").await, Ok(Some(Vec::new())));
        assert_eq!(store.compact().await, Err(Error::Damaged { offset }));
        store.close().await.unwrap();
        assert_eq!(Store::open(&rt, volume.clone()).await.err(), Some(Error::Damaged { offset }));
        volume.write_zeroes(16, 1, false).await.unwrap();
        assert_eq!(Store::open(&rt, volume).await.err(), Some(Error::Damaged { offset: 0 }));
    });
    let world = World::new(2);
    let disks = made(&world, LEAST - BLOCK as u64);
    let small = with_volume(&world, &disks, |rt, volume| async move {
        assert!(matches!(Store::open(&rt, volume.clone()).await.err(), Some(Error::TooSmall { .. })));
        Store::format(&rt, volume).await.err()
    });
    assert_eq!(small, Some(Error::TooSmall { size: LEAST - BLOCK as u64, least: LEAST }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn a_store_is_a_map(seed: u64, reopened in 1..40_usize, compacted in 1..60_usize) {
        let operations = operations(seed, 200);
        let found = on_new(|rt, volume| {
            let operations = operations.clone();
            async move {
                let mut store = Store::format(&rt, volume.clone()).await.unwrap();
                for (n, operation) in operations.iter().enumerate() {
                    apply(&mut store, n, operation).await;
                    if n % compacted == 0 {
                        store.compact().await.unwrap();
                    }
                    if n % reopened == 0 {
                        store.close().await.unwrap();
                        store = Store::open(&rt, volume.clone()).await.unwrap();
                    }
                }
                contents(&store).await
            }
        });
        prop_assert_eq!(found, expected(&operations, operations.len()));
    }
}
