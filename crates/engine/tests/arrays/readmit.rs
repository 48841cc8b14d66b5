//! Members that are out of service take part again by force, where their groups lack too many others. Never is anything old
//! shown.

use cygnus_engine::{Array, ArrayError, ArrayHealth, Readmitted, Verdict, VolumeError, check};
use cygnus_format::MemberState;
use cygnus_runtime::{DeviceInfo, IoErrorKind, Rng, Runtime};
use cygnus_sim::{DiskId, World};
use cygnus_types::MemberIx;

use crate::common::*;
use crate::sessions::*;

/// What was written when all members were there, and what since the first one failed.
const NEW: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Crash,
    Clean,
}

/// An array whose member 0 failed while every `step`th block was written anew, so that the superblocks say so.
struct Story {
    world: World,
    disks: Vec<DiskId>,
    parity: usize,
    step: u64,
}

impl Story {
    fn new(seed: u64, (groups, k, m): (usize, u8, u8), step: u64, end: End) -> Self {
        let world = World::new(seed);
        let disks = make(&world, groups, k, m, 0);
        session(&world, &disks, |rt, devices| {
            let (world, first) = (world.clone(), disks[0]);
            async move {
                let (array, volume) = open(&rt, &devices).await;
                fill(&rt, &volume, 0).await;
                world.fail_writes(first, Some(IoErrorKind::Medium));
                for at in (0..BLOCKS).step_by(step as usize) {
                    put(&rt, &volume, at, NEW + at).await;
                }
                volume.flush().await.unwrap();
                assert_eq!(states(&array)[0], MemberState::Failed);
                if end == End::Clean {
                    array.close().await.unwrap();
                }
            }
        });
        world.fail_writes(disks[0], None);
        if end == End::Crash {
            world.cut_power();
            world.restore_power();
        }
        Self { world, disks, parity: usize::from(m), step }
    }

    /// All disks but as many of the first group as make it lack one too many.
    fn left(&self) -> Vec<DiskId> {
        let mut left = self.disks.clone();
        left.drain(1..=self.parity);
        left
    }

    fn newest(&self, at: u64) -> u64 {
        if at.is_multiple_of(self.step) { NEW + at } else { at }
    }

    /// Opens by force and reads everything: how many blocks there are, how many are unreadable, and what the opening said.
    fn force(&self) -> (u64, u64, Readmitted) {
        session(&self.world, &self.left(), |rt, devices| async move {
            let array = Array::open_by_force(&rt, &devices, &options()).await.unwrap();
            let (readable, unreadable) = self.read(&rt, &array).await;
            let readmission = array.recovery().readmission.clone().expect("somebody was re-admitted");
            assert_eq!(states(&array)[..2], [MemberState::Online, MemberState::Missing]);
            (readable, unreadable, readmission)
        })
    }

    async fn read(&self, rt: &cygnus_runtime::Runtime, array: &Array) -> (u64, u64) {
        let volume = array.volume("v").unwrap();
        let (mut readable, mut unreadable) = (0, 0);
        for at in 0..BLOCKS {
            match volume.read(at * 4096, rt.alloc(4096).full()).await {
                Ok(data) => {
                    assert!(data.bytes() == block(self.newest(at)), "block {at} is not the newest");
                    readable += 1;
                }
                Err(VolumeError::Unreadable { .. } | VolumeError::Unknown { .. }) => unreadable += 1,
                Err(error) => panic!("{error}"),
            }
        }
        (readable, unreadable)
    }
}

#[test]
fn without_force_the_refusal_says_who_can_be_readmitted() {
    let story = Story::new(1, (1, 2, 1), 10, End::Crash);
    let error = session(&story.world, &story.left(), |rt, devices| async move {
        Array::open(&rt, &devices, &options()).await.map(drop).unwrap_err()
    });
    let text = error.to_string();
    assert!(matches!(error, ArrayError::TooManyMissing { .. }), "{text}");
    for words in ["d0 is recorded as failed, since session", "re-admit d0 by force", "array check", "serve --force"] {
        assert!(text.contains(words), "{words:?} in: {text}");
    }
}

#[test]
fn a_member_that_failed_is_readmitted_and_shows_nothing_old() {
    for shape in [(1, 2, 1), (2, 2, 1), (1, 5, 1), (1, 3, 2)] {
        for (seed, step) in [(1, 100), (2, 7), (3, 1)] {
            let story = Story::new(seed, shape, step, End::Crash);
            let (readable, unreadable, said) = story.force();
            let context = format!("{shape:?} {step}: {readable} readable, {unreadable} not, {said:?}");
            assert!(unreadable <= BLOCKS.div_ceil(step), "more is lost than was written since: {context}");
            assert_eq!((said.volumes[0].readable, said.volumes[0].lost), (readable, unreadable), "{context}");
            assert!(!said.volumes[0].in_doubt && said.lost_pages == 0, "{context}");
            assert!(step > 1 || readable > 0 && unreadable > 0, "columns that are there are used: {context}");
        }
    }
}

