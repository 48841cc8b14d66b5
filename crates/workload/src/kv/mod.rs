//! YCSB's core workloads on a key-value store with the write pattern of a log-structured merge tree.
//!
//! The store is modelled on RocksDB with leveled compaction, down to which key is in which table: writes go to a log and
//! a memtable, a full memtable becomes a table of level 0, tables are merged down the levels, and tables and logs that
//! are no longer needed are trimmed. Lookups ask the memtables, then the tables that may have the key as their Bloom
//! filters tell, through a block cache. Only what reaches the volume is modelled: there is no processor, and operations
//! answered from memory take no time.
//!
//! All of it is one [`Source`], because what is read must have been written before. A flush is a barrier for lookups too
//! then, which in RocksDB it is only for the thread that waits for it; unless the log is synced there is one for each
//! table, 64 MiB. A lookup's reads are issued at once, not one after the other.

mod activity;
mod background;
mod bits;
mod cache;
mod error;
mod log;
mod operations;
mod output;
mod space;
mod store;
mod table;
mod tree;

pub use activity::Activity;
pub use operations::{Popularity, Workload};

use crate::request::MOST_AT_ONCE;
use crate::values::{Size, Span};
use crate::{Schedule, Source, WorkloadError};
use cygnus_runtime::Rng;
use cygnus_types::ByteSize;
use error::StoreError;
use serde::Deserialize;
use space::UNIT;
use std::ops::Range;
use store::Store;
use table::PAGE;
use tree::Shape;

/// A store and the workload of its clients. In TOML a `[[workload.ycsb]]` table with at least `workload`.
///
/// The defaults are RocksDB's, but for Bloom filters of 10 bits and blocks of 16 KiB, which it has off and at 4 KiB and
/// which its own tuning guide recommends. As by its defaults, the log is not synced and sizes of levels are fixed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ycsb {
    /// For reports; `ycsb-a` and so on if not given.
    pub name: Option<String>,
    /// Which workload: `"load"` or `"a"` to `"f"`.
    pub workload: Workload,
    /// Which records are hot; YCSB's choice if not given: `"latest"` for D, `"zipfian"` for all others.
    pub popularity: Option<Popularity>,
    /// Records at the start, or to be loaded; a third of the space if not given.
    pub records: Option<u64>,
    /// Records that may be there after inserts, the most there may be: later inserts replace other records; a tenth more than at the
    /// start if not given, for workloads with inserts.
    pub max_records: Option<u64>,
    /// Bytes of a record with its key. YCSB's have 10 fields of 100 bytes.
    #[serde(default = "defaults::record_size")]
    pub record_size: Size,
    /// Operations after which the workload ends; endless if not given.
    pub operations: Option<u64>,
    /// Requests outstanding at once.
    #[serde(default = "defaults::depth")]
    pub depth: u32,
    /// Size of a memtable (`write_buffer_size`).
    #[serde(default = "defaults::memtable")]
    pub memtable: Size,
    /// Size of a table below level 0 (`target_file_size_base`).
    #[serde(default = "defaults::memtable")]
    pub table: Size,
    /// Tables of level 0 that call for a merge (`level0_file_num_compaction_trigger`). At five times as many writes wait,
    /// where RocksDB begins to delay them (`level0_slowdown_writes_trigger`).
    #[serde(default = "defaults::level0_tables")]
    pub level0_tables: u16,
    /// Size of level 1 (`max_bytes_for_level_base`).
    #[serde(default = "defaults::level1")]
    pub level1: Size,
    /// How many times larger each level is than the one above (`max_bytes_for_level_multiplier`).
    #[serde(default = "defaults::level_ratio")]
    pub level_ratio: u16,
    /// What a lookup reads of a table (`block_size`).
    #[serde(default = "defaults::block_size")]
    pub block_size: Size,
    /// Memory for such blocks (`block_cache`).
    #[serde(default = "defaults::block_cache")]
    pub block_cache: Size,
    /// Bits of the Bloom filters for each record; 0 for none.
    #[serde(default = "defaults::bloom_bits")]
    pub bloom_bits: u16,
    /// Whether there is a write-ahead log.
    #[serde(default = "defaults::yes")]
    pub log: bool,
    /// Writes after which the log is synced, those of a group that commits together; 0 for never.
    #[serde(default)]
    pub sync_every: u64,
    /// Whether the space of deleted files is trimmed.
    #[serde(default = "defaults::yes")]
    pub trim: bool,
    /// Whether the records that are there at the start are written first; choose a ramp that covers it. Reads find
    /// nothing on an array otherwise.
    #[serde(default = "defaults::yes")]
    pub prefill: bool,
    /// Where on the volume the store begins.
    #[serde(default)]
    pub offset: Size,
    /// How much of the volume it has; to the volume's end if not given.
    pub size: Option<Size>,
    /// The first part of the run, which is not measured.
    #[serde(default)]
    pub ramp: Span,
    /// Stop after this time, the ramp included.
    pub duration: Option<Span>,
}

