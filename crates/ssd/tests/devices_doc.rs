//! The calibration tables of `docs/devices.md` against the model.

use cygnus_ssd::Preset;

#[test]
fn the_tables_are_what_the_model_gives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/devices.md");
    let text = std::fs::read_to_string(path).unwrap();
    for preset in Preset::ALL {
        let name = preset.name();
        let table = preset.calibration_table().unwrap();
        let section = format!("<!-- table {name} -->\n{table}<!-- end -->");
        assert!(text.contains(&section), "docs/devices.md is out of date for {name}, which now gives\n{table}");
    }
}
