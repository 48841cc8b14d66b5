//! The checker against servers with a fault planted: each must be caught, and the honest one must not.

use cygnus_crashcheck::rounds::{self, Ack, Geometry, Plan, RunError};
use cygnus_crashcheck::server::Site;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Runs rounds against `flawed-nbd` with `fault`.
fn run(fault: &str, seed: u64, rounds: u64) -> Result<(), RunError> {
    let dir = std::env::temp_dir().join(format!("crashcheck-{fault}-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("temporary directory");
    let result = rounds::run(&site(&dir, fault), &plan(seed, rounds), |_| {});
    fs::remove_dir_all(&dir).expect("temporary directory goes");
    result.map(|_| ())
}

fn plan(seed: u64, rounds: u64) -> Plan {
    Plan {
        rounds,
        seed,
        rounds_per_array: 5,
        lose: 0,
        geometry: Geometry { groups: 1, width: 1, parity: 0 },
        load_ms: (50, 200),
        keeps: false,
        ack: Ack::Memory,
        trims: true,
        stop_percent: 0,
        interrupt_percent: 20,
    }
}

fn site(dir: &std::path::Path, fault: &str) -> Site {
    let script = dir.join("server");
    let server = env!("CARGO_BIN_EXE_flawed-nbd");
    let text = format!(
        "#!/bin/sh\ncase $1 in\nfresh) rm -f \"$CRASH_DIR\"/disk.*;;\n\
         serve) exec {server} \"$CRASH_SOCKET\" \"$CRASH_DIR/disk.img\" 16777216 {fault};;\nesac\n"
    );
    // By another process: a child that another test starts meanwhile would have the open file too, and Linux executes no
    // file that somebody may write to.
    let mut writer = Command::new("install")
        .args(["-m", "755", "/dev/stdin"])
        .arg(&script)
        .stdin(Stdio::piped())
        .spawn()
        .expect("install starts");
    writer.stdin.take().expect("it is a pipe").write_all(text.as_bytes()).expect("script is written");
    assert!(writer.wait().expect("install ends").success());
    Site { script, dir: dir.to_owned(), socket: socket(dir), export: "vol0".to_owned() }
}

fn socket(dir: &std::path::Path) -> PathBuf {
    dir.join("nbd.sock")
}

/// Styles differ from round to round, and not each can show each fault: some rounds are allowed.
fn must_be_caught(fault: &str) {
    match run(fault, 7, 40) {
        Err(RunError::Wrong { violations, .. }) => assert!(!violations.is_empty()),
        other => panic!("the planted fault {fault} was not caught: {other:?}"),
    }
}

#[test]
fn an_honest_server_passes() {
    run("none", 7, 12).expect("nothing is wrong with the honest server");
}

#[test]
fn a_dropped_flush_is_caught() {
    must_be_caught("drop-flush");
}

#[test]
fn a_flush_that_carries_too_little_is_caught() {
    must_be_caught("late-flush");
}

#[test]
fn an_ignored_fua_is_caught() {
    must_be_caught("ignore-fua");
}

#[test]
fn a_flush_of_one_connection_only_is_caught() {
    must_be_caught("flush-own");
}

#[test]
fn a_misplaced_write_is_caught() {
    must_be_caught("misplace");
}

#[test]
fn a_torn_sector_is_caught() {
    must_be_caught("tear");
}

#[test]
fn a_trim_not_done_is_caught() {
    must_be_caught("trim-nothing");
}

#[test]
fn a_stale_read_is_caught() {
    must_be_caught("stale-read");
}

#[test]
fn a_write_lost_and_found_later_is_caught() {
    must_be_caught("resurrect");
}