mod defaults {
    use crate::values::Size;

    pub(super) fn record_size() -> Size {
        Size(1 << 10)
    }

    pub(super) fn depth() -> u32 {
        32
    }

    pub(super) fn memtable() -> Size {
        Size(64 << 20)
    }

    pub(super) fn level0_tables() -> u16 {
        4
    }

    pub(super) fn level1() -> Size {
        Size(256 << 20)
    }

    pub(super) fn level_ratio() -> u16 {
        10
    }

    pub(super) fn block_size() -> Size {
        Size(16 << 10)
    }

    pub(super) fn block_cache() -> Size {
        Size(32 << 20)
    }

    pub(super) fn bloom_bits() -> u16 {
        10
    }

    pub(super) fn yes() -> bool {
        true
    }
}

/// A configuration that makes sense, in the store's own terms.
#[derive(Clone, Debug)]
struct Settings {
    name: String,
    workload: Workload,
    popularity: Popularity,
    footprint: Range<u64>,
    units: u64,
    shape: Shape,
    /// Records at the start.
    records: u64,
    operations: Option<u64>,
    depth: u32,
    memtable: u64,
    level0_stop: usize,
    block: u64,
    cache: u64,
    /// How often a Bloom filter says that a table may have a key which it has not.
    false_positives: f64,
    log: bool,
    sync_every: u64,
    trim: bool,
    prefill: bool,
    schedule: Schedule,
}

impl Ycsb {
    /// A workload of everybody's choice on a store by default.
    pub fn new(workload: Workload) -> Ycsb {
        Ycsb {
            name: None,
            workload,
            popularity: None,
            records: None,
            max_records: None,
            record_size: defaults::record_size(),
            operations: None,
            depth: defaults::depth(),
            memtable: defaults::memtable(),
            table: defaults::memtable(),
            level0_tables: defaults::level0_tables(),
            level1: defaults::level1(),
            level_ratio: defaults::level_ratio(),
            block_size: defaults::block_size(),
            block_cache: defaults::block_cache(),
            bloom_bits: defaults::bloom_bits(),
            log: true,
            sync_every: 0,
            trim: true,
            prefill: true,
            offset: Size(0),
            size: None,
            ramp: Span::default(),
            duration: None,
        }
    }

