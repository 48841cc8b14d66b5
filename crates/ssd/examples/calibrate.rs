//! Prints the calibration tables of the presets; with the path of `docs/devices.md`, writes them into it.
//!
//! ```text
//! cargo run --release -p cygnus-ssd --example calibrate [docs/devices.md]
//! ```

use std::error::Error;

use cygnus_ssd::{Calibration, Preset};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1);
    let mut text = path.as_ref().map(std::fs::read_to_string).transpose()?.unwrap_or_default();
    for preset in Preset::ALL {
        let table = Calibration::table(&preset.calibrate()?);
        println!("{}\n\n{table}", preset.name());
        let (begin, end) = (format!("<!-- table {} -->\n", preset.name()), "<!-- end -->");
        if path.is_some() {
            let from = text.find(&begin).ok_or_else(|| format!("no marker {begin:?}"))? + begin.len();
            let to = from + text[from..].find(end).ok_or_else(|| format!("no {end:?} after {begin:?}"))?;
            text.replace_range(from..to, &table);
        }
    }
    if let Some(path) = path {
        std::fs::write(path, text)?;
    }
    Ok(())
}
