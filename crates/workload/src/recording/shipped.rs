//! The recordings that come with Cygnus. `docs/recordings.md` says how they were made.

use crate::trace::{ReadOptions, TraceError, TraceReader};
use serde::Deserialize;
use serde::de::{self, Deserializer};
use std::path::Path;

/// A recording that comes with Cygnus.
#[derive(PartialEq, Eq)]
pub struct Shipped {
    /// What to call it by.
    pub name: &'static str,
    /// What was recorded, on what and with how much, in one line.
    pub about: &'static str,
    bytes: &'static [u8],
}

macro_rules! shipped {
    ($name:literal, $about:literal) => {
        Shipped { name: $name, about: $about, bytes: include_bytes!(concat!("../../recordings/", $name, ".trace.bz2")) }
    };
}

/// All recordings that the program has in itself.
pub static SHIPPED: [Shipped; 6] = [
    shipped!("rocksdb-load", "RocksDB on ext4: 250,000 records of 1 KB written in random order"),
    shipped!("rocksdb-a", "RocksDB on ext4, YCSB A: half reads, half updates"),
    shipped!("rocksdb-b", "RocksDB on ext4, YCSB B: 95 % reads, 5 % updates"),
    shipped!("rocksdb-c", "RocksDB on ext4, YCSB C: reads"),
    shipped!("rocksdb-e", "RocksDB on ext4, YCSB E: 95 % short scans, 5 % updates"),
    shipped!("rocksdb-f", "RocksDB on ext4, YCSB F: reads, and updates that read first"),
];

impl Shipped {
    /// The one of that name.
    pub fn by_name(name: &str) -> Option<&'static Shipped> {
        SHIPPED.iter().find(|shipped| shipped.name == name)
    }

    /// Its requests.
    ///
    /// # Errors
    /// None, unless this build of the program is damaged.
    pub fn open(&self) -> Result<TraceReader<'static>, TraceError> {
        TraceReader::new(Path::new(self.name), self.bytes, ReadOptions::default())
    }
}

impl std::fmt::Debug for Shipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static Shipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Shipped::by_name(&name).ok_or_else(|| {
            let names: Vec<_> = SHIPPED.iter().map(|shipped| shipped.name).collect();
            de::Error::custom(format!("no recording \"{name}\" comes with Cygnus; known are {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn all_are_whole_and_of_one_volume() {
        for shipped in &SHIPPED {
            let mut reader = shipped.open().unwrap_or_else(|error| panic!("{error}"));
            let records: Vec<_> = reader.by_ref().map(|record| record.expect("it is whole")).collect();
            let (header, damage) = reader.recording().expect("it is a recording");
            assert_eq!(damage, Default::default(), "{}", shipped.name);
            assert_eq!((header.volume.as_str(), header.size), ("tank/vol0", 1600 << 20), "{}", shipped.name);
            assert!(records.iter().all(|record| record.end() <= header.size), "{}", shipped.name);
            assert!(records.iter().any(|record| record.kind == Kind::Write), "{}: a file system writes", shipped.name);
        }
    }

    #[test]
    fn a_name_that_is_unknown_brings_those_that_are_known() {
        #[derive(Debug, Deserialize)]
        struct Section {
            recording: &'static Shipped,
        }
        let read = |name: &str| toml::from_str::<Section>(&format!("recording = \"{name}\""));
        assert_eq!(read("rocksdb-c").expect("it is known").recording.name, "rocksdb-c");
        assert!(read("rocksdb-d").unwrap_err().to_string().contains("known are rocksdb-load, rocksdb-a"));
    }
}
