//! What counts as reaching, on a small crate that has every kind.

use std::path::Path;

use cygnus_layers::House;

#[test]
fn every_way_of_reaching_is_seen() {
    let house = House::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture"));
    let arrows: Vec<String> = house.arrows().map(|(from, to)| format!("{} {}", from.display(), to.display())).collect();
    let mut arrows: Vec<&str> = arrows.iter().map(String::as_str).collect();
    arrows.sort_unstable();
    assert_eq!(
        arrows,
        [
            "attic.rs outpost.rs",
            "attic.rs rooms/room.rs",
            "outpost.rs rooms/room.rs",
            "outpost.rs stairs.rs",
            "rooms/room.rs cellar.rs",
            "stairs.rs attic.rs",
        ]
    );
    let circles: Vec<Vec<_>> = house.circles().into_iter().map(|circle| circle.into_iter().collect()).collect();
    assert_eq!(circles, [["attic.rs", "outpost.rs", "stairs.rs"].map(Path::new)]);
}
