use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

use cygnus_types::Pba;
use proptest::prelude::*;

use super::*;
use crate::lsa::rule::MapRule;

const FEW: u32 = 48;

fn map_of(dense_from: u32) -> (Map, Arc<MapMemory>) {
    let memory = Arc::new(MapMemory::new(MapRule { dense_from, ..MapRule::default() }));
    (Map::new(memory.clone()), memory)
}

fn settle(map: &Map, memory: &MapMemory) {
    memory.begin_round(std::iter::once(map));
    memory.end_round(std::iter::once(map));
}

/// Whatever was replaced or emptied is given back after some rounds.
fn settle_all(map: &Map, memory: &MapMemory) {
    (0..3).for_each(|_| settle(map, memory));
}

fn replace(map: &Map, lba: Lba, expected: MapEntry, new: MapEntry) -> bool {
    map.exchange(lba, Some(expected), new) == expected
}

fn for_each(map: &Map, mut f: impl FnMut(Lba, MapEntry)) {
    let (mut from, mut found) = (Lba(0), Vec::new());
    while let Some(next) = map.next_mapped(from, Lba(MOST_BLOCKS), &mut found) {
        found.drain(..).for_each(|(lba, entry)| f(lba, entry));
        from = next;
    }
}

fn entry(n: u64) -> MapEntry {
    MapEntry::new(Pba(n + 1), n as u32)
}

#[test]
fn holes_are_empty_and_cost_nothing() {
    let (map, memory) = map_of(FEW);
    assert_eq!(map.get(Lba(MOST_BLOCKS - 1)), MapEntry::EMPTY);
    assert_eq!(map.clear(Lba(5)), MapEntry::EMPTY);
    assert!(!replace(&map, Lba(5), entry(1), entry(2)));
    assert_eq!(map.skip_holes(Lba(0), Lba(MOST_BLOCKS)), Lba(MOST_BLOCKS));
    assert_eq!(map.next_mapped(Lba(0), Lba(MOST_BLOCKS), &mut Vec::new()), None);
    assert_eq!(memory.bytes(), 0);
}

/// What lies behind a range is not looked for: a discard of little must not cost a look through the whole map.
#[test]
fn holes_are_skipped_up_to_the_end_of_a_range() {
    let (map, _) = map_of(FEW);
    map.swap(Lba(20), entry(1));
    map.swap(Lba(3 * CHUNK_ENTRIES), entry(2));
    assert_eq!(map.skip_holes(Lba(0), Lba(10)), Lba(10));
    assert_eq!(map.skip_holes(Lba(0), Lba(21)), Lba(20));
    assert_eq!(map.skip_holes(Lba(21), Lba(2 * CHUNK_ENTRIES)), Lba(2 * CHUNK_ENTRIES));
    assert_eq!(map.skip_holes(Lba(21), Lba(MOST_BLOCKS)), Lba(3 * CHUNK_ENTRIES));
}

#[test]
fn replace_only_what_is_expected() {
    let (map, _) = map_of(FEW);
    let (a, b) = (entry(1), entry(2));
    map.swap(Lba(9), a);
    assert!(!replace(&map, Lba(9), b, a));
    assert!(replace(&map, Lba(9), a, b));
    assert_eq!(map.get(Lba(9)), b);
}

/// The bound that the module promises, at strides from a block to a chunk.
#[test]
fn memory_follows_what_is_mapped_and_comes_back() {
    const BLOCKS: u64 = 40_000;
    for stride in [1, 7, 64, 512, 4096, CHUNK_ENTRIES] {
        let (map, memory) = map_of(MapRule::default().dense_from);
        for n in 0..BLOCKS {
            map.swap(Lba(n * stride), entry(n));
        }
        settle_all(&map, &memory);
        let each = memory.bytes() / BLOCKS;
        assert!(each <= 256, "stride {stride}: {each} bytes for each block");
        let mut seen = 0;
        for_each(&map, |lba, found| {
            assert_eq!((lba.0, found), (seen * stride, entry(seen)));
            seen += 1;
        });
        assert_eq!(seen, BLOCKS);
        for n in 0..BLOCKS {
            map.clear(Lba(n * stride));
        }
        settle_all(&map, &memory);
        assert_eq!(memory.bytes(), 0, "stride {stride}");
    }
}

#[test]
fn a_whole_page_is_taken_in_by_either_kind_of_chunk() {
    for dense_from in [FEW, 10_000] {
        let (map, memory) = map_of(dense_from);
        for page in [3, 4, 700] {
            let mut bytes = vec![0; 4096];
            for (n, raw) in bytes.chunks_exact_mut(8).enumerate().filter(|(n, _)| n % 5 != 0) {
                raw.copy_from_slice(&entry(page * 512 + n as u64).0.to_le_bytes());
            }
            map.load_page(page, &bytes);
        }
        settle_all(&map, &memory);
        let expected = [3, 4, 700].iter().flat_map(|page| (0..512).filter(|n| n % 5 != 0).map(move |n| page * 512 + n));
        let mut found = Vec::new();
        for_each(&map, |lba, at| {
            assert_eq!(at, entry(lba.0));
            found.push(lba.0);
        });
        assert!(found.into_iter().eq(expected));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(u64),
    Replace(u64, bool),
    Clear(u64),
    ClearRange(u64, u64),
    Settle,
}

/// Addresses that meet in one chunk, its neighbour and one far away.
fn addresses() -> impl Strategy<Value = u64> {
    let chunk = prop_oneof![4 => Just(0), 1 => Just(1), 1 => Just(CHUNKS as u64 - 1)];
    (chunk, prop_oneof![0..200_u64, (0..200_u64).prop_map(|n| n * 1300)]).prop_map(|(c, at)| c * CHUNK_ENTRIES + at)
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => addresses().prop_map(Step::Put),
        2 => (addresses(), any::<bool>()).prop_map(|(at, right)| Step::Replace(at, right)),
        3 => addresses().prop_map(Step::Clear),
        1 => (addresses(), 1..300_u64).prop_map(|(at, n)| Step::ClearRange(at, n)),
        1 => Just(Step::Settle),
    ]
}

