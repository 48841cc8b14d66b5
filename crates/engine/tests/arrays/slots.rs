//! Rot in superblocks: the newest state is found, or the array is not opened.

use cygnus_engine::{Array, ArrayError, CreateOptions, VolumeError, create};
use cygnus_format::{ArrayState, SUPERBLOCK_AREA, SUPERBLOCK_OFFSETS, Superblock, copies_for};
use cygnus_policy::Preset;
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ByteSize, ReactorId};

use crate::common::block;
use crate::sessions::*;

const B: u64 = BLOCK as u64;
const BLOCKS: u64 = 40;
/// Tags of the old and of the new contents.
const OLD: u64 = 1 << 20;
const NEW: u64 = 2 << 20;

/// An array that was stopped cleanly, opened again, written to and flushed when the power went.
struct Written {
    world: World,
    disks: Vec<DiskId>,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Flip,
    Unreadable,
    Zeroed,
}

const HOWS: [How; 3] = [How::Flip, How::Unreadable, How::Zeroed];

impl Written {
    fn new(k: u8, m: u8) -> Self {
        let world = World::new(7);
        let disks: Vec<_> = (0..k + m).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 24 * MIB))).collect();
        let how = CreateOptions {
            segment: Some(ByteSize(512 << 10)),
            chunk: ByteSize(16 << 10),
            ..CreateOptions::new("tank", Preset::LogRaid, 1, k, m)
        };
        for tag in [OLD, NEW] {
            let how = how.clone();
            session(&world, &disks, |rt, devices| async move {
                if tag == OLD {
                    create(&rt, &devices, &how).await.unwrap();
                }
                let array = Array::open(&rt, &devices, &options()).await.unwrap();
                let volume = match array.volume("v") {
                    Some(volume) => volume,
                    None => array.create_volume("v", ByteSize(4 * MIB), 0).await.unwrap(),
                };
                for at in 0..BLOCKS {
                    let mut buf = rt.alloc(BLOCK);
                    buf.bytes_mut().copy_from_slice(&block(tag + at));
                    volume.write(at * B, buf.full()).await.unwrap();
                }
                volume.flush().await.unwrap();
                if tag == OLD {
                    array.close().await.unwrap();
                }
            });
        }
        world.cut_power();
        world.restore_power();
        Self { world, disks }
    }

    fn newest(&self, disk: usize) -> Superblock {
        let mut head = vec![0; SUPERBLOCK_AREA as usize];
        self.world.peek(self.disks[disk], 0, &mut head);
        Superblock::newest(&head).unwrap()
    }

    fn put(&self, disk: usize, superblock: &Superblock) {
        session(&self.world, &[self.disks[disk]], |rt, devices| async move {
            let bytes = superblock.encode().unwrap();
            let mut buf = rt.alloc(bytes.len());
            buf.bytes_mut().copy_from_slice(&bytes);
            for at in copies_for(superblock.generation) {
                rt.write(devices[0].ix, at, buf.full()).await.unwrap();
            }
            rt.flush(devices[0].ix).await.unwrap();
        });
    }

    fn spoil(&self, how: How, disk: usize, at: u64) {
        match how {
            How::Flip => self.world.flip_bit(self.disks[disk], at + 300, 3),
            How::Unreadable => self.world.fail_reads(self.disks[disk], at..at + B),
            How::Zeroed => session(&self.world, &[self.disks[disk]], |rt, devices| async move {
                let buf = rt.alloc(BLOCK).full();
                buf.zero(0..BLOCK);
                rt.write(devices[0].ix, at, buf).await.unwrap();
                rt.flush(devices[0].ix).await.unwrap();
            }),
        }
    }

    /// Blocks that are new, old and unreadable, with these members.
    fn read(&self, disks: &[DiskId], by_force: bool) -> Result<(u64, u64, u64), ArrayError> {
        session(&self.world, disks, |rt, devices| async move {
            let array = match by_force {
                true => Array::open_by_force(&rt, &devices, &options()).await?,
                false => Array::open(&rt, &devices, &options()).await?,
            };
            let volume = array.volume("v").unwrap();
            let (mut new, mut old, mut errors) = (0, 0, 0);
            for at in 0..BLOCKS {
                match volume.read(at * B, rt.alloc(BLOCK).full()).await {
                    Ok(data) if *data.bytes() == *block(NEW + at) => new += 1,
                    Ok(_) => old += 1,
                    Err(VolumeError::Unreadable { .. } | VolumeError::Unknown { .. }) => errors += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            array.close().await?;
            Ok((new, old, errors))
        })
    }
}

/// With the newest superblock gone the state before would be taken: one that was stopped cleanly, with all that is old.
#[test]
fn one_spoiled_copy_brings_nothing_old_back() {
    for how in HOWS {
        for &copy in SUPERBLOCK_OFFSETS.as_flattened() {
            let array = Written::new(1, 0);
            array.spoil(how, 0, copy);
            assert_eq!(array.read(&array.disks, false).unwrap(), (BLOCKS, 0, 0), "{how:?} at {copy}");
            // The opening has mended it, so the next one that is spoiled does no harm either.
            for &other in SUPERBLOCK_OFFSETS.as_flattened().iter().filter(|&&other| other != copy) {
                array.spoil(how, 0, other);
                assert_eq!(array.read(&array.disks, false).unwrap(), (BLOCKS, 0, 0), "{how:?} at {copy}, {other}");
            }
        }
    }
}

#[test]
fn a_lost_superblock_that_may_have_been_the_newest_stops_the_opening() {
    for (k, m, without) in [(1, 0, 0), (2, 0, 0), (2, 1, 1), (1, 1, 0), (1, 1, 1), (2, 2, 2)] {
        for how in HOWS {
            for age in [0, 1] {
                let array = Written::new(k, m);
                let disks = &array.disks[..array.disks.len() - without];
                let generation = array.newest(0).generation - age;
                for copy in copies_for(generation) {
                    array.spoil(how, 0, copy);
                }
                if age == 0 && disks.len() > 1 {
                    // Others have what was lost. With the older slot gone, nobody knows that it was the older one.
                    assert_eq!(array.read(disks, false).unwrap(), (BLOCKS, 0, 0), "{k}+{m} {how:?}");
                    continue;
                }
                let refused = array.read(disks, false);
                assert!(
                    matches!(refused, Err(ArrayError::LostSuperblock { .. })),
                    "{k}+{m} {how:?} {age}: {refused:?}"
                );
                let (_, old, errors) = array.read(disks, true).unwrap();
                assert_eq!(old, 0, "{k}+{m} {how:?} {age}: {errors} errors");
                assert!(age == 0 || errors == 0, "nothing was lost");
                array.read(disks, false).expect("it is on record what was given up");
            }
        }
    }
}

/// Members that have something newer than what is left of a lost slot's member, or too many to have left, are witnesses.
#[test]
fn members_enough_are_witnesses() {
    for (k, m) in [(2, 1), (3, 2), (1, 1), (1, 2)] {
        let array = Written::new(k, m);
        for copy in copies_for(array.newest(0).generation) {
            array.spoil(How::Flip, 0, copy);
        }
        assert_eq!(array.read(&array.disks, false).unwrap(), (BLOCKS, 0, 0), "{k}+{m}");
    }
}

/// The power goes as a session begins that has skipped numbers, as by force, and again as the next one does: members that have none of
/// their superblocks are no old copies.
#[test]
fn two_cut_openings_leave_no_member_behind() {
    for steps in (400..).step_by(4) {
        let array = Written::new(4, 1);
        let newest = array.newest(0);
        let state = ArrayState { session: newest.state.session + 1025, ..newest.state };
        array.put(0, &Superblock { generation: newest.generation + 1, state, ..newest });
        array.world.cut_power_after(Some(steps));
        let rt = array.world.reactor(ReactorId(0), &array.disks);
        let opened = rt.run(Array::open(&rt, &array.world.infos(&array.disks), &options())).is_ok();
        rt.drop_tasks();
        array.world.cut_power_after(None);
        array.world.cut_power();
        array.world.restore_power();
        assert_eq!(array.read(&array.disks, false).unwrap(), (BLOCKS, 0, 0), "cut after {steps}");
        if opened {
            return;
        }
    }
}

/// A device that has just become a spare has one superblock: nothing was lost where the other one will be.
#[test]
fn a_new_spare_has_lost_nothing() {
    let mut array = Written::new(1, 0);
    array.disks.push(array.world.add_disk(DiskConfig::new("spare", 24 * MIB)));
    session(&array.world, &array.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices[..1], &options()).await.unwrap();
        array.add_spare(&devices[1], false).await.unwrap();
    });
    array.world.cut_power();
    array.world.restore_power();
    assert_eq!(array.read(&array.disks, false).unwrap(), (BLOCKS, 0, 0));
}
