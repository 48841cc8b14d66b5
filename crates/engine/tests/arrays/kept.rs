//! What was acknowledged outlasts a process that is killed, as long as the machine goes on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::{Array, ArrayError, OpenOptions};
use cygnus_runtime::{Keeper, Rng, Runtime, either};
use cygnus_sim::{DiskId, Machine, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common::{block, make, put};
use crate::sessions::*;

const SPREAD: u64 = 400;

fn kept_by(machine: &Arc<Machine>) -> OpenOptions {
    OpenOptions { keeper: Some(machine.clone()), ..options() }
}

/// By block, the tag that was acknowledged last, and one that was on its way.
type Tags = BTreeMap<u64, (u64, Option<u64>)>;

/// What a client knows of its blocks.
#[derive(Clone, Default)]
struct Known(Rc<RefCell<Tags>>);

impl Known {
    async fn write(&self, rt: &Runtime, array: &Array, mut rng: Rng) {
        let volume = array.volume("v").unwrap();
        for _ in 0..10_000 {
            let (at, tag) = (rng.below(SPREAD), rng.next_u64());
            self.0.borrow_mut().entry(at).or_default().1 = Some(tag);
            put(rt, &volume, at, tag).await;
            self.0.borrow_mut().insert(at, (tag, None));
            rt.sleep(Nanos::micros(rng.below(30))).await;
        }
    }

    async fn verify(&self, rt: &Runtime, array: &Array) {
        let (volume, buf) = (array.volume("v").unwrap(), rt.alloc(4096));
        let known: Vec<_> = self.0.borrow().clone().into_iter().collect();
        for (at, (acknowledged, on_its_way)) in known {
            let data = volume.read(at * 4096, buf.full()).await.unwrap();
            let is = |tag: u64| data.bytes() == if tag == 0 { vec![0; 4096] } else { block(tag) };
            let found = [Some(acknowledged), on_its_way].into_iter().flatten().find(|&tag| is(tag));
            let found = found.unwrap_or_else(|| panic!("block {at} is neither {acknowledged} nor {on_its_way:?}"));
            self.0.borrow_mut().insert(at, (found, None));
        }
    }
}

/// Opens the array, perhaps not to the end, has a client write to it and kills the process. Returns how many blocks the one before
/// had left.
fn killed(world: &World, disks: &[DiskId], machine: &Arc<Machine>, known: &Known, rng: &mut Rng) -> u64 {
    for _ in 0..rng.below(3) {
        let after = Nanos::micros(rng.below(20_000));
        session(world, disks, |rt, devices| async move {
            let options = kept_by(machine);
            let nap = rt.sleep(after);
            either(async { drop(Array::open(&rt, &devices, &options).await) }, nap).await;
        });
    }
    let (after, writes) = (Nanos::micros(rng.below(60_000)), rng.fork());
    let known = known.clone();
    session(world, disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &kept_by(machine)).await.unwrap();
        known.verify(&rt, &array).await;
        let nap = rt.sleep(after);
        either(known.write(&rt, &array, writes), nap).await;
        array.recovery().restored_blocks
    })
}

#[test]
fn a_process_may_be_killed_at_any_moment() {
    let mut restored = 0;
    for seed in 0..24 {
        let (world, machine, mut rng) = (World::new(seed), Arc::new(Machine::default()), Rng::new(seed));
        let (groups, m) = (1 + seed as usize % 2, 1 + (seed / 2 % 2) as u8);
        let disks = make(&world, groups, 3, m, 0);
        let known = Known::default();
        for _ in 0..6 {
            restored += killed(&world, &disks, &machine, &known, &mut rng);
        }
        // Of a member that is gone, too.
        world.kill(disks[(seed % 4) as usize]);
        session(&world, &disks, |rt, devices| {
            let (machine, known) = (machine.clone(), known.clone());
            async move {
                let array = Array::open(&rt, &devices, &kept_by(&machine)).await.unwrap();
                known.verify(&rt, &array).await;
                array.close().await.unwrap();
                assert!(machine.left().unwrap().is_none(), "nothing is left of an array that was closed");
            }
        });
    }
    assert!(restored > 1000, "{restored} blocks were on their way");
}

