//! Devices with zones that may be written anywhere, thanks to whoever stands between: against a model of what each block may
//! hold, through power cuts, killed processes, devices that lose their caches, and two reactors at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use cygnus_runtime::{DeviceIx, Halt, IoErrorKind, Resets, Rng, Runtime, Zones};
use cygnus_sim::{Cluster, DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ReactorId};

const DEV: DeviceIx = DeviceIx(0);
const B: u64 = BLOCK as u64;
/// Blocks at the start of each device that superblocks may lie in.
const HEAD: u64 = 512;

/// A kind of device.
#[derive(Clone, Copy)]
struct Kind {
    zones: Zones,
    size: u64,
    /// Blocks of a zone that can be written.
    zone: u64,
    /// Where segments may lie.
    first: u64,
    end: u64,
}

/// Four conventional zones: 2 MiB of superblocks, 1 MiB for patches, and room for a zone.
const SHINGLED: Kind = Kind {
    zones: Zones { bytes: 256 * B, capacity: 256 * B, conventional: Some(4), active_limit: 0, commands: true },
    size: 10 * 256 * B,
    zone: 256,
    first: 4 * 256,
    end: 10 * 256,
};

/// No conventional zones, holes behind all, and three zones of segments at most that are partly written. A side of the log that holds
/// the head has nine zones.
const FLASH: Kind = Kind {
    zones: Zones { bytes: 256 * B, capacity: 192 * B, conventional: Some(0), active_limit: 7, commands: true },
    size: 25 * 256 * B,
    zone: 192,
    first: 19 * 192,
    end: 25 * 192,
};

/// Too few conventional zones, which are left alone, and short zones.
const MIXED: Kind = Kind {
    zones: Zones { bytes: 64 * B, capacity: 33 * B, conventional: Some(3), active_limit: 0, commands: true },
    size: (3 + 104) * 64 * B,
    zone: 33,
    first: 99 * 33,
    end: 104 * 33,
};

const KINDS: [Kind; 3] = [SHINGLED, FLASH, MIXED];

fn world_of(seed: u64, kind: Kind) -> (World, DiskId) {
    let world = World::new(seed);
    let disk = world.add_disk(DiskConfig { zones: Some(kind.zones), ..DiskConfig::new("zoned", kind.size) });
    assert_eq!(world.infos(&[disk])[0].size, kind.end * B);
    (world, disk)
}

/// What a block may hold: the tag of any of these writes. 0 is "never written".
#[derive(Clone)]
struct Allowed {
    tags: BTreeSet<u64>,
    /// The newest that was acknowledged: nothing older is read, unless a cache was lost.
    acknowledged: u64,
}

impl Allowed {
    fn only(tag: u64) -> Self {
        Self { tags: BTreeSet::from([tag]), acknowledged: tag }
    }
}

/// What each block may hold now, and which of it a flush has covered.
struct Shadow {
    kind: Kind,
    blocks: Vec<Allowed>,
    /// Ranges that something is under way in.
    busy: Vec<(u64, u64)>,
    next_tag: u64,
    /// Trimmed, so anything goes.
    undefined: Vec<bool>,
    /// How often each zone was.
    trims: Vec<u32>,
}

impl Shadow {
    fn new(kind: Kind) -> Rc<RefCell<Self>> {
        let blocks = vec![Allowed::only(0); kind.end as usize];
        let undefined = vec![false; kind.end as usize];
        Rc::new(RefCell::new(Self {
            kind,
            blocks,
            busy: Vec::new(),
            next_tag: 1,
            undefined,
            trims: vec![0; (kind.end / kind.zone) as usize],
        }))
    }

    /// Takes a range for an operation, unless another one has part of it.
    fn take(&mut self, start: u64, end: u64) -> bool {
        let is_free = self.busy.iter().all(|&(from, to)| to <= start || end <= from);
        if is_free {
            self.busy.push((start, end));
        }
        is_free
    }

    fn release(&mut self, start: u64, end: u64) {
        self.busy.retain(|&range| range != (start, end));
    }
}

fn block_of(tag: u64, block: u64) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    if tag > 0 {
        Rng::new(tag << 20 | block).fill(&mut bytes);
        bytes[..8].copy_from_slice(&tag.to_le_bytes());
    }
    bytes
}

fn tag_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

