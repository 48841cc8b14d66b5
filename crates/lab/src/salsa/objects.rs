//! The object server of section 5.3: what is stored, updated and read there, on the disk as it is and below SALSA.
//!
//! Objects lie in files of XFS, as Swift puts them there; see `cygnus_workload::Objects`. Figures 5 and 6 look at the same runs.

use super::common::{RAW, SALSA, disk, raw, salsa_on_disk};
use crate::chart::Scheme;
use crate::experiment::{Findings, Scale, Trial, Trialled};
use crate::outcome::OperationRow;
use crate::series::NOTHING;

/// How much smaller the disk and all that lies on it are.
pub const DIVISOR: f64 = 16.0;

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

/// What a trial is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// The disk as it is.
    Raw,
    /// SALSA.
    Log,
    /// The disk as it is, with files in all allocation groups.
    Spread,
    /// SALSA with one map only.
    OneMap,
    /// SALSA with objects stored one at a time.
    OneByOne,
}

impl Setup {
    /// Of each size, in this order.
    const ALL: [Setup; 5] = [Setup::Raw, Setup::Log, Setup::Spread, Setup::OneMap, Setup::OneByOne];

    fn name(self) -> &'static str {
        match self {
            Setup::Raw => "raw",
            Setup::Log => "SALSA",
            Setup::Spread => "raw, files in all groups",
            Setup::OneMap => "SALSA, one map of 64 KiB",
            Setup::OneByOne => "SALSA, objects stored one at a time",
        }
    }

    fn scheme(self) -> Scheme {
        match self {
            Setup::Raw => RAW,
            Setup::Log => SALSA,
            Setup::Spread | Setup::OneMap | Setup::OneByOne => Scheme::Serial,
        }
    }

    fn is_raw(self) -> bool {
        matches!(self, Setup::Raw | Setup::Spread)
    }
}

/// Those that are judged.
pub const JUDGED: [Setup; 2] = [Setup::Raw, Setup::Log];

/// Supposed causes, and the trials in which they are changed.
const SPREAD: &str = "Files are in all eight allocation groups of XFS, not in the one of the directory in which they are made and renamed.";
const BETWEEN: &str = "Objects that are stored at once lie between each other in the log: here they are stored and updated one at a time.";

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
    let trial = |size: Size, setup: Setup| {
        let name = format!("{}, {}", setup.name(), size.name);
        Trial::new(&name, setup.scheme(), scenario(scale, size, setup))
    };
    SIZES.into_iter().flat_map(|size| Setup::ALL.map(|setup| trial(size, setup))).collect()
}

fn scenario(scale: Scale, size: Size, setup: Setup) -> String {
    let kib = |bytes: f64| (bytes / scale.divisor()) as u64 / (64 << 10) * 64;
    let Size { kib: object, write_back, .. } = size;
    let (objects, log) = (kib(DATA) / object, kib(LOG));
    let array = if setup.is_raw() { raw() } else { salsa_on_disk() };
    let fine = if setup == Setup::OneMap { 0 } else { kib(FINE) };
    let volume = match setup.is_raw() {
        true => "size = \"100% of data\"\n".to_owned(),
        false => format!("size = \"90% of data\"\npage = \"64KiB\"\nfine = \"{fine}KiB\"\n"),
    };
    let writers = if setup == Setup::OneByOne { 1 } else { WRITERS };
    let spread = setup == Setup::Spread;
    format!(
        "name = \"objects\"\n{}{array}[volume]\n{volume}[workload.objects]\nsize = \"{object}KiB\"\nobjects = {objects}\n\
         writers = {writers}\nlog = \"{log}KiB\"\nwrite-back = {write_back}\nspread = {spread}\n\
         [run]\nduration = \"{SECONDS}s\"\nsample = \"20s\"\n",
        disk(scale)
    )
}

/// What came of objects of one size.
pub struct Served<'a> {
    /// Their size.
    pub size: Size,
    /// All trials of it.
    pub trials: &'a [Trialled<'a>],
    /// The place of its first one among those of both sizes.
    first: usize,
}

impl<'a> Served<'a> {
    /// Of both sizes.
    pub fn of(trials: &'a [Trialled<'a>]) -> [Self; 2] {
        let each = Setup::ALL.len();
        [0, 1].map(|n| Self { size: SIZES[n], trials: &trials[n * each..][..each], first: n * each })
    }

    /// What came of a trial.
    pub fn trial(&self, setup: Setup) -> &Trialled<'a> {
        &self.trials[setup as usize]
    }

    /// Operations of that name in a trial; nothing if there were none.
    pub fn operations(&self, setup: Setup, operation: &str) -> Option<&'a OperationRow> {
        operations(self.trial(setup), operation)
    }

    /// Whatever a figure shows of each operation, beside what was published of it, with the supposed causes.
    pub fn judge(&self, found: &mut Findings, shown: impl Fn(&OperationRow) -> f64) {
        for (name, operation) in OPERATIONS {
            let ours = |setup| self.operations(setup, operation).map_or(NOTHING, &shown);
            let panel = format!("{name}, {}", self.size.name);
            for setup in JUDGED {
                found.published(&panel, setup.name(), ours(setup));
            }
            let mut suppose = |judged: Setup, cause, with: Setup| {
                let pair = (self.first + judged as usize, self.first + with as usize);
                found.supposed((&panel, judged.name()), cause, &[pair], ours(with));
            };
            suppose(Setup::Raw, SPREAD, Setup::Spread);
            if operation == "get" {
                suppose(Setup::Log, BETWEEN, Setup::OneByOne);
            }
        }
    }

    /// MiB/s of objects; no number if there was no time.
    pub fn rate(&self, row: &OperationRow) -> f64 {
        let mib = self.size.kib as f64 / 1024.0;
        row.count as f64 * mib / (row.span_ns as f64 / 1e9)
    }
}

/// Operations of that name; nothing if there were none.
pub fn operations<'a>(of: &Trialled<'a>, operation: &str) -> Option<&'a OperationRow> {
    of.outcome.operations.iter().find(|row| row.client == operation)
}