#[test]
fn what_a_checkpoint_had_since_is_unreadable_rather_than_old() {
    for shape in [(1, 2, 1), (2, 2, 1), (1, 3, 2)] {
        for (seed, step) in [(1, 100), (2, 3)] {
            let story = Story::new(seed, shape, step, End::Clean);
            let (readable, unreadable, said) = story.force();
            assert_eq!(readable + unreadable, BLOCKS, "{shape:?} {step}: {said:?}");
        }
    }
}

#[test]
fn a_dry_run_writes_nothing_and_foresees_what_force_does() {
    for end in [End::Crash, End::Clean] {
        let story = Story::new(4, (2, 2, 1), 5, end);
        let written = |story: &Story| -> Vec<u64> {
            story.disks.iter().map(|&disk| story.world.stats(disk).written_bytes).collect()
        };
        let before = written(&story);
        let report = session(&story.world, &story.left(), |rt, devices| async move {
            check(&rt, &devices, &options(), |_| {}).await.unwrap()
        });
        assert_eq!(written(&story), before);
        assert_eq!(report.verdict(), Verdict::BeyondRedundancy);
        let foreseen = report.readmission.expect("d0 can be re-admitted");
        assert_eq!(foreseen.members, [(MemberIx(0), "d0".to_string(), MemberState::Failed)]);
        let (readable, unreadable, _) = story.force();
        if end == End::Crash {
            assert_eq!(foreseen.volumes[0].lost, unreadable);
        }
        assert_eq!(foreseen.volumes[0].readable, readable, "{end:?}");
    }
}

/// Afterwards it is an array like any other: what is written anew can be read, it needs no force any more, and the member that
/// was away comes back and is caught up.
#[test]
fn the_array_lives_on() {
    let story = Story::new(5, (1, 2, 1), 3, End::Crash);
    session(&story.world, &story.left(), |rt, devices| async move {
        let array = Array::open_by_force(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        fill(&rt, &volume, 5).await;
        verify(&rt, &volume, |at| at + 5).await;
        array.close().await.unwrap();
    });
    session(&story.world, &story.disks, |rt, devices| {
        let (world, first) = (story.world.clone(), story.disks[0]);
        async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            healed(&rt, &array).await;
            world.kill(first);
            verify(&rt, &array.volume("v").unwrap(), |at| at + 5).await;
            world.revive(first);
            while array.status().health != ArrayHealth::Online {
                rt.sleep(cygnus_types::Nanos::millis(100)).await;
            }
            array.close().await.unwrap();
        }
    });
    assert_clean(&story.world, &story.disks);
}

/// What is lost has no place any more. Scrubs and the check of the stopped array list it all the same.
#[test]
fn what_is_lost_keeps_no_place_and_is_listed() {
    let story = Story::new(7, (1, 2, 1), 3, End::Crash);
    let lost = session(&story.world, &story.left(), |rt, devices| async move {
        let array = Array::open_by_force(&rt, &devices, &options()).await.unwrap();
        let lost = array.recovery().readmission.clone().expect("somebody was re-admitted").blocks;
        assert!(!lost.is_empty());
        for (volume, lba) in &lost {
            assert_eq!(array.locate(volume, *lba).await, None);
        }
        let scrub = array.scrub(0).await;
        assert_eq!(scrub.lost_blocks.into_iter().map(|of| (of.volume, of.lba)).collect::<Vec<_>>(), lost);
        array.close().await.unwrap();
        lost
    });
    let checked = session(&story.world, &story.left(), |rt, devices| async move {
        check(&rt, &devices, &options(), |_| {}).await.unwrap()
    });
    assert_eq!(checked.lost.into_iter().map(|of| (of.volume, of.lba)).collect::<Vec<_>>(), lost);
    session(&story.world, &story.left(), |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        let held = volume.mapped();
        for (_, lba) in &lost {
            let read = volume.read(lba.byte_offset(), rt.alloc(4096).full()).await;
            assert!(matches!(read, Err(VolumeError::Unknown { .. })));
        }
        volume.trim(lost[0].1.byte_offset(), 4096).await.unwrap();
        put(&rt, &volume, lost[1].1.0, 77).await;
        assert_eq!(volume.mapped().blocks(), held.blocks() - 1, "what is lost counts until it is discarded");
        array.close().await.unwrap();
    });
}

/// The power may go at any moment of an opening by force. Then the next one needs force again, or finds all of it done; nothing
/// old is shown either way.
#[test]
fn a_crash_while_it_is_readmitted_brings_nothing_old_back() {
    for steps in (0..24).map(|n| 20 + n * n * 10) {
        let story = Story::new(6, (1, 2, 1), 2, End::Crash);
        story.world.cut_power_after(Some(steps));
        let rt = story.world.reactor(cygnus_types::ReactorId(0), &story.left());
        let devices = story.world.infos(&story.left());
        let told = options();
        let opened = rt.run(async { Array::open_by_force(&rt, &devices, &told).await.map(drop) });
        rt.drop_tasks();
        story.world.cut_power_after(None);
        story.world.cut_power();
        story.world.restore_power();
        let (readable, unreadable) = session(&story.world, &story.left(), |rt, devices| {
            let story = &story;
            async move {
                let array = match Array::open(&rt, &devices, &options()).await {
                    Ok(array) => array,
                    Err(ArrayError::TooManyMissing { .. }) => {
                        Array::open_by_force(&rt, &devices, &options()).await.unwrap()
                    }
                    Err(error) => panic!("{error}"),
                };
                story.read(&rt, &array).await
            }
        });
        assert_eq!(readable + unreadable, BLOCKS, "{steps}: {opened:?}");
    }
}

