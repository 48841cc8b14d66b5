//! The video server of section 5.5: what is read and written there, on any array.
//!
//! It is Filebench's, as it is shipped (32 active files, 256 KiB at a time, each thread in one file over and over), with what section 5.5
//! changes: files of 10 MiB, one new one each second, none replaced.

use super::common::{disk, drives, mib_per_second, salsa_on_disk};
use crate::chart::Scheme;
use crate::experiment::{Scale, Trial, Trialled};
use crate::outcome::Sample;

/// Bytes of the paper's disk, and percent of it that the volume is: not more than an array offers of it by itself.
const DISK: f64 = 8e12;
const VOLUME: f64 = 70.0;
/// Files that are read, and who reads them.
const ACTIVE: u64 = 32;
const READERS: u64 = 48;
/// MiB of a file.
const FILE: u64 = 10;
/// Places over the volume at equal distances, between which files take turns: XFS puts directories into its allocation groups by turns, and a disk
/// of 8 TB has eight.
const PLACES: u64 = 8;
/// Seconds in which active files are written and the disk comes to rest.
pub const PREPARING: u64 = 60;
/// Seconds of the benchmark, and of each sample.
pub const SECONDS: u64 = 1200;
const SAMPLE: u64 = 5;
/// Nothing in it is drawn at random: all seeds give the same.
pub const SEEDS: u32 = 1;
/// What is read at a time in Filebench's script.
pub const READ: &str = "256KiB";
/// What it is where the supposed cause is tried: SALSA's page on such disks.
pub const SMALLER: &str = "64KiB";
/// That cause.
pub const SMALL_READS: &str = "Reads come to the disk as 64 KiB, not as the 256 KiB of Filebench's script: the paper does not say how large they are.";
/// How many times smaller than the paper's its drives are. On each medium there must be room for checkpoints of the map of both, which for a disk of full
/// size are 48 GB; a smaller one has the same seeks.
pub const DIVISOR: f64 = 8.0;
/// How many times smaller the flash drive is beside that; it holds the active files nearly two hundred times.
const FLASH: f64 = 2.0;

/// What whoever reads the results must know of the workload.
pub const NOTES: [&str; 3] = [
    "Neither Filebench nor XFS runs. The script that Filebench is shipped with has 32 active files, of which each of 48 threads reads one from start to end \
     and again, 256 KiB at a time; section 5.5 says what it changes, and nothing of these. The script's limit of 96 MB/s for all readers cannot have been there: \
     118.5 MiB/s were read.",
    "Files take turns among eight places, as directories do in XFS, which has eight allocation groups on 8 TB. A new file is written at once, 10 MiB in a \
     request, each second: writes are 10 MiB/s by construction and are not judged.",
    "Time and files are the paper's. The disk is 8 times smaller, and was never written before; its seeks are as long as on the real one. The flash drive is 16 times \
     smaller: it holds the active files nearly two hundred times. Nothing is drawn at random, so there is one seed.",
];

/// The benchmark on an array, with reads of this size.
pub fn scenario(scale: Scale, hardware: &str, volume: &str, read: &str) -> String {
    let size = (DISK / scale.divisor() * VOLUME / 100.0) as u64 >> 20;
    let place = |file: u64| file % PLACES * (size / PLACES) + file / PLACES * FILE;
    let prepare = (0..PLACES).map(|at| {
        let each = ACTIVE.div_ceil(PLACES) * FILE;
        job(&format!("prepare {at}"), place(at), &format!("block-size = \"1MiB\"\nbytes = \"{each}MiB\"\n"))
    });
    let readers = (0..READERS).map(|reader| {
        let rest = format!("read = 100\nblock-size = \"{read}\"\nsize = \"{FILE}MiB\"\nafter = \"{PREPARING}s\"\n");
        job(&format!("reader {reader}"), place(reader % ACTIVE), &rest)
    });
    let new_files = (0..PLACES).map(|at| {
        let rate = 1.0 / PLACES as f64;
        let rest = format!("block-size = \"{FILE}MiB\"\nrate = {{ iops = {rate} }}\nafter = \"{}s\"\n", PREPARING + at);
        job(&format!("new files {at}"), place(ACTIVE.next_multiple_of(PLACES) + at), &rest)
    });
    let jobs: String = prepare.chain(readers).chain(new_files).collect();
    format!(
        "name = \"video\"\n{hardware}[volume]\nsize = \"{size}MiB\"\n{volume}{jobs}[run]\nduration = \"{}s\"\nramp = \"{PREPARING}s\"\n\
         sample = \"{SAMPLE}s\"\n",
        PREPARING + SECONDS
    )
}

/// The benchmark on SALSA's hybrid controller: a flash drive, and the disk.
pub fn hybrid(scale: Scale, name: &str, read: &str) -> Trial {
    let disk = disk(scale).replacen("[devices]", "[disks]", 1);
    let array = salsa_on_disk() + "groups = 2\nmedia = [\"flash\", \"disk\"]\n";
    let hardware = drives(scale.smaller(FLASH)) + &disk + &array;
    Trial::new(name, Scheme::Serial, scenario(scale, &hardware, "hybrid = true\n", read))
}

/// A job that goes in order, from this place in MiB.
fn job(name: &str, place: u64, rest: &str) -> String {
    format!("[[workload.fio]]\nname = \"{name}\"\npattern = \"sequential\"\noffset = \"{place}MiB\"\n{rest}")
}

/// Samples of the benchmark.
pub fn benchmark<'a>(trialled: &Trialled<'a>) -> &'a [Sample] {
    let samples = &trialled.outcome.samples;
    // Each ends a little after its time.
    let begins = |sample: &Sample| sample.at_ns >= (PREPARING + SAMPLE) * 1_000_000_000;
    &samples[samples.iter().position(begins).unwrap_or(samples.len())..]
}

/// When a sample ends, in seconds of the benchmark.
pub fn at(sample: &Sample) -> f64 {
    sample.at_ns as f64 / 1e9 - PREPARING as f64
}

/// Bytes of a sample in MiB/s.
pub fn rate(bytes: u64, sample: &Sample) -> f64 {
    mib_per_second(bytes, sample.span_ns)
}
