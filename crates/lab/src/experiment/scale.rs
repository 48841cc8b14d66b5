//! How much smaller than the paper's an experiment is.

use cygnus_ssd::{ModelConfig, Preset};

/// Drives are this many times smaller than the paper's, and what takes time in proportion to their size is as much
/// shorter. What makes a drive fast or slow stays: rates and latencies compare with the paper's as they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

/// Blocks of flash that a die should keep: with fewer, each is so large a part of the drive that collection cannot
/// work as it does in a large one.
const BLOCKS_PER_DIE: f64 = 150.0;

impl Scale {
    /// The paper's own size.
    pub const FULL: Scale = Scale(1.0);

    /// Factor by which everything is smaller, from 1 to 4096.
    ///
    /// # Errors
    /// In words, when it is not.
    pub fn new(divisor: f64) -> Result<Self, String> {
        match (1.0..=4096.0).contains(&divisor) {
            true => Ok(Self(divisor)),
            false => Err(format!("a scale of {divisor}: from 1, the paper's size, to 4096 times smaller")),
        }
    }

    /// How many times smaller.
    pub fn divisor(self) -> f64 {
        self.0
    }

    /// Smaller again by the factor `times`: for trials of more drives, or of more requests, than the rest.
    pub fn smaller(self, times: f64) -> Scale {
        Self(self.0 * times)
    }

    /// A span of the paper in seconds, as a scenario writes it.
    pub fn seconds(self, papers: f64) -> String {
        format!("{:.3}s", papers / self.0)
    }

    /// A span here, in seconds, in the paper's seconds.
    pub fn papers_seconds(self, ns: u64) -> f64 {
        ns as f64 / 1e9 * self.0
    }

    /// The `[devices]` section of a drive preset whose dies have `blocks` blocks of `pages` pages each.
    ///
    /// A small drive gets small blocks before it gets few, and each of them is erased in proportion: so the share of
    /// time that goes into erasing stays, and so does the number of blocks among which collection chooses.
    pub fn devices(self, preset: &str, blocks: f64, pages: u32) -> String {
        let mut smaller = 1;
        let helps = |smaller: u32| blocks * f64::from(smaller) / self.0 < BLOCKS_PER_DIE;
        while f64::from(smaller) * 2.0 <= self.0 && smaller * 2 <= pages / 8 && helps(smaller) {
            smaller *= 2;
        }
        let scale = self.0;
        let mut text = format!("[devices]\npreset = \"{preset}\"\nscale = {scale:?}\n");
        if smaller > 1 {
            let (pages, erase) = (pages / smaller, erase_micros(preset) / u64::from(smaller));
            text += &format!("override.ssd.flash = {{ pages_per_block = {pages}, t_erase = \"{erase}us\" }}\n");
        }
        text
    }
}

/// Time to erase a block of a drive preset, in microseconds.
fn erase_micros(preset: &str) -> u64 {
    let config = Preset::by_name(preset).map(Preset::config);
    let Some(ModelConfig::Ssd(drive)) = config else { panic!("{preset} is no preset of flash") };
    drive.flash.t_erase.0 / 1000
}
