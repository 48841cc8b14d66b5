//! The rules of the house: arrows between crates point downwards, and files do not form large circles.

use std::collections::BTreeSet;
use std::path::Path;

use cygnus_layers::{House, dependencies};

/// The crates, lowest layer first. A crate may depend on those of lower layers only, so nothing below names what stands
/// above, and neighbours do not know each other: the engine knows no driver, a driver no array.
const LAYERS: &[&[&str]] = &[
    &["types", "nbd", "crashcheck", "layers"],
    &["control", "fabric", "format", "parity", "policy", "runtime", "ssd"],
    &["ssdlink", "volume", "zoned"],
    &["engine", "kv", "sim", "softssd", "target", "threads", "uring", "workload"],
    &["cygnus", "host", "inplace", "torture"],
    &["server"],
    &["lab"],
    &["bench"],
    &["cli"],
];

/// As many files may reach each other. Two or three that do are one idea in several files.
const LARGEST_CIRCLE: usize = 3;

fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is among the others")
}

#[test]
fn crates_depend_on_lower_layers_only() {
    let layer = |name: &str| {
        LAYERS
            .iter()
            .position(|layer| layer.contains(&name))
            .unwrap_or_else(|| panic!("{name} has no layer: give it one"))
    };
    for (name, named) in dependencies(crates(), "cygnus-") {
        let above: Vec<_> = named.iter().filter(|other| layer(other) >= layer(&name)).collect();
        assert!(above.is_empty(), "{name} names {above:?}, which are not below it");
    }
}

#[test]
fn files_form_no_large_circles() {
    for name in dependencies(crates(), "cygnus-").keys() {
        let house = House::read(&crates().join(name));
        let large: Vec<_> = house.circles().into_iter().filter(|circle| circle.len() > LARGEST_CIRCLE).collect();
        assert!(large.is_empty(), "{name}: more than {LARGEST_CIRCLE} files reach each other: {large:#?}");
    }
}

/// Whoever may speak of NBD: the codec itself aside, one file that translates, addresses, and clients.
const SPEAKS_NBD: &[&str] = &[
    "bench/src/raw.rs",
    "bench/src/servers.rs",
    "cli/src/args/bench.rs",
    "cli/src/demo/client.rs",
    "cli/src/demo/workload.rs",
    "cli/src/demo/workload/tests.rs",
    "target/src/listen.rs",
    "target/src/loadgen.rs",
    "target/src/loadgen/connection.rs",
    "target/src/loadgen/dial.rs",
    "target/src/loadgen/replies.rs",
    "target/src/nbd.rs",
];

#[test]
fn the_words_of_the_wire_stay_in_one_place() {
    let mut speak = BTreeSet::new();
    for name in dependencies(crates(), "cygnus-").keys().filter(|name| !["nbd", "layers"].contains(&name.as_str())) {
        let mut folders = vec![crates().join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a crate has sources") {
                let path = entry.expect("a folder can be read").path();
                if path.is_dir() {
                    folders.push(path);
                } else if std::fs::read_to_string(&path).is_ok_and(|text| text.contains("cygnus_nbd")) {
                    let path = path.strip_prefix(crates()).expect("it is below");
                    speak.insert(path.display().to_string());
                }
            }
        }
    }
    let allowed: BTreeSet<String> = SPEAKS_NBD.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(speak, allowed, "whoever else needs NBD's words asks target/src/nbd.rs");
}
