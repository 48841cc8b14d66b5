//! The seam between the pool and the volume controller, in the engine: see `docs/decisions/030-pool-and-controllers.md`.

use std::path::Path;

use cygnus_layers::House;

/// The controller's folder.
const CONTROLLER: &str = "lsa";

/// What the rest of the engine may reach of it.
const INTERFACE: &[&str] =
    &["lsa/by_page.rs", "lsa/common.rs", "lsa/controller.rs", "lsa/pages.rs", "lsa/recount.rs", "lsa/rule.rs"];

/// What it may reach of the rest: the pool's counts, a page for a stripe, and what a volume is called.
const GROUND: &[&str] =
    &["atomic.rs", "planted.rs", "space/held.rs", "space/segments.rs", "volume_state.rs", "write/page.rs"];

/// Says which of these arrows between files cross the seam where there is no door.
fn trespasses<'a>(arrows: impl Iterator<Item = (&'a Path, &'a Path)>) -> Vec<String> {
    let is_within = |file: &Path| file.starts_with(CONTROLLER);
    let is_one_of = |list: &[&str], file: &Path| list.iter().any(|name| Path::new(name) == file);
    let is_wrong = |&(from, to): &(&Path, &Path)| match (is_within(from), is_within(to)) {
        (false, true) => !is_one_of(INTERFACE, to),
        (true, false) => !is_one_of(GROUND, to),
        (true, true) | (false, false) => false,
    };
    arrows.filter(is_wrong).map(|(from, to)| format!("{} names {}", from.display(), to.display())).collect()
}

#[test]
fn pool_and_controller_meet_at_the_interface_only() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("engine");
    let house = House::read(&engine);
    let is_there = |name: &&&str| house.files().iter().any(|file| file == Path::new(name));
    assert_eq!(INTERFACE.iter().chain(GROUND).filter(|name| !is_there(name)).collect::<Vec<_>>(), [&""; 0], "are gone");
    let wrong = trespasses(house.arrows());
    assert!(
        wrong.is_empty(),
        "the pool asks the controller, the controller counts with the pool:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_file_that_reaches_through_the_wall_is_refused() {
    let arrows = [
        ("clean/relocate.rs", "lsa/controller.rs"),
        ("clean/relocate.rs", "lsa/l2p.rs"),
        ("lsa/common.rs", "space/segments.rs"),
        ("lsa/common.rs", "reactor.rs"),
        ("lsa/controller.rs", "lsa/l2p.rs"),
    ];
    let wrong = trespasses(arrows.iter().map(|&(from, to)| (Path::new(from), Path::new(to))));
    assert_eq!(wrong, ["clean/relocate.rs names lsa/l2p.rs", "lsa/common.rs names reactor.rs"]);
}
