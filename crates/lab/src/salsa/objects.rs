//! The object server of section 5.3: what is stored, updated and read there, on the disk as it is and below SALSA.
//!
//! Objects lie in files of XFS, as Swift puts them there; see `cygnus_workload::Objects`. Figures 5 and 6 look at the same runs.

use super::common::{RAW, SALSA, disk, raw, salsa_on_disk};
use crate::chart::Scheme;
use crate::experiment::{Scale, Trial, Trialled};
use crate::outcome::OperationRow;

/// How much smaller the disk and all that lies on it are.
pub const DIVISOR: f64 = 16.0;
/// Seeds of each: the order of updates and of reads is random.
pub const SEEDS: u32 = 3;

/// Bytes of all objects, of the file system's log, and of what may have entries of its own in SALSA's second map.
const DATA: f64 = (64_u64 << 30) as f64;
const LOG: f64 = (2_u64 << 30) as f64;
const FINE: f64 = (4_u64 << 30) as f64;
/// Green threads (section 5.3).
const WRITERS: u32 = 32;
/// Seconds after which all is done whatever the disk; what comes then costs nothing.
const SECONDS: u32 = 40_000;

/// What is done to objects, in the order of the figures' panels.
pub const OPERATIONS: [(&str, &str); 3] = [("PUT", "put"), ("UPDATE", "update"), ("GET", "get")];

/// Objects of one size.
#[derive(Clone, Copy)]
pub struct Size {
    /// As the figures have it.
    pub name: &'static str,
    kib: u64,
    /// So many are stored between two times that XFS writes changed inodes back.
    write_back: u32,
}

/// Both sizes.
pub const SIZES: [Size; 2] =
    [Size { name: "128 KiB", kib: 128, write_back: 4096 }, Size { name: "10 MiB", kib: 10 << 10, write_back: 128 }];

/// What else a trial is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing: it is judged.
    None,
    /// Files are in all allocation groups.
    Spread,
    /// SALSA has one map only.
    OneMap,
}

/// Trials of one size, in this order.
const TRIALS: [(&str, bool, Change); 5] = [
    ("raw", false, Change::None),
    ("SALSA", true, Change::None),
    ("raw, files in all groups", false, Change::Spread),
    ("SALSA, files in all groups", true, Change::Spread),
    ("SALSA, one map of 64 KiB", true, Change::OneMap),
];

/// Why raw writes may be too fast here.
pub const SPREAD: &str = "Files are in all eight allocation groups of XFS, not in the one of the directory in which they are made and renamed.";

/// What whoever reads the results must know of the workload.
pub const NOTES: [&str; 6] = [
    "Neither Swift nor XFS runs, and no processor is modelled. A PUT writes the object's data, flushes, writes 8 KiB of the file system's log, and flushes, as fsync does; \
     an UPDATE reads inodes, does the same in another place, and gives up the old one; a GET reads inodes and then data, 128 KiB at a time.",
    "Section 5.3 says that objects are written to a temporary file, which is renamed. XFS keeps a file where the directory lies in which it was made: so all files are in one allocation \
     group, one behind the other. A control has them in all eight.",
    "32 objects are stored or updated at once, as many as the paper's green threads. GETs are made one at a time: by the figures' own rates and medians 0.4 to 0.9 were under way.",
    "Inodes are of 1 KiB, as Swift's documentation has them. Changed ones are written back after 4096 small or 128 large objects: XFS does so every 30 s, which by the published rates is 1600 to 13000, and \
     50 to 190.",
    "The disk, its persistent cache, the 64 GiB of objects, the log of XFS and SALSA's second map are 16 times smaller. Bands, buffer, segments and objects have their size, and seeks are as long.",
    "SALSA's second map is for 4 GiB at full size, which is enough for the log and all inodes. How large the paper's was is not published. The disk was formatted before; no file is trimmed.",
];

/// All of them, those of small objects first.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let of_size = |size: Size| {
        TRIALS.map(|(name, is_log, change)| {
            let name = format!("{name}, {}", size.name);
            let scheme = match change {
                Change::None if is_log => SALSA,
                Change::None => RAW,
                Change::Spread | Change::OneMap => Scheme::Serial,
            };
            Trial::new(&name, scheme, scenario(scale, size, is_log, change))
        })
    };
    SIZES.into_iter().flat_map(of_size).collect()
}

fn scenario(scale: Scale, size: Size, is_log: bool, change: Change) -> String {
    let kib = |bytes: f64| (bytes / scale.divisor()) as u64 / (64 << 10) * 64;
    let Size { kib: object, write_back, .. } = size;
    let objects = kib(DATA) / object;
    let (array, volume) = match is_log {
        false => (raw(), "size = \"100% of data\"\n".to_owned()),
        true => {
            let fine = if change == Change::OneMap { 0 } else { kib(FINE) };
            (salsa_on_disk(), format!("size = \"90% of data\"\npage = \"64KiB\"\nfine = \"{fine}KiB\"\n"))
        }
    };
    let spread = change == Change::Spread;
    format!(
        "name = \"objects\"\n{}{array}[volume]\n{volume}[workload.objects]\nsize = \"{object}KiB\"\nobjects = {objects}\n\
         writers = {WRITERS}\nlog = \"{}KiB\"\nwrite-back = {write_back}\nspread = {spread}\n\
         [run]\nduration = \"{SECONDS}s\"\nsample = \"20s\"\n",
        disk(scale),
        kib(LOG)
    )
}

/// What came of objects of one size.
pub struct Served<'a> {
    /// Their size.
    pub size: Size,
    trials: &'a [Trialled<'a>],
    first: usize,
}

impl<'a> Served<'a> {
    /// Of both sizes.
    pub fn of(trials: &'a [Trialled<'a>]) -> [Self; 2] {
        [0, 1].map(|n| {
            let first = n * TRIALS.len();
            Self { size: SIZES[n], trials: &trials[first..first + TRIALS.len()], first }
        })
    }

    /// The disk as it is, or SALSA's.
    pub fn judged(&self, is_log: bool) -> &Trialled<'a> {
        &self.trials[usize::from(is_log)]
    }

    /// The same with files in all groups.
    pub fn spread(&self, is_log: bool) -> &Trialled<'a> {
        &self.trials[2 + usize::from(is_log)]
    }

    /// The places of both among all trials.
    pub fn pair(&self, is_log: bool) -> (usize, usize) {
        let judged = self.first + usize::from(is_log);
        (judged, judged + 2)
    }

    /// All of its trials.
    pub fn all(&self) -> &[Trialled<'a>] {
        self.trials
    }

    /// MiB/s of objects.
    pub fn rate(&self, of: &Trialled, operation: &str) -> f64 {
        let mib = self.size.kib as f64 / 1024.0;
        row(of, operation).map_or(0.0, |row| row.count as f64 * mib / (row.span_ns as f64 / 1e9).max(1e-9))
    }
}

/// The operations of that name; nothing if there were none.
pub fn row<'a>(of: &Trialled<'a>, operation: &str) -> Option<&'a OperationRow> {
    of.outcome.operations.iter().find(|row| row.client == operation)
}