async fn write(rt: &Runtime, shadow: &RefCell<Shadow>, start: u64, count: u64) {
    if !shadow.borrow_mut().take(start, start + count) {
        return;
    }
    let tag = shadow.borrow().next_tag;
    shadow.borrow_mut().next_tag += 1;
    let mut buf = rt.alloc(count as usize * BLOCK);
    for n in 0..count {
        buf.write(n as usize * BLOCK, &block_of(tag, start + n));
        let mut shadow = shadow.borrow_mut();
        shadow.blocks[(start + n) as usize].tags.insert(tag);
    }
    let written = rt.write(DEV, start * B, buf.full()).await;
    let mut shadow = shadow.borrow_mut();
    shadow.release(start, start + count);
    match written {
        Ok(_) => (start..start + count).for_each(|block| settle(&mut shadow, block, tag)),
        Err(error) => assert_ne!(error.kind, IoErrorKind::Unclear, "what the device refuses"),
    }
}

/// What was written is what a read gives from now on; what was there before may come back by a power cut.
fn settle(shadow: &mut Shadow, block: u64, tag: u64) {
    shadow.blocks[block as usize].acknowledged = tag;
    if std::mem::take(&mut shadow.undefined[block as usize]) {
        // What was there before may come back, and so may zeros.
        shadow.blocks[block as usize].tags.insert(0);
    }
}

async fn check(rt: &Runtime, shadow: &RefCell<Shadow>, start: u64, count: u64, cache_is_kept: bool) {
    if !shadow.borrow_mut().take(start, start + count) {
        return;
    }
    let buf = rt.alloc(count as usize * BLOCK);
    let read = rt.read(DEV, start * B, buf.full()).await;
    let mut shadow = shadow.borrow_mut();
    shadow.release(start, start + count);
    if read.is_err() {
        return;
    }
    for (n, bytes) in (start..start + count).zip(buf.bytes().chunks_exact(BLOCK)) {
        let tag = tag_of(bytes);
        assert_eq!(bytes, block_of(tag, n), "block {n} holds something that was never written there");
        if shadow.undefined[n as usize] {
            continue;
        }
        let Allowed { tags, acknowledged } = &shadow.blocks[n as usize];
        assert!(tags.contains(&tag), "block {n} holds write {tag}, and may hold {tags:?}");
        assert!(!cache_is_kept || tag >= *acknowledged, "block {n} holds write {tag} after {acknowledged}");
    }
}

async fn trim(rt: &Runtime, shadow: &RefCell<Shadow>, zone: u64) {
    let size = shadow.borrow().kind.zone;
    let (start, end) = (zone * size, (zone + 1) * size);
    if !shadow.borrow_mut().take(start, end) {
        return;
    }
    shadow.borrow_mut().trims[zone as usize] += 1;
    (start..end).for_each(|block| shadow.borrow_mut().undefined[block as usize] = true);
    let _ = rt.trim(DEV, start * B, size * B).await;
    shadow.borrow_mut().release(start, end);
}

/// A flush makes what had been acknowledged before it the oldest that a block may hold.
async fn flush(rt: &Runtime, shadow: &RefCell<Shadow>) {
    let covered: Vec<u64> = {
        let shadow = shadow.borrow();
        let is_busy = |block: u64| shadow.busy.iter().any(|&(from, to)| (from..to).contains(&block));
        let all = (0..HEAD).chain(shadow.kind.first..shadow.kind.end);
        all.filter(|&block| !is_busy(block) && !shadow.undefined[block as usize]).collect()
    };
    let oldest: Vec<u64> = covered.iter().map(|&block| shadow.borrow().blocks[block as usize].acknowledged).collect();
    let trims = shadow.borrow().trims.clone();
    if rt.flush(DEV).await.is_err() {
        return;
    }
    let mut shadow = shadow.borrow_mut();
    for (block, oldest) in covered.into_iter().zip(oldest) {
        let zone = (block / shadow.kind.zone) as usize;
        if !shadow.undefined[block as usize] && shadow.trims[zone] == trims[zone] {
            shadow.blocks[block as usize].tags.retain(|&tag| tag >= oldest);
        }
    }
}

