//! The operations of YCSB's workloads (B. Cooper et al., "Benchmarking cloud serving systems with YCSB", SoCC'10).

use crate::distribution::Zipf;
use cygnus_runtime::Rng;
use serde::Deserialize;

/// YCSB's exponent.
const THETA: f64 = 0.99;

/// A core workload of YCSB, or the loading before it: the shares of reads, updates, inserts and scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Inserts all records.
    Load,
    /// Half reads, half updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Reads only.
    C,
    /// 95 % reads of the latest, 5 % inserts.
    D,
    /// 95 % scans of up to 100 records, 5 % inserts.
    E,
    /// Half reads, half read-modify-writes.
    F,
}

/// Which records are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Popularity {
    /// Some are hot (exponent 0.99), wherever they are.
    Zipfian,
    /// The newest ones are hot.
    Latest,
    /// All alike.
    Uniform,
}

/// One operation on a record; records are numbered in the order of their insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Read(u64),
    Update(u64),
    Insert(u64),
    ReadModifyWrite(u64),
    Scan { from: u64, records: u64 },
}

/// Shares of reads, updates, inserts and scans; what is left is read-modify-write.
const fn mix(workload: Workload) -> [f64; 4] {
    match workload {
        Workload::Load => [0.0, 0.0, 1.0, 0.0],
        Workload::A => [0.5, 0.5, 0.0, 0.0],
        Workload::B => [0.95, 0.05, 0.0, 0.0],
        Workload::C => [1.0, 0.0, 0.0, 0.0],
        Workload::D => [0.95, 0.0, 0.05, 0.0],
        Workload::E => [0.0, 0.0, 0.05, 0.95],
        Workload::F => [0.5, 0.0, 0.0, 0.0],
    }
}

impl Workload {
    /// What YCSB asks for if nobody says otherwise.
    pub(super) fn popularity(self) -> Popularity {
        if self == Workload::D { Popularity::Latest } else { Popularity::Zipfian }
    }

    /// As it is called: `load`, or its letter.
    pub(super) fn letter(self) -> &'static str {
        match self {
            Workload::Load => "load",
            Workload::A => "a",
            Workload::B => "b",
            Workload::C => "c",
            Workload::D => "d",
            Workload::E => "e",
            Workload::F => "f",
        }
    }

    /// Share of the operations that insert.
    pub(super) fn inserts(self) -> f64 {
        mix(self)[2]
    }
}

/// Draws operations.
#[derive(Clone, Debug)]
pub(super) struct Operations {
    workload: Workload,
    popularity: Popularity,
    zipf: Zipf,
    /// Records that exist.
    records: u64,
    /// Records for which there is room.
    capacity: u64,
}

impl Operations {
    /// On a store that has `records` and room for `capacity`, at least 1.
    pub(super) fn new(workload: Workload, popularity: Popularity, records: u64, capacity: u64) -> Operations {
        let zipf = Zipf::new(records.max(1), THETA);
        Operations { workload, popularity, zipf, records, capacity }
    }

    /// Records that exist.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// The next operation; `None` when a load is complete.
    pub(super) fn next(&mut self, rng: &mut Rng) -> Option<Operation> {
        let [reads, updates, inserts, scans] = mix(self.workload);
        let draw = rng.unit();
        if (reads + updates..reads + updates + inserts).contains(&draw) {
            if self.records < self.capacity {
                self.records += 1;
                return Some(Operation::Insert(self.records - 1));
            }
            if self.workload == Workload::Load {
                return None;
            }
        }
        let record = self.pick(rng);
        Some(match draw {
            draw if draw < reads => Operation::Read(record),
            // An insert into a full store replaces a record.
            draw if draw < reads + updates + inserts => Operation::Update(record),
            draw if draw < reads + updates + inserts + scans => {
                Operation::Scan { from: record, records: 1 + rng.below(100) }
            }
            _ => Operation::ReadModifyWrite(record),
        })
    }

    fn pick(&self, rng: &mut Rng) -> u64 {
        match self.popularity {
            Popularity::Zipfian => self.zipf.rank(rng),
            Popularity::Latest => self.records - 1 - self.zipf.rank(rng).min(self.records - 1),
            Popularity::Uniform => rng.below(self.records),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(workload: Workload) -> [f64; 5] {
        let mut operations = Operations::new(workload, workload.popularity(), 10_000, 20_000);
        let mut rng = Rng::new(3);
        let mut counts = [0_u32; 5];
        for _ in 0..50_000 {
            match operations.next(&mut rng).unwrap() {
                Operation::Read(_) => counts[0] += 1,
                Operation::Update(_) => counts[1] += 1,
                Operation::Insert(_) => counts[2] += 1,
                Operation::Scan { records, .. } => {
                    assert!((1..=100).contains(&records));
                    counts[3] += 1;
                }
                Operation::ReadModifyWrite(_) => counts[4] += 1,
            }
        }
        counts.map(|count| f64::from(count) / 50_000.0)
    }

    #[test]
    fn mixes_are_ycsbs() {
        for (workload, expect) in [
            (Workload::A, [0.5, 0.5, 0.0, 0.0, 0.0]),
            (Workload::B, [0.95, 0.05, 0.0, 0.0, 0.0]),
            (Workload::C, [1.0, 0.0, 0.0, 0.0, 0.0]),
            (Workload::D, [0.95, 0.0, 0.05, 0.0, 0.0]),
            (Workload::E, [0.0, 0.0, 0.05, 0.95, 0.0]),
            (Workload::F, [0.5, 0.0, 0.0, 0.0, 0.5]),
        ] {
            let got = shares(workload);
            assert!(got.iter().zip(expect).all(|(got, expect)| (got - expect).abs() < 0.01), "{workload:?} {got:?}");
        }
    }

    #[test]
    fn a_load_inserts_everything_once() {
        let mut operations = Operations::new(Workload::Load, Popularity::Zipfian, 0, 100);
        let all: Vec<_> = std::iter::from_fn(|| operations.next(&mut Rng::new(0))).collect();
        assert_eq!(all, (0..100).map(Operation::Insert).collect::<Vec<_>>());
    }

    #[test]
    fn d_reads_the_latest() {
        let mut operations = Operations::new(Workload::D, Popularity::Latest, 100_000, 101_000);
        let mut rng = Rng::new(1);
        let reads: Vec<(u64, u64)> = (0..10_000)
            .filter_map(|_| match operations.next(&mut rng) {
                Some(Operation::Read(record)) => Some((record, operations.records)),
                _ => None,
            })
            .collect();
        let recent = reads.iter().filter(|(record, records)| records - record <= 1000).count();
        assert!(recent * 10 > reads.len() * 5, "{recent} of {} reads are of the latest percent", reads.len());
        assert!(reads.iter().all(|(record, records)| record < records));
    }
}