/// An array that was killed with some blocks in memory, and what it leaves.
fn left_behind(world: &World, machine: &Arc<Machine>) -> Vec<DiskId> {
    let disks = make(world, 1, 3, 1, 0);
    session(world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &kept_by(machine)).await.unwrap();
        let volume = array.volume("v").unwrap();
        for at in 0..5 {
            put(&rt, &volume, at, 70 + at).await;
        }
    });
    disks
}

#[test]
fn what_has_changed_in_memory_is_not_believed() {
    let (world, machine) = (World::new(1), Arc::new(Machine::default()));
    let disks = left_behind(&world, &machine);
    let left = machine.left().unwrap().unwrap();
    let mut whole = vec![0; left.len().unwrap() as usize];
    left.read(0, &mut whole).unwrap();
    let at = whole.windows(8).position(|bytes| bytes == &block(72)[..8]).expect("its block is there");
    left.write(at as u64, &[0xff; 8]).unwrap();
    session(&world, &disks, |rt, devices| async move {
        let refused = Array::open(&rt, &devices, &kept_by(&machine)).await.map(drop).unwrap_err();
        assert!(matches!(&refused, ArrayError::Remains { why, .. } if why.contains("checksum")), "{refused}");
        let array = Array::open_by_force(&rt, &devices, &kept_by(&machine)).await.unwrap();
        let data = array.volume("v").unwrap().read(0, rt.alloc(4096).full()).await.unwrap();
        assert_eq!(data.bytes(), vec![0; 4096], "no flush had covered it");
        array.close().await.unwrap();
    });
}

/// By size and by its first block, which only somebody else can have changed: the process that was killed had written them first.
#[test]
fn what_was_cut_off_in_memory_is_missed() {
    let (world, machine) = (World::new(2), Arc::new(Machine::default()));
    let disks = left_behind(&world, &machine);
    let left = machine.left().unwrap().unwrap();
    let mut header = [0; 4096];
    left.read(0, &mut header).unwrap();
    let refused_for = |what: &'static str| {
        let machine = machine.clone();
        session(&world, &disks, |rt, devices| async move {
            let refused = Array::open(&rt, &devices, &kept_by(&machine)).await.map(drop).unwrap_err();
            assert!(matches!(&refused, ArrayError::Remains { why, .. } if why.contains(what)), "{refused}");
        });
    };
    left.write(0, &[0; 4096]).unwrap();
    refused_for("lost its beginning");
    left.write(0, &header).unwrap();
    // As many cells as it should have are the last of the numbers: more than there are.
    let (at, mut cells) = (2 * 4096 - 8, [0; 8]);
    left.read(at, &mut cells).unwrap();
    left.write(at, &(u64::from_le_bytes(cells) + 1).to_le_bytes()).unwrap();
    refused_for("cut short");
    left.write(at, &cells).unwrap();
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &kept_by(&machine)).await.unwrap();
        let data = array.volume("v").unwrap().read(2 * 4096, rt.alloc(4096).full()).await.unwrap();
        assert!(data.bytes() == block(72), "as long as it is refused it stays");
        array.close().await.unwrap();
    });
}

/// Opens the array as a command does that changes something, perhaps not to the end: it looks at what was left, and keeps nothing.
fn commanded(world: &World, disks: &[DiskId], places: &[Arc<Machine>; 2], rng: &mut Rng) {
    let left_with = places.iter().map(|place| place.clone() as Arc<dyn Keeper>).collect();
    let options = OpenOptions { left_with, ..options() };
    let after = Nanos::micros(rng.below(30_000));
    session(world, disks, |rt, devices| async move {
        let nap = rt.sleep(after);
        let command = async {
            let array = Array::open(&rt, &devices, &options).await.unwrap();
            // One that was killed may have made it.
            drop(array.create_volume("w", ByteSize(MIB), 0).await);
            array.delete_volume("w").await.unwrap();
            array.close().await.unwrap();
        };
        either(command, nap).await;
    });
}