/// One task's share of trouble.
async fn work(rt: Runtime, shadow: Rc<RefCell<Shadow>>, seed: u64, steps: u32) {
    let mut rng = Rng::new(seed);
    let Kind { first, end, zone, .. } = shadow.borrow().kind;
    let mut next = first + rng.below(end - first);
    for _ in 0..steps {
        let count = 1 + rng.below(24);
        if rng.chance(1, 8) {
            let start = rng.below(HEAD - count);
            match rng.below(3) {
                0 => check(&rt, &shadow, start, count, true).await,
                _ => write(&rt, &shadow, start, count).await,
            }
            continue;
        }
        let start = if rng.chance(2, 3) { next } else { first + rng.below(end - first) };
        let count = count.min(end - start);
        match rng.below(12) {
            0..7 => {
                write(&rt, &shadow, start, count).await;
                next = if start + count == end { first } else { start + count };
            }
            7..10 => check(&rt, &shadow, start, count, true).await,
            10 => flush(&rt, &shadow).await,
            _ => trim(&rt, &shadow, first / zone + rng.below((end - first) / zone)).await,
        }
    }
}

/// Several tasks on a reactor, until all have ended.
async fn crowd(rt: Runtime, shadow: Rc<RefCell<Shadow>>, seed: u64, tasks: u64, steps: u32) {
    let left = Rc::new(Cell::new(tasks));
    for n in 0..tasks {
        let (task, shadow, left) = (rt.clone(), shadow.clone(), left.clone());
        rt.spawn(async move {
            work(task, shadow, seed ^ n << 40, steps).await;
            left.set(left.get() - 1);
        });
    }
    while left.get() > 0 {
        rt.sleep(cygnus_types::Nanos::micros(50)).await;
    }
}

async fn check_all(rt: &Runtime, shadow: &RefCell<Shadow>, cache_is_kept: bool) {
    shadow.borrow_mut().busy.clear();
    let Kind { first, end, .. } = shadow.borrow().kind;
    for start in (0..HEAD).step_by(64).chain((first..end).step_by(64)) {
        let end = if start < HEAD { HEAD } else { end };
        check(rt, shadow, start, 64.min(end - start), cache_is_kept).await;
    }
    // What is there is what will be, whatever was possible.
    for start in (0..HEAD).chain(first..end) {
        let buf = rt.alloc(BLOCK);
        rt.read(DEV, start * B, buf.full()).await.unwrap();
        let mut shadow = shadow.borrow_mut();
        shadow.blocks[start as usize] = Allowed::only(tag_of(buf.bytes()));
        shadow.undefined[start as usize] = false;
    }
}

#[test]
fn blocks_hold_what_was_written_through_power_cuts_and_kills() {
    let mut patched = 0;
    for (seed, kind) in (0..120).zip(KINDS.into_iter().cycle()) {
        let (world, disk) = world_of(seed, kind);
        let shadow = Shadow::new(kind);
        let mut rng = Rng::new(seed);
        for round in 0..6 {
            let rt = world.reactor(ReactorId(0), &[disk]);
            rt.run(check_all(&rt, &shadow, false)).unwrap_or_else(|halt| panic!("seed {seed}: {halt}"));
            world.cut_power_after(rng.chance(1, 2).then(|| world.steps() + 20 + rng.below(700)));
            let ended = rt.run(crowd(rt.clone(), shadow.clone(), seed << 8 | round, 4, 40));
            rt.drop_tasks();
            drop(rt);
            match ended {
                Err(Halt::PowerCut) => world.restore_power(),
                Err(Halt::Stalled) => panic!("seed {seed}: stalled"),
                // As when its process is killed.
                Ok(()) => world.cut_power_after(None),
            }
        }
        assert_eq!(world.stats(disk).out_of_order, 0, "seed {seed}");
        patched += u64::from(world.stats(disk).written_bytes > 0);
    }
    assert_eq!(patched, 120);
}

/// Long writes to where superblocks lie: the log that holds them is begun anew after every few.
async fn fill_the_log(rt: &Runtime, shadow: &RefCell<Shadow>, seed: u64) {
    let mut rng = Rng::new(seed);
    for _ in 0..40 {
        let count = 1 + rng.below(200);
        write(rt, shadow, rng.below(HEAD - count), count).await;
        if rng.chance(1, 4) {
            flush(rt, shadow).await;
        }
    }
}