    /// What reports call it.
    pub(crate) fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("ycsb-{}", self.workload.letter()))
    }

    fn shape(&self, capacity: u64) -> Shape {
        Shape {
            capacity,
            entry: self.record_size.0,
            table_entries: self.table.0 / self.record_size.0,
            level0_tables: self.level0_tables.into(),
            level1_bytes: self.level1.0,
            ratio: self.level_ratio.into(),
        }
    }

    /// Finds what contradicts itself on a volume of any size.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        self.check_numbers().map_err(|error| WorkloadError::setting(&self.name(), error.to_string()))
    }

    fn check_numbers(&self) -> Result<(), StoreError> {
        let between = |key, Size(size): Size, low: u64, high: u64| match (low..=high).contains(&size) {
            true => Ok(()),
            false => Err(StoreError::Size { key, low: ByteSize(low), high: ByteSize(high), is: ByteSize(size) }),
        };
        between("record-size", self.record_size, 16, UNIT)?;
        between("memtable", self.memtable, 16 * self.record_size.0.max(PAGE), 1 << 30)?;
        between("table", self.table, UNIT.max(64 * self.record_size.0), 1 << 30)?;
        between("level1", self.level1, self.table.0, 1 << 50)?;
        between("block-size", self.block_size, PAGE, UNIT)?;
        between("block-cache", self.block_cache, 0, 1 << 38)?;
        if !self.block_size.0.is_power_of_two() {
            return Err(StoreError::BlockSize);
        }
        if !self.offset.0.is_multiple_of(PAGE) {
            return Err(StoreError::Offset);
        }
        if self.level0_tables == 0 || self.depth == 0 {
            return Err(StoreError::Nothing);
        }
        if self.depth > MOST_AT_ONCE {
            return Err(StoreError::Depth(self.depth));
        }
        if !(2..=1000).contains(&self.level_ratio) {
            return Err(StoreError::LevelRatio(self.level_ratio));
        }
        if self.duration.is_some_and(|duration| duration <= self.ramp) {
            return Err(StoreError::Duration);
        }
        Ok(())
    }

    /// Bytes that a store of `capacity` records may need at most, garbage of levels and files that are being made included.
    fn needs(&self, capacity: u64) -> u64 {
        let shape = self.shape(capacity);
        let (all, table) = (capacity * shape.entry, self.table.0 + UNIT);
        let upper: u64 = (1..shape.levels()).map(|level| all.min(shape.target(level).saturating_add(table))).sum();
        // Tables end where they must and files at whole units: a quarter more.
        let levels = (all + upper) / 4 * 5;
        let level0 = u64::from(self.level0_tables) * LEVEL0_STOP * (self.memtable.0 + UNIT);
        // A merge's output stands beside its input; so do those before the next flush.
        let merges = 2 * (level0 + all.min(self.level1.0)) + 2 * (shape.ratio + 2) * table;
        let logs = 3 * (self.memtable.0 + UNIT);
        levels + level0 + all.min(merges) + logs + 2 * table
    }

    fn settings(&self, volume_size: u64) -> Result<Settings, WorkloadError> {
        let name = self.name();
        let wrong = |what: String| WorkloadError::setting(&name, what);
        self.check()?;
        let Size(start) = self.offset;
        let size = self.size.map_or(volume_size.saturating_sub(start), |size| size.0);
        let end = start.saturating_add(size);
        let loaded = self.records.unwrap_or(size / 3 / self.record_size.0);
        let more = if self.workload.inserts() > 0.0 && self.workload != Workload::Load { loaded / 10 } else { 0 };
        let capacity = self.max_records.unwrap_or(loaded.saturating_add(more));
        if loaded == 0 || capacity < loaded || capacity > MOST_RECORDS {
            let most = format!("from 1 to {MOST_RECORDS}, and max-records is no fewer");
            return Err(wrong(format!("records: {most}; these are {loaded} and {capacity}")));
        }
        let needs = self.needs(capacity);
        if end > volume_size || needs > size {
            let (needs, volume) = (ByteSize(end.max(start.saturating_add(needs))), ByteSize(volume_size));
            return Err(WorkloadError::Volume { name, needs, volume });
        }
        let writes = self.workload != Workload::C;
        if !writes && self.block_cache.0 >= loaded * self.record_size.0 {
            return Err(wrong(
                "block-cache: holds all records, so that nothing is left to read from the volume".into(),
            ));
        }
        let block = self.block_size.0.max(self.record_size.0.next_power_of_two());
        Ok(Settings {
            workload: self.workload,
            popularity: self.popularity.unwrap_or(self.workload.popularity()),
            footprint: start..end,
            units: size / UNIT,
            shape: self.shape(capacity),
            records: if self.workload == Workload::Load { 0 } else { loaded },
            operations: self.operations,
            depth: self.depth,
            memtable: self.memtable.0,
            level0_stop: usize::from(self.level0_tables) * LEVEL0_STOP as usize,
            block,
            cache: self.block_cache.0,
            false_positives: libm::pow(FALSE_POSITIVES_OF_A_BIT, self.bloom_bits.into()),
            log: self.log,
            sync_every: self.sync_every,
            trim: self.trim,
            prefill: self.prefill,
            schedule: Schedule {
                ramp: self.ramp.0,
                duration: self.duration.map(|duration| duration.0),
                ..Schedule::default()
            },
            name,
        })
    }
}

/// Writes wait at this many times the tables of level 0 that call for a merge (20 and 4 in RocksDB).
const LEVEL0_STOP: u64 = 5;
/// More would need gigabytes of memory to know which is where.
const MOST_RECORDS: u64 = 1 << 32;
/// A Bloom filter with the best number of probes is wrong this often to the power of its bits for each key.
const FALSE_POSITIVES_OF_A_BIT: f64 = 0.6185;

/// The clients of all stores.
pub(crate) fn build(stores: &[Ycsb], volume_size: u64, seeds: &mut Rng) -> Result<Vec<Box<dyn Source>>, WorkloadError> {
    if stores.is_empty() {
        return Err(WorkloadError::setting("ycsb", "there is no store: add a [[workload.ycsb]] table"));
    }
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    for store in stores {
        let settings = store.settings(volume_size)?;
        let (name, needs) = (settings.name.clone(), ByteSize(settings.footprint.end + 1));
        let full = WorkloadError::Volume { name, needs, volume: ByteSize(volume_size) };
        sources.push(Box::new(Store::new(settings, seeds.fork()).ok_or(full)?));
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