/// With the operator's own command a member that failed is taken back while its group can do without it.
#[test]
fn a_failed_member_takes_its_own_place_again() {
    let story = Story::new(7, (1, 2, 1), 3, End::Clean);
    session(&story.world, &story.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        assert_eq!(states(&array)[0], MemberState::Failed);
        let job = array.replace(MemberIx(0), &devices[0], false).await.unwrap();
        let job = ended(&rt, &array, job).await;
        assert_eq!((job.kind, job.state), (cygnus_engine::JobKind::CatchUp, cygnus_engine::JobState::Done));
        assert_eq!(array.status().health, ArrayHealth::Online);
        array.close().await.unwrap();
    });
    assert_clean(&story.world, &story.disks);
}

/// What a block may hold after a crash: what was flushed last, or anything written since.
#[derive(Clone, Default)]
struct May(Vec<Option<u64>>);

/// Overwrites, discards, flushes and checkpoints by chance, with cleaning beside; then a crash. What is read after re-admission is
/// what was flushed last or newer, or an error.
#[test]
fn whatever_was_going_on_nothing_old_is_shown() {
    for seed in 0..12_u64 {
        let shape = [(1, 2, 1), (2, 2, 1), (1, 3, 2)][seed as usize % 3];
        let world = World::new(seed);
        let disks = make(&world, shape.0, shape.1, shape.2, 0);
        let may = session(&world, &disks, |rt, devices| chance(seed, world.clone(), disks[0], rt, devices));
        world.cut_power();
        world.restore_power();
        world.fail_writes(disks[0], None);
        let mut left = disks.clone();
        left.drain(1..=usize::from(shape.2));
        let (readable, said) = session(&world, &left, |rt, devices| async move {
            let array = Array::open_by_force(&rt, &devices, &options()).await.unwrap();
            let volume = array.volume("v").unwrap();
            let mut readable = 0;
            for (at, may) in (0..).zip(&may) {
                match volume.read(at * 4096, rt.alloc(4096).full()).await {
                    Ok(data) => {
                        let is = |tag: &Option<u64>| *tag.map_or_else(|| vec![0; 4096], block) == *data.bytes();
                        assert!(may.0.iter().any(is), "seed {seed}: block {at} is none of {:?}", may.0);
                        readable += 1;
                    }
                    Err(VolumeError::Unreadable { .. } | VolumeError::Unknown { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            (readable, array.recovery().readmission.clone())
        });
        assert!(readable > 0 || said.is_some_and(|said| said.volumes[0].in_doubt), "seed {seed}");
    }
}

/// Has the first disk fail at some time; returns what each block may hold in the end.
async fn chance(seed: u64, world: World, first: DiskId, rt: Runtime, devices: Vec<DeviceInfo>) -> Vec<May> {
    let mut rng = Rng::new(seed);
    let (array, volume) = open(&rt, &devices).await;
    fill(&rt, &volume, 0).await;
    let mut may: Vec<May> = (0..BLOCKS).map(|at| May(vec![Some(at)])).collect();
    let (requests, fails_at) = (4000, rng.below(4000));
    // Of some seeds no checkpoint is taken after the member has failed, so that all of the maps is there.
    let checkpoints = seed.is_multiple_of(2);
    for n in 0..requests {
        if n == fails_at {
            world.fail_writes(first, Some(IoErrorKind::Medium));
        }
        let at = if rng.below(3) == 0 { rng.below(BLOCKS) } else { rng.below(BLOCKS / 10) };
        match rng.below(1000) {
            0..20 => {
                volume.flush().await.unwrap();
                may.iter_mut().for_each(|May(tags)| drop(tags.drain(..tags.len() - 1)));
            }
            20..25 if checkpoints => array.checkpoint().await.unwrap(),
            25..125 => {
                volume.trim(at * 4096, 4096).await.unwrap();
                may[at as usize].0.push(None);
            }
            _ => {
                put(&rt, &volume, at, NEW * (n + 1) + at).await;
                may[at as usize].0.push(Some(NEW * (n + 1) + at));
            }
        }
    }
    volume.flush().await.unwrap();
    may.iter_mut().for_each(|May(tags)| drop(tags.drain(..tags.len() - 1)));
    for n in 0..50 {
        put(&rt, &volume, n, NEW * NEW + n).await;
        may[n as usize].0.push(Some(NEW * NEW + n));
    }
    may
}
