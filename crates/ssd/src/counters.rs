//! What a drive counts, as SMART would show it.

/// Totals since the drive was built (or since [`crate::Device::reset_counters`]). Pages are of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages that the host asked for.
    pub host_reads: u64,
    /// Pages the host wrote.
    pub host_writes: u64,
    /// Of these, such as the host said will soon be invalid.
    pub transient_writes: u64,
    /// Pages the host trimmed.
    pub trims: u64,
    /// Flush commands that the host gave.
    pub flushes: u64,
    /// Read pages that were never written or still in the cache, and cost no flash time.
    pub reads_without_flash: u64,
    /// Written pages that replaced one waiting in the cache.
    pub merged_writes: u64,
    /// Pages programmed with data of the host.
    pub programmed_host: u64,
    /// Pages programmed by garbage collection, folding, merges and wear-levelling.
    pub programmed_gc: u64,
    /// Pages left empty in programs that could not wait for more data.
    pub padding: u64,
    /// Of all pages programmed, those in SLC mode.
    pub programmed_slc: u64,
    /// Pages read by garbage collection and merges.
    pub gc_reads: u64,
    /// Pages of the map fetched from flash.
    pub map_reads: u64,
    /// Pages of the map written to flash.
    pub map_writes: u64,
    /// Blocks (of all planes) erased.
    pub erases: u64,
    /// Victims taken only to even out wear.
    pub wear_moves: u64,
    /// Programs and erases suspended for a read.
    pub suspensions: u64,
    /// Zones that the host reset.
    pub zone_resets: u64,
    /// Parities computed inside the drive.
    pub conversions: u64,
    /// Pages of such parity.
    pub parity_writes: u64,
    /// Merges of a block-mapped drive that copied nothing.
    pub switch_merges: u64,
    /// Those that completed a log block.
    pub partial_merges: u64,
    /// Those that copied a logical block to another flash block, moves for the sake of wear included.
    pub full_merges: u64,
}

impl Counters {
    /// Pages programmed, padding and the map included.
    pub fn nand_writes(&self) -> u64 {
        self.programmed_host + self.programmed_gc + self.padding + self.map_writes
    }

    /// Of these, pages in normal cells, which hold all the bits that they can.
    pub fn normal_writes(&self) -> u64 {
        self.nand_writes() - self.programmed_slc
    }

    /// NAND writes per host write (0 before the first).
    pub fn write_amplification(&self) -> f64 {
        if self.host_writes == 0 { 0.0 } else { self.nand_writes() as f64 / self.host_writes as f64 }
    }

    /// What has been counted since `earlier` was taken.
    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            host_reads: self.host_reads - earlier.host_reads,
            host_writes: self.host_writes - earlier.host_writes,
            transient_writes: self.transient_writes - earlier.transient_writes,
            trims: self.trims - earlier.trims,
            flushes: self.flushes - earlier.flushes,
            reads_without_flash: self.reads_without_flash - earlier.reads_without_flash,
            merged_writes: self.merged_writes - earlier.merged_writes,
            programmed_host: self.programmed_host - earlier.programmed_host,
            programmed_gc: self.programmed_gc - earlier.programmed_gc,
            padding: self.padding - earlier.padding,
            programmed_slc: self.programmed_slc - earlier.programmed_slc,
            gc_reads: self.gc_reads - earlier.gc_reads,
            map_reads: self.map_reads - earlier.map_reads,
            map_writes: self.map_writes - earlier.map_writes,
            erases: self.erases - earlier.erases,
            wear_moves: self.wear_moves - earlier.wear_moves,
            suspensions: self.suspensions - earlier.suspensions,
            zone_resets: self.zone_resets - earlier.zone_resets,
            conversions: self.conversions - earlier.conversions,
            parity_writes: self.parity_writes - earlier.parity_writes,
            switch_merges: self.switch_merges - earlier.switch_merges,
            partial_merges: self.partial_merges - earlier.partial_merges,
            full_merges: self.full_merges - earlier.full_merges,
        }
    }
}
