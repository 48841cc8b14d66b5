//! YCSB on RocksDB as it was recorded, played on the arrays of Figure 11.
//!
//! The recordings (`docs/recordings.md`) have the paper's sizes divided by 256, and so have the drives here, whatever the
//! scale that is asked for. First the array is aged; then come the requests of the load, in their order and as fast as
//! the array answers eight at once; then those of the workload likewise, which is what is measured.
//!
//! A closed loop, not the recorded times: YCSB's threads wait for their answers, so it is the array that says how fast
//! they go, and the recorded times are those of a volume over FUSE on two busy cores. What a closed loop keeps is which
//! requests there are, their order, how many stand beside one another, and that what follows a flush waits for it. What it
//! leaves out is the time that RocksDB itself took to think.

use super::common::UTILISATION;
use super::ycsb::each;
use crate::experiment::{Scale, Trial};

/// The recordings' own scale.
pub const DIVISOR: f64 = 256.0;

/// What all of its figures say.
pub const RECORDED: &str = "The requests are RocksDB's own: db_bench on ext4 on a volume of Cygnus, recorded once and \
    replayed in a closed loop of eight, as many as db_bench had threads. Records are drawn as in YCSB. All sizes are the \
    paper's by 256; RocksDB's caches likewise, and the page cache was passed by, of which the paper's machine had 64 GB. \
    Parity rotates over the drives of a group in both log schemes (as in RAID-5, not RAID-4): a parity drive of its own \
    makes no difference to full stripes.";

/// A recorded workload on every scheme, measured for `seconds` of the paper's seconds.
pub fn trials(workload: &str, seconds: f64) -> Vec<Trial> {
    let scale = Scale::new(DIVISOR).expect("it is in bounds");
    let scenario = |drives: &str, array: &str| {
        format!(
            "name = \"rocksdb-{workload}\"\n{drives}[[array]]\n{array}[volume]\nsize = \"{UTILISATION}% of data\"\n\
             [aging]\nfill = \"100%\"\noverwrite = 0.5\nrecording = \"rocksdb-load\"\n\
             [workload.replay]\nrecording = \"rocksdb-{workload}\"\nclosed-loop = true\ndepth = 8\nfit = \"refuse\"\n\
             [run]\nduration = \"{}\"\nsample = \"{}\"\n",
            scale.seconds(seconds),
            scale.seconds(5.0)
        )
    };
    each(scale, workload, scenario)
}
