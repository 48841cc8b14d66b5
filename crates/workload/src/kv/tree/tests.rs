use super::*;
use cygnus_runtime::Rng;
use proptest::prelude::*;
use std::collections::BTreeSet;

impl Tree {
    /// Bytes of each level, from level 0.
    pub(in super::super) fn level_sizes(&self) -> Vec<u64> {
        (0..=self.levels.len()).map(|level| self.level_bytes(level)).collect()
    }
}

const CAPACITY: u64 = 20_000;

fn shape() -> Shape {
    let (entry, table_entries) = (1 << 10, 2048);
    Shape { capacity: CAPACITY, entry, table_entries, level0_tables: 2, level1_bytes: 4 << 20, ratio: 3 }
}

/// Where a lookup finds a position, if anywhere.
fn found(tree: &Tree, position: u64) -> bool {
    let mut found = 0;
    tree.lookup(position, |table, offset, has| {
        assert!(table.range.contains(&position) && offset < table.entries * table.entry);
        found += u32::from(has);
    });
    assert!(found <= 1, "a lookup ends with the first that has it");
    found == 1
}

fn check(tree: &Tree, space: &Space, units: u64, expect: &BTreeSet<u64>) {
    for level in &tree.levels {
        for pair in level.tables.windows(2) {
            assert!(pair[0].range.end <= pair[1].range.start, "tables of a level overlap");
        }
        for table in &level.tables {
            let entries = table.range.clone().filter(|&position| level.keys.has(position)).count();
            assert_eq!((entries as u64, entries > 0), (table.entries, true));
        }
        let keys = (0..CAPACITY).filter(|&position| level.keys.has(position)).count() as u64;
        assert_eq!(keys, level.tables.iter().map(|table| table.entries).sum::<u64>(), "a key is in no table");
    }
    let mut taken = BTreeSet::new();
    for table in tree.tables() {
        assert_eq!(table.units.len() as u64, Table::units_for(table.entries, table.entry));
        assert!(table.units.iter().all(|unit| taken.insert(*unit)), "live files overlap");
    }
    assert_eq!(taken.len() as u64 + space.free(), units);
    assert!((0..CAPACITY).all(|position| found(tree, position) == expect.contains(&position)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_key_is_found_where_it_was_put(
        batches in prop::collection::vec((1_u64..3000, 1_u64..CAPACITY), 1..12), filled in 0..CAPACITY, seed: u64
    ) {
        const UNITS: u64 = 200;
        let (mut rng, mut space, mut tree) = (Rng::new(seed), Space::new(UNITS), Tree::new(shape()));
        let mut expect: BTreeSet<u64> = (0..filled).collect();
        tree.fill((0..filled as usize).map(|n| n as u64), || rng.unit(), &mut space).unwrap();
        check(&tree, &space, UNITS, &expect);
        for (count, span) in batches {
            let members: BTreeSet<u64> = (0..count).map(|_| rng.below(span)).collect();
            expect.extend(&members);
            let fresh = tree.make_fresh(&members, &mut space).unwrap();
            tree.add_fresh(fresh);
            while let Some(merge) = tree.plan(&mut space).unwrap() {
                let inputs: Vec<u64> = tree.inputs(&merge).map(|table| table.id).collect();
                let gone = tree.commit(merge);
                prop_assert!(gone.iter().map(|table| table.id).eq(inputs));
                gone.iter().for_each(|table| drop(space.give_back(&table.units)));
                space.flushed();
            }
            check(&tree, &space, UNITS, &expect);
            prop_assert!((0..tree.levels.len()).all(|level| tree.pressure(level) < 1.0));
            prop_assert_eq!(tree.debt() > 0, false);
        }
    }

    #[test]
    fn a_scan_meets_what_lookups_find(from in 0..CAPACITY - 1, len in 1_u64..300, seed: u64) {
        let (mut rng, mut space, mut tree) = (Rng::new(seed), Space::new(200), Tree::new(shape()));
        tree.fill((0..CAPACITY as usize).map(|n| n as u64), || rng.unit(), &mut space).unwrap();
        let range = from..(from + len).min(CAPACITY);
        let mut met = Vec::new();
        tree.scan(range.clone(), |table, first, last| {
            assert!(first <= last && last < table.entries * table.entry);
            met.push((table.id, first..=last));
        });
        for position in range {
            tree.lookup(position, |table, offset, has| {
                assert!(!has || met.iter().any(|(id, part)| *id == table.id && part.contains(&offset)));
            });
        }
    }
}

#[test]
fn a_merge_without_room_changes_nothing() {
    let (mut space, mut tree) = (Space::new(8), Tree::new(shape()));
    for _ in 0..2 {
        let fresh = tree.make_fresh(&(0..3000).collect(), &mut space).unwrap();
        tree.add_fresh(fresh);
    }
    assert_eq!((tree.plan(&mut space).map(drop), space.free(), tree.fresh()), (Err(NoRoom), 2, 2));
}

#[test]
fn levels_are_a_ratio_apart() {
    let rocksdb = Shape {
        capacity: 64 << 20,
        entry: 1 << 10,
        table_entries: 64 << 10,
        level0_tables: 4,
        level1_bytes: 256 << 20,
        ratio: 10,
    };
    assert_eq!(rocksdb.levels(), 4, "256 MiB, 2.5 GiB, 25 GiB, and the rest of 64 GiB");
    assert_eq!(rocksdb.target(3), 25_600 << 20);
}
