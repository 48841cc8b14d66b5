//! What reaches the volume, watched page by page.

use super::super::table::PAGE;
use super::super::{Popularity, Workload, Ycsb};
use super::*;
use crate::Size;
use cygnus_runtime::Rng;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

/// A small store with RocksDB's proportions: memtable to level 1 as 1 to 4.
fn small(workload: Workload) -> Ycsb {
    Ycsb {
        records: Some(32 << 10),
        memtable: Size(MIB),
        table: Size(MIB),
        level1: Size(4 * MIB),
        block_cache: Size(2 * MIB),
        ..Ycsb::new(workload)
    }
}

fn store(config: &Ycsb, seed: u64) -> Store {
    let settings = config.settings(1 << 40).unwrap();
    Store::new(Settings { units: config.needs(settings.shape.capacity) / UNIT, ..settings }, Rng::new(seed)).unwrap()
}

/// A volume that knows which of its pages hold something, and what is under way since the last flush.
struct Watch {
    base: u64,
    written: Vec<bool>,
    /// Last flush, counted from 1, before the page was last written or trimmed, and before it was last read.
    changed: Vec<u32>,
    read: Vec<u32>,
    flushes: u32,
    /// Bytes by activity and kind (read, write).
    bytes: [[u64; 2]; 7],
}

impl Watch {
    fn new(store: &Store) -> Watch {
        let pages = (store.settings.units * UNIT / PAGE) as usize;
        Watch {
            base: store.settings.footprint.start,
            written: vec![false; pages],
            changed: vec![0; pages],
            read: vec![0; pages],
            flushes: 1,
            bytes: [[0; 2]; 7],
        }
    }

    fn see(&mut self, request: &Request) {
        let activity = Activity::of(request.job).unwrap();
        if request.kind == Kind::Flush {
            self.flushes += 1;
            return;
        }
        assert!(request.offset.is_multiple_of(PAGE) && u64::from(request.len).is_multiple_of(PAGE) && request.len > 0);
        let now = self.flushes;
        for page in (request.offset - self.base) / PAGE..(request.end() - self.base) / PAGE {
            let page = page as usize;
            assert_ne!(self.changed[page], now, "{request:?} does not wait for what changes the page");
            if request.kind == Kind::Read {
                assert!(self.written[page], "{request:?} reads what is in no file");
                self.read[page] = now;
            } else {
                assert_ne!(self.read[page], now, "{request:?} overtakes a read");
                self.written[page] = request.kind == Kind::Write;
                self.changed[page] = now;
            }
        }
        let kind = match request.kind {
            Kind::Read => 0,
            Kind::Write => 1,
            _ => return,
        };
        self.bytes[activity as usize][kind] += u64::from(request.len);
    }

    fn written(&self, activity: Activity) -> u64 {
        self.bytes[activity as usize][1]
    }

    fn read(&self, activity: Activity) -> u64 {
        self.bytes[activity as usize][0]
    }
}