#[test]
fn whoever_opens_the_array_next_puts_it_on_the_members_first() {
    let (mut restored, mut empty) = (0, 0);
    for seed in 0..40 {
        let (world, mut rng) = (World::new(seed), Rng::new(seed));
        let places = ["a", "b"].map(|place| Arc::new(Machine::at(place)));
        let disks = make(&world, 1, 3, 1, 0);
        let known = Known::default();
        for _ in 0..5 {
            let (at, after, writes) = (rng.below(2) as usize, Nanos::micros(rng.below(60_000)), rng.fork());
            let left_with = places.iter().map(|place| place.clone() as Arc<dyn Keeper>).collect();
            let kept = OpenOptions { left_with, ..kept_by(&places[at]) };
            let known = known.clone();
            restored += session(&world, &disks, |rt, devices| async move {
                let array = Array::open(&rt, &devices, &kept).await.unwrap();
                known.verify(&rt, &array).await;
                let nap = rt.sleep(after);
                either(known.write(&rt, &array, writes), nap).await;
                array.recovery().restored_blocks
            });
            assert!(places[1 - at].left().unwrap().is_none(), "it is on the members");
            for _ in 0..rng.below(3) {
                commanded(&world, &disks, &places, &mut rng);
                empty += u32::from(places.iter().all(|place| place.left().unwrap().is_none()));
            }
        }
        let left_with = places.iter().map(|place| place.clone() as Arc<dyn Keeper>).collect();
        let options = OpenOptions { left_with, ..options() };
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options).await.unwrap();
            known.verify(&rt, &array).await;
            array.close().await.unwrap();
        });
    }
    assert!(restored > 300 && empty > 30, "{restored} blocks, {empty} commands that had put all there");
}

#[test]
fn a_place_that_is_named_twice_is_looked_at_once() {
    let (world, machine) = (World::new(6), Arc::new(Machine::default()));
    let disks = left_behind(&world, &machine);
    session(&world, &disks, |rt, devices| async move {
        let options = OpenOptions { left_with: vec![machine.clone()], ..kept_by(&machine) };
        let array = Array::open(&rt, &devices, &options).await.unwrap();
        assert_eq!(array.recovery().restored_blocks, 5);
        array.close().await.unwrap();
    });
}

#[test]
fn what_an_earlier_session_left_is_not_put_back() {
    let (world, machine) = (World::new(2), Arc::new(Machine::default()));
    let disks = left_behind(&world, &machine);
    session(&world, &disks, |rt, devices| async move {
        // Somebody else serves it meanwhile, on another machine.
        let elsewhere = Arc::new(Machine::default());
        let array = Array::open(&rt, &devices, &kept_by(&elsewhere)).await.unwrap();
        put(&rt, &array.volume("v").unwrap(), 0, 99).await;
        array.volume("v").unwrap().flush().await.unwrap();
    });
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &kept_by(&machine)).await.unwrap();
        let data = array.volume("v").unwrap().read(0, rt.alloc(4096).full()).await.unwrap();
        assert!(data.bytes() == block(99));
        assert_eq!(array.recovery().restored_blocks, 0);
        array.close().await.unwrap();
    });
}

#[test]
fn members_that_do_not_take_it_are_named_and_nothing_is_lost() {
    let (world, machine) = (World::new(3), Arc::new(Machine::default()));
    let disks = left_behind(&world, &machine);
    disks[..2].iter().for_each(|&disk| world.fail_writes(disk, Some(cygnus_runtime::IoErrorKind::NoSpace)));
    let (world, disks) = (&world, &disks);
    session(world, disks, |rt, devices| async move {
        let refused = Array::open(&rt, &devices, &kept_by(&machine)).await.map(drop).unwrap_err();
        assert!(matches!(&refused, ArrayError::Remains { why, .. } if why.contains("d0: ")), "{refused}");
        disks[..2].iter().for_each(|&disk| world.fail_writes(disk, None));
        let array = Array::open(&rt, &devices, &kept_by(&machine)).await.unwrap();
        assert_eq!(array.recovery().restored_blocks, 5);
        array.close().await.unwrap();
    });
}

#[test]
fn an_array_that_was_closed_while_it_waited_has_all_at_the_next_opening() {
    let (world, machine) = (World::new(4), Arc::new(Machine::default()));
    let disks = make(&world, 1, 3, 1, 0);
    let (world, disks) = (&world, &disks);
    session(world, disks, |rt, devices| {
        let machine = machine.clone();
        async move {
            let array = Array::open(&rt, &devices, &kept_by(&machine)).await.unwrap();
            let volume = array.volume("v").unwrap();
            disks[..2].iter().for_each(|&disk| world.fail_writes(disk, Some(cygnus_runtime::IoErrorKind::NoSpace)));
            for at in 0..5 {
                put(&rt, &volume, at, 70 + at).await;
            }
            array.close().await.unwrap_err();
        }
    });
    disks[..2].iter().for_each(|&disk| world.fail_writes(disk, None));
    session(world, disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &kept_by(&machine)).await.unwrap();
        let volume = array.volume("v").unwrap();
        for at in 0..5 {
            let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
            assert!(data.bytes() == block(70 + at), "block {at}");
        }
        array.close().await.unwrap();
    });
}

