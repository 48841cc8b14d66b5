//! The calibration tables of `docs/devices.md` against the model, and the model against what was published.

use cygnus_ssd::{Calibration, Preset};

#[test]
fn the_tables_are_what_the_model_gives_and_that_is_near_enough() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/devices.md");
    let text = &std::fs::read_to_string(path).unwrap();
    // Side by side, since the whole takes a minute.
    std::thread::scope(|scope| {
        for preset in Preset::ALL {
            scope.spawn(move || check(preset, text));
        }
    });
}

fn check(preset: Preset, text: &str) {
    let name = preset.name();
    let rows = preset.calibrate().unwrap();
    let table = Calibration::table(&rows);
    let section = format!("<!-- table {name} -->\n{table}<!-- end -->");
    assert!(text.contains(&section), "docs/devices.md is out of date for {name}, which now gives\n{table}");
    for row in rows {
        let (label, Some(residual)) = (row.figure.label(), row.residual()) else { continue };
        assert!(residual.abs() <= row.figure.tolerance(), "{name} misses {label} by {residual:.1} %");
    }
}