/// Goes on until `operations` operations are done.
fn run(store: &mut Store, operations: u64, watch: &mut Watch) {
    let footprint = store.footprint();
    while store.done < operations {
        let Some(request) = store.next() else { break };
        assert!(request.kind == Kind::Flush || request.offset >= footprint.start && request.end() <= footprint.end);
        watch.see(&request);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn files_never_meet_and_reads_find_what_was_written(
        workload in prop::sample::select(vec![
            Workload::Load, Workload::A, Workload::B, Workload::C, Workload::D, Workload::E, Workload::F
        ]),
        records in 3000_u64..40_000,
        record_size in prop::sample::select(vec![200_u64, 1000, 1024, 5000]),
        memtable_kib in 200_u64..3000,
        table in 1_u64..3,
        ratio in 2_u16..11,
        level0_tables in 1_u16..5,
        sync_every in prop::sample::select(vec![0_u64, 1, 50]),
        bloom_bits in 0_u16..12,
        offset in 0_u64..3,
        trim: bool,
        log: bool,
        seed: u64,
    ) {
        let config = Ycsb {
            records: Some(records),
            record_size: Size(record_size),
            memtable: Size(memtable_kib << 10),
            table: Size(table * MIB),
            level1: Size(3 * MIB),
            level_ratio: ratio,
            level0_tables,
            sync_every,
            bloom_bits,
            offset: Size(offset * PAGE),
            trim,
            log,
            block_cache: Size(256 << 10),
            ..Ycsb::new(workload)
        };
        let mut store = store(&config, seed);
        let mut watch = Watch::new(&store);
        run(&mut store, 60_000, &mut watch);
        prop_assert!(!store.read_only, "{} are enough for it", config.needs(store.settings.shape.capacity));
        if workload == Workload::Load {
            prop_assert_eq!(store.operations(), Some(records));
        }
    }
}

#[test]
fn equal_seeds_give_equal_requests() {
    let take = |seed| {
        let mut store = store(&Ycsb { prefill: false, ..small(Workload::A) }, seed);
        std::iter::from_fn(|| store.next()).take(20_000).collect::<Vec<_>>()
    };
    assert_eq!(take(4), take(4));
    assert_ne!(take(4), take(5));
}

/// Goes on with uniformly random updates and reads, half and half, until the shape of the tree is steady; then bytes
/// moved by `operations` more, and the bytes that clients wrote in them.
fn steady(config: Ycsb, operations: u64) -> (Store, Watch, u64) {
    let mut store = store(&Ycsb { popularity: Some(Popularity::Uniform), ..config }, 1);
    let mut watch = Watch::new(&store);
    run(&mut store, 800_000, &mut watch);
    watch.bytes = Default::default();
    let before = store.done;
    run(&mut store, 800_000 + operations, &mut watch);
    let user = (store.done - before) / 2 * store.settings.shape.entry;
    (store, watch, user)
}

#[test]
fn writes_are_amplified_as_leveled_trees_do() {
    for level_ratio in [4, 10] {
        let config = Ycsb { records: Some(200 << 10), level_ratio, ..small(Workload::A) };
        let (store, watch, user) = steady(config, 2_000_000);
        let amplification = |bytes| bytes as f64 / user as f64;
        let near = |got: f64, expect: f64| (got - expect).abs() < 0.03;
        assert!(near(amplification(watch.written(Activity::Log)), 1.0));
        assert!(near(amplification(watch.written(Activity::Flush)), 1.0));
        let [read, written] = watch.bytes[Activity::Compaction as usize].map(amplification);
        // As many old versions are dropped as new ones come in: the tree does not grow.
        assert!(near(read - written, 1.0), "{read} {written}");
        // At most, each level is written once and the whole level below once while the level goes by. It is less because
        // the cheapest tables go first, and because a level is fuller than its target while it is merged.
        let sizes = store.tree.level_sizes();
        let most: f64 = 2.0 + sizes[1..].windows(2).map(|pair| 1.0 + pair[1] as f64 / pair[0] as f64).sum::<f64>();
        assert!((most * 0.4..most * 0.8).contains(&written), "ratio {level_ratio}: {written} of at most {most}");
        assert!(sizes.len() == store.settings.shape.levels() + 1 && sizes[1..].is_sorted());
    }
}

#[test]
fn lookups_read_a_block_and_what_filters_get_wrong() {
    for (bloom_bits, low, high) in [(10, 0.97, 1.0), (2, 1.4, 2.0), (0, 2.4, 4.5)] {
        let config = Ycsb { bloom_bits, block_cache: Size(0), ..small(Workload::A) };
        let (_, watch, user) = steady(config, 100_000);
        // A few of a hundred records are still in memory.
        let blocks = watch.read(Activity::Lookup) as f64 / (16.0 * user as f64);
        assert!((low..high).contains(&blocks), "{blocks} blocks a lookup with {bloom_bits} bits");
    }
}

#[test]
fn scans_read_their_records_in_blocks() {
    let config = Ycsb { block_cache: Size(0), ..small(Workload::E) };
    let mut store = store(&config, 3);
    let mut watch = Watch::new(&store);
    run(&mut store, 10_000, &mut watch);
    let each = watch.read(Activity::Scan) as f64 / (0.95 * 10_000.0);
    // 50.5 records on average, and what else is in the blocks at the ends in both of the levels.
    assert!((each / 1024.0 - 82.5).abs() < 3.0, "{each} bytes a scan");
}

#[test]
fn hot_records_are_cached() {
    let lookups = |popularity| {
        let config = Ycsb { popularity: Some(popularity), ..small(Workload::C) };
        let mut store = store(&config, 3);
        let mut watch = Watch::new(&store);
        run(&mut store, 100_000, &mut watch);
        watch.read(Activity::Lookup) / (16 << 10)
    };
    let (zipfian, uniform, latest) =
        (lookups(Popularity::Zipfian), lookups(Popularity::Uniform), lookups(Popularity::Latest));
    // A sixteenth of the blocks is cached; hot records are scattered, so that most of their blocks' others are cold.
    assert!((90_000..97_000).contains(&uniform), "{uniform}");
    assert!((30_000..70_000).contains(&zipfian) && zipfian.abs_diff(latest) < 5000, "{zipfian} {latest}");
}

#[test]
fn syncs_are_as_frequent_as_asked() {
    let config = Ycsb { sync_every: 10, ..small(Workload::Load) };
    let mut store = store(&config, 3);
    let all: Vec<Request> = std::iter::from_fn(|| store.next()).collect();
    let syncs = all.iter().filter(|r| r.kind == Kind::Flush && r.job == Activity::Log as u16).count();
    assert_eq!(syncs, (32 << 10) / 10);
    // Ten records and the page that both groups share.
    let bytes: u64 = all.iter().filter(|r| r.job == Activity::Log as u16).map(|r| u64::from(r.len)).sum();
    assert_eq!(bytes / (32 << 10), 1024 * 12 / 10, "ten KiB each time, in whole pages");
}

#[test]
fn merging_keeps_up_without_stalls() {
    let mut store = store(&small(Workload::A), 3);
    let mut most = 0;
    while store.done < 500_000 {
        store.next();
        most = most.max(store.tree.fresh());
    }
    assert!((4..=8).contains(&most), "{most} tables in level 0");
}

#[test]
fn a_store_without_room_only_reads() {
    let config = small(Workload::A);
    let settings = config.settings(1 << 40).unwrap();
    let mut store = Store::new(Settings { units: 45, ..settings.clone() }, Rng::new(1)).unwrap();
    let mut watch = Watch::new(&store);
    run(&mut store, 300_000, &mut watch);
    assert!(store.read_only);
    let before = watch.bytes;
    run(&mut store, 350_000, &mut watch);
    assert!(watch.read(Activity::Lookup) > before[Activity::Lookup as usize][0]);
    assert_eq!(watch.written(Activity::Log), before[Activity::Log as usize][1]);
    assert!(Store::new(Settings { units: 30, ..settings }, Rng::new(1)).is_none(), "not even for the records");
}
