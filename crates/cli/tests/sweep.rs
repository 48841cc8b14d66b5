//! `cygnus lab sweep`: the same bytes whatever the number of jobs and however often it was killed, and what may go wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"name = "small"
[devices]
preset = "null"
capacity = "256MiB"
[[array]]
preset = "raid0"
drives = 2
[[array]]
preset = "log-raid"
raid = "2+1"
segment = "1MiB"
[volume]
size = "10% of data"
[[workload.fio]]
depth = 4
read = 50
[run]
duration = "20ms"
sample = "5ms"
"#;
const SWEEP: &str = "scenario = \"small.toml\"\nseeds = 3\n[grid]\nworkload.fio.0.depth = [1, 2, 4]\nvolume.size = [\"10% of data\", \"20% of data\"]\n";
const RUNS: usize = 36;

fn directory(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("small.toml"), SCENARIO).unwrap();
    fs::write(dir.join("sweep.toml"), SWEEP).unwrap();
    dir
}

fn sweep(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cygnus"));
    command.current_dir(dir).args(["lab", "sweep", "sweep.toml"]).args(arguments);
    command
}

fn ran(dir: &Path, arguments: &[&str]) -> Output {
    let output = sweep(dir, arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn refused(dir: &Path, arguments: &[&str], words: &str) {
    let output = sweep(dir, arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains(words), "{error}");
}

fn bytes(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_bytes_do_not_depend_on_jobs_or_on_kills() {
    let dir = directory("sweep-bytes");
    ran(&dir, &["--jobs", "1", "--out", "one.csv"]);
    ran(&dir, &["--jobs", "3", "--out", "three.csv"]);
    let whole = bytes(dir.join("one.csv"));
    assert_eq!(whole.lines().count(), 1 + RUNS);
    assert_eq!(whole, bytes(dir.join("three.csv")));
    // Killed as soon as some rows are there, again and again, and every time a row is cut short.
    let (killed, mut kills) = (dir.join("killed.csv"), 0);
    loop {
        let rows = || fs::read_to_string(&killed).map_or(0, |text| text.lines().count());
        let before = rows();
        let mut child = sweep(&dir, &["--jobs", "2", "--out", "killed.csv"]).stdout(Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && rows() < before + 5 {
            std::thread::yield_now();
        }
        let _ = child.kill();
        if child.wait().unwrap().success() {
            break;
        }
        kills += 1;
        let text = bytes(killed.clone());
        fs::write(&killed, &text[..text.len().saturating_sub(20)]).unwrap();
    }
    assert!(kills >= 2, "it was never killed before its end");
    assert_eq!(whole, bytes(killed));
}

#[test]
fn rows_that_are_done_are_not_run_again() {
    let dir = directory("sweep-again");
    ran(&dir, &["--seeds", "1"]);
    let answer = String::from_utf8(ran(&dir, &["--json"]).stdout).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["runs"], &answer["run_now"]), (&RUNS.into(), &(RUNS * 2 / 3).into()));
    assert_eq!(answer["rows"].as_array().unwrap().len(), RUNS);
    assert_eq!(answer["rows"][0]["array"], "raid0");
    let text = String::from_utf8(ran(&dir, &[]).stdout).unwrap();
    assert_eq!(text, format!("sweep.csv: {RUNS} runs, {RUNS} of them before\n"));
}

#[test]
fn a_run_may_be_asked_for_by_itself_and_leaves_its_files() {
    let dir = directory("sweep-only");
    let plan = String::from_utf8(ran(&dir, &["--dry-run", "--json"]).stdout).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    assert!(!dir.join("sweep.csv").exists(), "a dry run writes nothing");
    assert_eq!(plan["files"], serde_json::json!(["sweep.toml", "small.toml"]));
    let id = plan["runs"][7]["id"].as_str().unwrap();
    ran(&dir, &["--only", id, "--files", "runs"]);
    let left = bytes(dir.join("sweep.csv"));
    assert!(left.lines().count() == 2 && left.lines().nth(1).unwrap().starts_with(id));
    for file in ["summary.json", "percentiles.csv", "latency.csv", "timeseries.csv", "devices.csv", "scenario.toml"] {
        assert!(dir.join("runs").join(id).join(file).exists(), "{file}");
    }
    refused(&dir, &["--only", "0123"], "the sweep has no run 0123");
}

#[test]
fn outputs_of_others_are_left_as_they_are() {
    let dir = directory("sweep-others");
    for (text, words) in [
        ("a,b\n1,2\n", "other.csv: line 1: the columns are not those of this sweep: name another output"),
        ("something else altogether\n", "other.csv: line 1"),
    ] {
        fs::write(dir.join("other.csv"), text).unwrap();
        refused(&dir, &["--out", "other.csv"], words);
        assert_eq!(bytes(dir.join("other.csv")), text);
    }
    ran(&dir, &["--out", "mine.csv"]);
    let mine = bytes(dir.join("mine.csv"));
    refused(&dir, &["--out", "mine.csv", "--seeds", "2"], "not a row of this sweep");
    assert_eq!(bytes(dir.join("mine.csv")), mine);
    refused(&dir, &["--out", "nowhere/out.csv"], "nowhere/out.csv: No such file");
    refused(&dir, &["--out", "/dev/full"], "no regular file");
}

#[test]
fn runs_that_fail_are_told_and_tried_again() {
    let dir = directory("sweep-failed");
    let good = bytes(dir.join("small.toml"));
    fs::write(
        dir.join("small.toml"),
        good.replace("[[workload.fio]]\ndepth = 4\nread = 50", "[workload.replay]\nfile = \"t.csv\""),
    )
    .unwrap();
    fs::write(dir.join("sweep.toml"), "scenario = \"small.toml\"\n[grid]\nvolume.size = [\"10% of data\"]\n").unwrap();
    refused(&dir, &[], "2 runs failed; their rows say why");
    assert!(bytes(dir.join("sweep.csv")).lines().skip(1).all(|row| row.contains("t.csv: No such file")));
    fs::write(dir.join("t.csv"), "1,h,0,Write,0,4096,1\n2,h,0,Write,4096,4096,1\n").unwrap();
    ran(&dir, &[]);
    let rows = bytes(dir.join("sweep.csv"));
    assert!(rows.lines().count() == 3 && !rows.contains("No such file"));
}

/// A file may not grow beyond 8 KiB: as on a disk that is full, but for the signal, which is ignored.
#[test]
fn a_full_disk_loses_nothing() {
    let dir = directory("sweep-full");
    ran(&dir, &["--out", "whole.csv"]);
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" lab sweep sweep.toml --out out.csv";
    let output =
        Command::new("bash").current_dir(&dir).args(["-c", limited, env!("CARGO_BIN_EXE_cygnus")]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("out.csv: File too large"), "{error}");
    assert!(error.contains(&format!("of {RUNS} runs: make room and give the same command again")), "{error}");
    let part = bytes(dir.join("out.csv"));
    assert!(part.ends_with('\n') && (3..RUNS).contains(&part.lines().count()), "whole rows only");
    ran(&dir, &["--out", "out.csv"]);
    assert_eq!(bytes(dir.join("out.csv")), bytes(dir.join("whole.csv")));
}
