//! What a drive's construction alone says of its speed: the sums that its measured figures should come near to.

use cygnus_types::Nanos;

use crate::config::{ConfigError, Mapping, SsdConfig};
use crate::precondition::greedy_write_amplification;
use crate::rate::time_of;

/// Upper bounds by arithmetic. Rates in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arithmetic {
    /// Dies that work side by side.
    pub dies: u32,
    /// Bytes of one program operation.
    pub unit: u64,
    /// What all dies program together: `dies x unit / (tPROG + unit / channel rate)`, or what the channels carry.
    pub program_rate: u64,
    /// The same in the SLC buffer.
    pub slc_rate: Option<u64>,
    /// What the host sees of it on a new drive: no more than its link carries.
    pub sequential_write: u64,
    /// Sequential reads: the least of what the dies sense, the channels carry and the link carries.
    pub sequential_read: u64,
    /// Random 4 KiB reads per second: `dies / tR`, or what the firmware or the channels can do.
    pub random_reads: u64,
    /// NAND writes per host write of random writes for ever, for page mapping with greedy collection.
    pub amplification: Option<f64>,
}

impl SsdConfig {
    /// What follows from the construction.
    ///
    /// # Errors
    /// The drive cannot be built.
    pub fn arithmetic(&self) -> Result<Arithmetic, ConfigError> {
        let shape = self.shape()?;
        let (flash, host) = (&self.flash, &self.host);
        let channels = u64::from(flash.channels) * flash.channel_rate;
        let per_second = |takes: Nanos| u64::from(shape.dies) * 1_000_000_000 / takes.0;
        let rate =
            |unit: u64, t_program| (per_second(t_program + time_of(unit, flash.channel_rate)) * unit).min(channels);
        let unit = self.unit_bytes();
        let row = u64::from(flash.planes) * u64::from(flash.page);
        let program_rate = rate(unit, flash.t_program);
        let slc_rate = self.slc.as_ref().map(|slc| rate(row, slc.t_program));
        let firmware = 1_000_000_000_u64.checked_div(self.controller.0).unwrap_or(u64::MAX);
        let lasting = shape.blocks_per_die.saturating_sub(shape.slc_reserved + self.gc.low + 1);
        let pages = f64::from(lasting) * f64::from(shape.dies) * f64::from(shape.pages_per_block);
        let utilisation = f64::from(shape.logical) / pages;
        let is_usual = self.mapping == Mapping::Page && utilisation < 1.0;
        Ok(Arithmetic {
            dies: shape.dies,
            unit,
            program_rate,
            slc_rate,
            sequential_write: slc_rate.unwrap_or(program_rate).min(host.write_rate),
            sequential_read: (per_second(flash.t_read) * row).min(channels).min(host.read_rate),
            random_reads: per_second(flash.t_read).min(firmware).min(channels / 4096).min(host.read_rate / 4096),
            amplification: is_usual.then(|| greedy_write_amplification(utilisation)),
        })
    }
}