proptest! {
    #[test]
    fn it_is_a_map(steps in proptest::collection::vec(steps(), 1..600)) {
        let (map, memory) = map_of(FEW);
        let mut model = BTreeMap::new();
        let of = |model: &BTreeMap<u64, MapEntry>, at| model.get(&at).copied().unwrap_or(MapEntry::EMPTY);
        for (n, step) in (1..).zip(steps) {
            match step {
                Step::Put(at) => {
                    prop_assert_eq!(map.swap(Lba(at), entry(n)), of(&model, at));
                    model.insert(at, entry(n));
                }
                Step::Replace(at, right) => {
                    let expected = if right { of(&model, at) } else { entry(n + 1) };
                    prop_assert_eq!(replace(&map, Lba(at), expected, entry(n)), right);
                    if right {
                        model.insert(at, entry(n));
                    }
                }
                Step::Clear(at) => {
                    prop_assert_eq!(map.clear(Lba(at)), of(&model, at));
                    model.remove(&at);
                }
                Step::ClearRange(at, blocks) => {
                    let mut cleared = Vec::new();
                    map.clear_mapped(Lba(at), blocks.min(MOST_BLOCKS - at), |old| cleared.push(old));
                    let gone: Vec<u64> = model.range(at..at + blocks).map(|(&at, _)| at).collect();
                    let gone: Vec<_> = gone.iter().map(|at| model.remove(at).unwrap()).collect();
                    prop_assert_eq!(cleared, gone);
                }
                Step::Settle => settle(&map, &memory),
            }
        }
        let mut found = Vec::new();
        for_each(&map, |lba, entry| found.push((lba.0, entry)));
        prop_assert!(found.into_iter().eq(model.iter().map(|(&at, &entry)| (at, entry))));
        for &at in model.keys() {
            prop_assert_eq!(map.get(Lba(at)), model[&at]);
            prop_assert!(map.skip_holes(Lba(at), Lba(at + 1)) == Lba(at));
            prop_assert!(map.skip_holes(Lba(at), Lba(at)) == Lba(at));
        }
        map.clear_mapped(Lba(0), MOST_BLOCKS, |_| {});
        settle_all(&map, &memory);
        prop_assert_eq!(memory.bytes(), 0);
    }
}

/// Threads that write blocks of their own in the same chunks, which become dense and thin all the time, and one that
/// reads them all: nobody's write is lost, and nobody sees anything but what was in a block once.
#[test]
fn writers_and_readers_meet_while_chunks_change_their_kind() {
    const THREADS: usize = 3;
    const EACH: u64 = 40;
    const ROUNDS: u64 = 400;
    let (map, memory) = map_of(FEW);
    // Everybody has passed through here as often as the round before asked for: none holds on to anything.
    let passed: Vec<AtomicUsize> = (0..THREADS + 1).map(|_| AtomicUsize::new(0)).collect();
    let asked = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let at = |thread: usize, n: u64| Lba((n % 2) * CHUNK_ENTRIES + n * 640 + thread as u64);
    let pass = |thread: usize| passed[thread].store(asked.load(Ordering::SeqCst), Ordering::SeqCst);
    std::thread::scope(|scope| {
        let (map, passed, asked, done) = (&map, &passed, &asked, &done);
        for (thread, mine) in passed[..THREADS].iter().enumerate() {
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    for n in 0..EACH {
                        let old = map.swap(at(thread, n), entry(round));
                        assert_eq!(old, MapEntry::EMPTY, "nobody else maps it");
                        pass(thread);
                    }
                    for n in 0..EACH {
                        assert!(replace(map, at(thread, n), entry(round), entry(round + 1)), "nobody else moves it");
                        assert_eq!(map.clear(at(thread, n)), entry(round + 1), "nobody else clears it");
                        pass(thread);
                    }
                }
                mine.store(usize::MAX, Ordering::SeqCst);
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        scope.spawn(move || {
            while done.load(Ordering::SeqCst) < THREADS {
                for (thread, n) in (0..THREADS).flat_map(|thread| (0..EACH).map(move |n| (thread, n))) {
                    let seen = map.get(at(thread, n));
                    assert!(seen.is_empty() || (1..=ROUNDS + 1).any(|round| seen == entry(round)), "{seen:?}");
                }
                pass(THREADS);
            }
            passed[THREADS].store(usize::MAX, Ordering::SeqCst);
        });
        while passed.iter().any(|passed| passed.load(Ordering::SeqCst) != usize::MAX) {
            memory.begin_round(std::iter::once(map));
            let ask = asked.fetch_add(1, Ordering::SeqCst) + 1;
            while passed.iter().any(|passed| passed.load(Ordering::SeqCst) < ask) {
                std::thread::yield_now();
            }
            memory.end_round(std::iter::once(map));
        }
    });
    settle_all(&map, &memory);
    assert_eq!(memory.bytes(), 0);
}