#[test]
fn what_lies_in_a_log_outlives_power_cuts_while_it_is_begun_anew() {
    for (seed, kind) in (0..48).zip([FLASH, MIXED].into_iter().cycle()) {
        let (world, disk) = world_of(seed, kind);
        let shadow = Shadow::new(kind);
        let mut rng = Rng::new(seed);
        for round in 0..6 {
            let rt = world.reactor(ReactorId(0), &[disk]);
            rt.run(check_all(&rt, &shadow, false)).unwrap_or_else(|halt| panic!("seed {seed}: {halt}"));
            world.cut_power_after(Some(world.steps() + 20 + rng.below(300)));
            let ended = rt.run(fill_the_log(&rt, &shadow, seed << 8 | round));
            rt.drop_tasks();
            drop(rt);
            match ended {
                Err(Halt::PowerCut) => world.restore_power(),
                Err(Halt::Stalled) => panic!("seed {seed}: stalled"),
                Ok(()) => world.cut_power_after(None),
            }
        }
        assert_eq!(world.stats(disk).out_of_order, 0, "seed {seed}");
    }
}

#[test]
fn two_reactors_write_to_the_same_zones() {
    for (seed, kind) in (0..90).zip(KINDS.into_iter().cycle()) {
        let (world, disk) = world_of(seed, kind);
        let shadow = Shadow::new(kind);
        let cluster = Cluster::new(&world, 2, &[disk]);
        let (other, theirs) = (cluster.reactor(1).clone(), shadow.clone());
        let ended = Rc::new(Cell::new(false));
        let end = ended.clone();
        other.clone().spawn(async move {
            crowd(other, theirs, seed << 8 | 7, 3, 60).await;
            end.set(true);
        });
        let (rt, ours) = (cluster.reactor(0).clone(), shadow.clone());
        let outcome = cluster.run(async move {
            crowd(rt.clone(), ours.clone(), seed << 8, 3, 60).await;
            while !ended.get() {
                rt.sleep(cygnus_types::Nanos::micros(50)).await;
            }
            check_all(&rt, &ours, true).await;
        });
        outcome.unwrap_or_else(|halt| panic!("seed {seed}: {halt}"));
        (0..2).for_each(|n| cluster.reactor(n).drop_tasks());
        assert_eq!(world.stats(disk).out_of_order, 0, "seed {seed}");
    }
}

#[test]
fn a_device_that_loses_its_cache_is_asked_again_when_it_is_opened_anew() {
    for (seed, kind) in (0..90).zip(KINDS.into_iter().cycle()) {
        let (world, disk) = world_of(seed, kind);
        let (shadow, mut rng) = (Shadow::new(kind), Rng::new(seed));
        let rt = world.reactor(ReactorId(0), &[disk]);
        for round in 0..4 {
            rt.run(crowd(rt.clone(), shadow.clone(), seed << 8 | round, 3, 10 + rng.below(30) as u32)).unwrap();
            world.lose_power_of(disk);
            world.revive(disk);
            rt.run(async {
                assert!(rt.flush(DEV).await.is_err(), "it is not open");
                rt.reopen(DEV).await.unwrap();
                check_all(&rt, &shadow, false).await;
            })
            .unwrap();
        }
        rt.drop_tasks();
        assert_eq!(world.stats(disk).out_of_order, 0, "seed {seed}");
    }
}

#[test]
fn where_the_area_for_patches_is_full_zones_are_rewritten() {
    let (world, disk) = world_of(1, SHINGLED);
    const FIRST: u64 = SHINGLED.first;
    const ZONE: u64 = SHINGLED.zone;
    let rt = world.reactor(ReactorId(0), &[disk]);
    rt.run(async {
        let buf = rt.alloc(ZONE as usize * BLOCK);
        rt.write(DEV, FIRST * B, buf.full()).await.unwrap();
        rt.write(DEV, (FIRST + ZONE) * B, buf.full()).await.unwrap();
        // 252 blocks are room for two patches of 100, and not for a third.
        for tag in 1..=7_u8 {
            let mut part = rt.alloc(100 * BLOCK);
            part.bytes_mut().fill(tag);
            rt.write(DEV, (FIRST + u64::from(tag)) * B, part.full()).await.unwrap();
        }
        rt.read(DEV, FIRST * B, buf.full()).await.unwrap();
        let tags: Vec<u8> = buf.bytes().chunks_exact(BLOCK).map(|block| block[0]).collect();
        assert_eq!(tags[..9], [0, 1, 2, 3, 4, 5, 6, 7, 7]);
        assert_eq!((tags[106], tags[107]), (7, 0));
        let inside = rt.write(DEV, 600 * B, buf.slice(0..BLOCK)).await.unwrap_err();
        assert_eq!(inside.kind, IoErrorKind::Range, "patches are nobody else's");
        let can = rt.capabilities(DEV);
        assert!(can.writes_anywhere() && can.trim);
        assert_eq!(can.resets, Some(Resets { unit: ZONE * B, first: FIRST * B, active: None }));
    })
    .unwrap();
    rt.drop_tasks();
}

