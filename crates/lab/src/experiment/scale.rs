//! How much smaller than the paper's an experiment is.

use cygnus_ssd::{ModelConfig, Preset, SsdConfig};

/// Drives are this many times smaller than the paper's, and what takes time in proportion to their size is as much
/// shorter. What makes a drive fast or slow stays: rates and latencies compare with the paper's as they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

/// At which scales an experiment is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scales {
    /// The one that its figure is drawn at.
    pub first: Scale,
    /// The one at which everything that is judged must be so too.
    pub second: Option<Scale>,
}

impl From<Scale> for Scales {
    fn from(first: Scale) -> Self {
        Self { first, second: None }
    }
}

/// An experiment cannot be so many times smaller than the paper's, or larger.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a scale of {0}: from 1, the paper's size, to 4096 times smaller")]
pub struct WrongScale(pub f64);

/// Blocks of flash that a die should keep: with fewer, each is so large a part of the drive that collection cannot
/// work as it does in a large one.
const BLOCKS_PER_DIE: f64 = 150.0;

impl Scale {
    /// The paper's own size.
    pub const FULL: Scale = Scale(1.0);

    /// Factor by which everything is smaller, from 1 to 4096.
    ///
    /// # Errors
    /// When it is not.
    pub fn new(divisor: f64) -> Result<Self, WrongScale> {
        match (1.0..=4096.0).contains(&divisor) {
            true => Ok(Self(divisor)),
            false => Err(WrongScale(divisor)),
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
    /// time that goes into erasing stays, and so does the number of blocks among which collection chooses. Its write cache
    /// shrinks too ([`SsdConfig::cache_when_smaller`]).
    pub fn devices(self, preset: &str, blocks: f64, pages: u32) -> String {
        let mut smaller = 1;
        let helps = |smaller: u32| blocks * f64::from(smaller) / self.0 < BLOCKS_PER_DIE;
        while f64::from(smaller) * 2.0 <= self.0 && smaller * 2 <= pages / 8 && helps(smaller) {
            smaller *= 2;
        }
        let scale = self.0;
        let mut text = format!("[devices]\npreset = \"{preset}\"\nscale = {scale:?}\n");
        let drive = flash_drive(preset);
        let cache = drive.cache_when_smaller(scale);
        if cache < drive.cache.bytes {
            text += &format!("override.ssd.cache = {{ bytes = \"{}KiB\" }}\n", cache >> 10);
        }
        if smaller > 1 {
            let (pages, erase) = (pages / smaller, drive.flash.t_erase.0 / 1000 / u64::from(smaller));
            text += &format!("override.ssd.flash = {{ pages_per_block = {pages}, t_erase = \"{erase}us\" }}\n");
        }
        text
    }
}

/// The construction of a preset of flash.
fn flash_drive(preset: &str) -> SsdConfig {
    match Preset::by_name(preset).map(Preset::config) {
        Some(ModelConfig::Ssd(drive)) => drive,
        _ => panic!("{preset} is no preset of flash"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_shrink_with_their_drives_as_far_as_the_dies_allow() {
        let drive = flash_drive("850-pro");
        let cache = |divisor| drive.cache_when_smaller(divisor);
        assert_eq!((cache(1.0), cache(16.0)), (16 << 20, 1 << 20));
        // Twelve dies of 32 KiB, twice.
        assert_eq!((cache(32.0), cache(4096.0)), (768 << 10, 768 << 10));
        assert!(Scale(32.0).devices("850-pro", 1502.0, 256).contains("override.ssd.cache = { bytes = \"768KiB\" }"));
    }
}