#[test]
fn what_is_of_the_other_copy_is_not_put_on_this_one() {
    let (world, machine) = (World::new(5), Arc::new(Machine::default()));
    let disks = make(&world, 1, 1, 1, 0);
    // Each copy has a session of the same number without the other one.
    for (n, flushed) in [(0, true), (1, false)] {
        session(&world, &disks[n..=n], |rt, devices| {
            let machine = machine.clone();
            async move {
                let array = Array::open(&rt, &devices, &kept_by(&machine)).await.unwrap();
                let volume = array.volume("v").unwrap();
                for at in 0..5 {
                    put(&rt, &volume, at, 70 + 10 * n as u64 + at).await;
                }
                if flushed {
                    volume.flush().await.unwrap();
                }
            }
        });
    }
    session(&world, &disks[..1], |rt, devices| async move {
        let refused = Array::open(&rt, &devices, &kept_by(&machine)).await.map(drop).unwrap_err();
        assert!(matches!(&refused, ArrayError::Remains { why, .. } if why.contains("went on without")), "{refused}");
        let array = Array::open_by_force(&rt, &devices, &kept_by(&machine)).await.unwrap();
        let volume = array.volume("v").unwrap();
        for at in 0..5 {
            let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
            assert!(data.bytes() == block(70 + at), "block {at}");
        }
        array.close().await.unwrap();
    });
}

/// An array that was stopped, served again and killed, and whose members have lost the superblock that told of it: of what was in memory
/// then, nothing may come up, neither as the forced session begins nor as another goes on after that.
#[test]
fn a_session_begun_by_force_is_not_taken_for_the_one_that_was_lost() {
    let (world, [old, new]) = (World::new(8), ["a", "b"].map(|place| Arc::new(Machine::at(place))));
    let disks = make(&world, 1, 1, 1, 0);
    let write = |tag: u64, ends: bool| {
        let old = &old;
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &kept_by(old)).await.unwrap();
            let volume = array.volume("v").unwrap();
            for at in 0..5 {
                put(&rt, &volume, at, tag + at).await;
            }
            if ends {
                array.close().await.unwrap();
            }
        });
    };
    write(70, true);
    write(80, false);
    for &disk in &disks {
        let mut head = vec![0; cygnus_format::SUPERBLOCK_AREA as usize];
        world.peek(disk, 0, &mut head);
        let newest = cygnus_format::Superblock::newest(&head).unwrap().generation;
        cygnus_format::copies_for(newest).into_iter().for_each(|at| world.flip_bit(disk, at + 300, 3));
    }
    let lines = Arc::new(Lines::default());
    for forced in [true, false] {
        let log = lines.clone();
        let kept = OpenOptions { left_with: vec![old.clone(), new.clone()], log, ..kept_by(&new) };
        session(&world, &disks, |rt, devices| async move {
            let array = match forced {
                true => Array::open_by_force(&rt, &devices, &kept).await.unwrap(),
                false => Array::open(&rt, &devices, &kept).await.unwrap(),
            };
            assert_eq!(array.recovery().restored_blocks, 0, "forced: {forced}");
            let volume = array.volume("v").unwrap();
            for at in 0..5 {
                let data = volume.read(at * 4096, rt.alloc(4096).full()).await;
                let is_right = data.as_ref().is_ok_and(|data| data.bytes() == block(if forced { 70 } else { 90 } + at));
                assert!(is_right || forced && data.is_err(), "block {at}");
                put(&rt, &volume, at, 90 + at).await;
            }
            volume.flush().await.unwrap();
        });
    }
    let lines = lines.0.lock().unwrap();
    let told = |line: &&String| line.contains("by force: what the server") && line.contains("(memorya)");
    assert!(lines.iter().any(|line| told(&line)), "what is given up is said: {lines:?}");
}