/// The zone was written on without a flush, a block of that was patched, and the device lost its cache but for the patch.
#[test]
fn a_patch_behind_the_pointer_goes_into_a_zone_that_is_rewritten() {
    const OUTLIVES: u64 = 120;
    let mut outlived = 0;
    for seed in 0..400 {
        let (world, disk) = world_of(seed, SHINGLED);
        let rt = world.reactor(ReactorId(0), &[disk]);
        let fill = async |first: u64, count: u64, tag: u8| {
            let mut buf = rt.alloc(count as usize * BLOCK);
            buf.bytes_mut().fill(tag);
            rt.write(DEV, (SHINGLED.first + first) * B, buf.full()).await.unwrap();
        };
        let tag = async |at: u64| {
            let buf = rt.alloc(BLOCK).full();
            rt.read(DEV, (SHINGLED.first + at) * B, buf.clone()).await.unwrap();
            buf.bytes()[9]
        };
        rt.run(async {
            fill(0, 72, 1).await;
            rt.flush(DEV).await.unwrap();
            fill(72, 100, 2).await;
            fill(OUTLIVES, 1, 3).await;
        })
        .unwrap();
        world.lose_power_of(disk);
        world.revive(disk);
        rt.run(async {
            rt.reopen(DEV).await.unwrap();
            let before = tag(OUTLIVES).await;
            outlived += u32::from(before == 3 && tag(OUTLIVES - 1).await == 0);
            rt.flush(DEV).await.unwrap();
            // More patches than there is room for, of what is written for sure.
            for round in 0..6 {
                fill(0, 60, 10 + round).await;
            }
            assert_eq!((tag(OUTLIVES).await, tag(59).await), (before, 15), "seed {seed}");
        })
        .unwrap();
        rt.drop_tasks();
        assert_eq!(world.stats(disk).out_of_order, 0, "seed {seed}");
    }
    assert!(outlived > 5, "only {outlived} patches outlived what they replaced");
}

#[test]
fn a_patch_that_outlived_what_it_replaced_hides_nothing_new() {
    let mut outlived = 0;
    for seed in 0..200 {
        let (world, disk) = world_of(seed, SHINGLED);
        let rt = world.reactor(ReactorId(0), &[disk]);
        let fill = async |rt: &Runtime, first: u64, count: u64, tag: u8| {
            let mut buf = rt.alloc(count as usize * BLOCK);
            buf.bytes_mut().fill(tag);
            rt.write(DEV, (SHINGLED.first + first) * B, buf.full()).await.unwrap();
        };
        let tags = async |rt: &Runtime| {
            let buf = rt.alloc(10 * BLOCK);
            rt.read(DEV, SHINGLED.first * B, buf.full()).await.unwrap();
            buf.bytes().chunks_exact(BLOCK).map(|block| block[9]).collect::<Vec<u8>>()
        };
        let patched = async {
            fill(&rt, 0, 10, 1).await;
            fill(&rt, 5, 2, 2).await;
        };
        rt.run(patched).unwrap();
        rt.drop_tasks();
        world.cut_power();
        world.restore_power();
        let rt = world.reactor(ReactorId(0), &[disk]);
        rt.run(async {
            outlived += u32::from(tags(&rt).await[4..7] == [0, 2, 2]);
            fill(&rt, 0, 10, 3).await;
            assert_eq!(tags(&rt).await, [3; 10], "seed {seed}");
        })
        .unwrap();
        rt.drop_tasks();
    }
    assert!(outlived > 5, "{outlived}");
}
