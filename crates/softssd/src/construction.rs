//! The modelled drive that goes along with a software SSD: a preset made as large as the file, with the engine and the room
//! beside blocks that the software SSD has.

use cygnus_ssd::{ModelConfig, Preset, SsdConfig, XorEngine};
use cygnus_types::{BLOCK, Nanos};

use crate::error::DriveError;
use crate::layout::OOB_BYTES;

/// Fewest pages of a flash block: below that the model says little of collection.
const FEWEST_PAGES: u32 = 16;

/// The drive of a preset's make with this capacity. A small drive has fewer dies, and smaller flash blocks if it must.
///
/// # Errors
/// If there is no such preset, it is no SSD, or no drive of it can be so small or large.
pub fn construction(preset: &str, bytes: u64) -> Result<SsdConfig, DriveError> {
    let refused = |why: String| DriveError::Model { model: preset.to_owned(), bytes, why };
    let is_flash = |preset: &Preset| matches!(preset.config(), ModelConfig::Ssd(_));
    let known = || {
        let names: Vec<_> = Preset::ALL.into_iter().filter(is_flash).map(Preset::name).collect();
        refused(format!("there is no such make of SSD; there are {}", names.join(", ")))
    };
    let full = Preset::by_name(preset).and_then(|preset| preset.config().ssd()).ok_or_else(known)?;
    let mut config = SsdConfig { capacity: bytes, ..full.scaled_down(full.capacity as f64 / bytes as f64) };
    config.oob = OOB_BYTES;
    // ScalaAFA, section 6.1: 64 KiB of parity from 6 chunks in 20 us.
    let engine = XorEngine { rate: 6 * 65_536 * 50_000, latency: Nanos::ZERO, buffer: 16 << 20 };
    config.xor = Some(config.xor.map_or(engine.clone(), |own| XorEngine { buffer: engine.buffer, ..own }));
    loop {
        let error = match config.validate() {
            Ok(()) => return Ok(config),
            Err(error) => error,
        };
        let flash = &mut config.flash;
        if flash.dies_per_channel > 1 {
            flash.dies_per_channel /= 2;
        } else if flash.channels > 1 {
            flash.channels /= 2;
        } else if flash.pages_per_block / 2 >= FEWEST_PAGES * flash.pages_per_program {
            // Whole program operations.
            flash.pages_per_block = flash.pages_per_block / 2 / flash.pages_per_program * flash.pages_per_program;
        } else if flash.planes > 1 {
            flash.planes /= 2;
        } else if flash.page > BLOCK as u32 {
            flash.page /= 2;
        } else if config.slc.take().is_none() {
            return Err(refused(error.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_ssd::Model;

    #[test]
    fn drives_of_any_size_can_be_modelled() {
        for bytes in [32 << 20, 200 << 20, (1 << 30) + 4096, 100 << 30] {
            for preset in ["scalaafa-femu", "980-pro", "sata", "qlc"] {
                let config = construction(preset, bytes).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!((config.capacity, config.oob), (bytes, OOB_BYTES));
                Model::new(config.into()).unwrap_or_else(|error| panic!("{error}"));
            }
        }
        assert!(construction("hdd", 1 << 30).unwrap_err().to_string().contains("there are 850-pro"));
        assert!(construction("sata", 4096).is_err());
    }
}
