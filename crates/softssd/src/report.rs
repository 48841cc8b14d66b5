//! How a drive has fared, for `cygnus ssd status`: what hosts asked, and what flash would have gone through for it.

use serde::{Deserialize, Serialize};

use crate::clock::{Clock, Counted};
use crate::store::Store;

/// All of it since the server was started. Pages and blocks are of 4 KiB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// UUID of the drive, as its file's header has it.
    pub drive: String,
    /// Capacity of the drive in bytes.
    pub size_bytes: u64,
    /// Make of the modelled drive.
    pub model: String,
    /// Whether answers wait for the modelled drive.
    pub timed: bool,
    /// Connections that are open now, the one that asks included.
    pub connections: usize,
    /// Whether a host has claimed the drive.
    pub claimed: bool,
    /// Seconds of the modelled drive's time. Where it cannot keep up, they are more than have passed.
    pub modelled_seconds: f64,
    /// Pages that hosts read.
    pub host_reads: u64,
    /// Pages that hosts wrote.
    pub host_writes: u64,
    /// Of `host_writes`, pages of which hosts said that they will soon be invalid.
    pub transient_writes: u64,
    /// Pages that hosts trimmed.
    pub trims: u64,
    /// Flush commands that hosts gave.
    pub flushes: u64,
    /// Parities computed inside the drive.
    pub conversions: u64,
    /// Pages of such parity.
    pub parity_writes: u64,
    /// Written pages that replaced one in the write cache.
    pub merged_writes: u64,
    /// Pages programmed in SLC mode.
    pub slc_programs: u64,
    /// Pages programmed with all the bits of a cell: MLC, TLC or QLC.
    pub dense_programs: u64,
    /// Of all pages programmed, those that collection moved.
    pub collected: u64,
    /// Flash blocks erased.
    pub erases: u64,
    /// Pages programmed for each page that hosts wrote; 0 before the first.
    pub write_amplification: f64,
    /// Erases of the flash block with the fewest.
    pub least_erases: u32,
    /// Erases of the flash block with the most.
    pub most_erases: u32,
}

impl Report {
    pub(crate) fn of(store: &Store, clock: &Clock, connections: usize, claimed: bool) -> Self {
        let Counted { counters, wear: (least_erases, most_erases), now } = clock.counted();
        Self {
            drive: store.drive().to_string(),
            size_bytes: store.size(),
            model: store.model().to_owned(),
            timed: clock.is_timed(),
            connections,
            claimed,
            modelled_seconds: now.as_secs_f64(),
            host_reads: counters.host_reads,
            host_writes: counters.host_writes,
            transient_writes: counters.transient_writes,
            trims: counters.trims,
            flushes: counters.flushes,
            conversions: counters.conversions,
            parity_writes: counters.parity_writes,
            merged_writes: counters.merged_writes,
            slc_programs: counters.programmed_slc,
            dense_programs: counters.normal_writes(),
            collected: counters.programmed_gc,
            erases: counters.erases,
            write_amplification: counters.write_amplification(),
            least_erases,
            most_erases,
        }
    }
}
