//! The same scenario and seed give the same bytes: twice here, and as they were when the snapshot was taken, wherever
//! that was. A change of the engine, of a model or of a device preset may well change them; what may not is the machine.

use std::fs;
use std::path::{Path, PathBuf};

use cygnus_lab::{EXAMPLES, Scenario, result_files, run};

const SEED: u64 = 7;

fn scenario() -> Scenario {
    let tiny = EXAMPLES.iter().find(|example| example.name == "tiny").expect("it comes with the lab");
    Scenario::parse("tiny.toml", tiny.text).expect("it is a scenario")
}

/// Runs all arrays of the scenario into a directory of its own.
fn run_into(name: &str, seed: u64) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let scenario = scenario();
    for which in 0..scenario.arrays().len() {
        let outcome = run(&scenario, which, seed, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        let dir = dir.join(&outcome.array);
        fs::create_dir_all(&dir).expect("the target directory can be written");
        for (name, text) in result_files(&scenario, &outcome) {
            fs::write(dir.join(name), text).expect("the target directory can be written");
        }
    }
    dir
}

/// Every file below a directory, by its name within it.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for array in fs::read_dir(dir).expect("it was just written") {
        for file in fs::read_dir(array.expect("it is listed").path()).expect("each array has a directory") {
            let path = file.expect("it is listed").path();
            let name = path.strip_prefix(dir).expect("it is below").display().to_string();
            found.push((name, fs::read(&path).expect("it was just written")));
        }
    }
    found.sort();
    found
}

/// FNV-1a, of 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn equal_runs_give_equal_files_here_and_elsewhere() {
    let (one, again) = (files(&run_into("one", SEED)), files(&run_into("again", SEED)));
    assert_eq!(one.len(), 12, "six files for each of two arrays");
    for (one, again) in one.iter().zip(&again) {
        assert!(one == again, "{} and {} differ", one.0, again.0);
    }
    let hashes: String = one.iter().map(|(name, bytes)| format!("{:016x}  {name}\n", hash(bytes))).collect();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/same_bytes.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&kept, &hashes).expect("the source can be written");
    }
    assert_eq!(
        fs::read_to_string(&kept).expect("it is part of the source"),
        hashes,
        "results are not as they were. If engine, models or presets changed what happens, that is right: run this test \
         with UPDATE_SNAPSHOTS=1. If only the machine changed, something depends on it."
    );
}

#[test]
fn another_seed_gives_another_run() {
    let (one, other) = (files(&run_into("seed", SEED)), files(&run_into("other", SEED + 1)));
    let differ = |name: &str| one.iter().zip(&other).any(|(one, other)| one.0.ends_with(name) && one.1 != other.1);
    assert!(differ("latency.csv") && differ("timeseries.csv") && differ("devices.csv"));
}
