//! What is kept of a run is enough to run it again.

use cygnus_host::scratch::Scratch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn cygnus(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cygnus")).current_dir(dir).args(args).output().unwrap()
}

fn ran(dir: &Path, args: &[&str]) {
    let output = cygnus(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Names and bytes of what lies in a directory.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut files: Vec<_> = paths.map(|path| (name(&path), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

/// The directories of all runs below `out`.
fn runs(out: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(out.join("runs")).unwrap().map(|run| run.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const KEPT: [&str; 7] =
    ["devices.csv", "latency.csv", "percentiles.csv", "run.json", "scenario.toml", "summary.json", "timeseries.csv"];

/// Runs what was kept of a run again; the directory it is then kept in has the same bytes.
fn same_again(dir: &Path, out: &str, run: &str) {
    let again = format!("again-{run}");
    ran(dir, &["sim", "run", &format!("{out}/runs/{run}/scenario.toml"), "--out", &again]);
    let replayed = runs(&dir.join(&again));
    assert_eq!(replayed.len(), 1, "{replayed:?}");
    let (was, is) =
        (files(&dir.join(out).join("runs").join(run)), files(&dir.join(&again).join("runs").join(&replayed[0])));
    for (was, is) in was.iter().zip(&is) {
        assert!(was == is, "{run}: {} and {} differ", was.0, is.0);
    }
    assert_eq!(was.len(), is.len());
}

#[test]
fn a_simulated_run_can_be_run_again() {
    let scratch = Scratch::new("runs-sim");
    let dir = scratch.path();
    ran(dir, &["sim", "run", "tiny", "--seed", "7", "--out", "first"]);
    assert_eq!(runs(&dir.join("first")), ["tiny-log-raid-seed7", "tiny-swan-seed7"]);
    for run in runs(&dir.join("first")) {
        let names: Vec<String> = files(&dir.join("first/runs").join(&run)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, KEPT);
        same_again(dir, "first", &run);
    }
    let about = fs::read_to_string(dir.join("first/runs/tiny-swan-seed7/run.json")).unwrap();
    let about: serde_json::Value = serde_json::from_str(&about).unwrap();
    assert_eq!((&about["seed"], &about["version"]), (&7.into(), &env!("CARGO_PKG_VERSION").into()));
    let percentiles = fs::read_to_string(dir.join("first/runs/tiny-swan-seed7/percentiles.csv")).unwrap();
    assert!(percentiles.lines().count() > 2 && percentiles.contains("p99.999_us"), "{percentiles}");
}

#[test]
fn a_run_that_ends_within_its_ramp_shows_no_rates() {
    let scratch = Scratch::new("runs-ramp");
    let dir = scratch.path();
    let text = "name = \"short\"\n[devices]\npreset = \"null\"\ncapacity = \"512MiB\"\n[[array]]\npreset = \"raid0\"\ndrives = 1\n\
                [volume]\nsize = \"64MiB\"\n[[workload.fio]]\nrequests = 1\n[run]\nduration = \"20ms\"\nramp = \"10ms\"\n";
    fs::write(dir.join("short.toml"), text).unwrap();
    let output = cygnus(dir, &["sim", "run", "short.toml"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    let row: Vec<&str> = shown.lines().find(|line| line.starts_with("raid0")).unwrap().split_whitespace().collect();
    assert_eq!(row[..6], ["raid0", "1", "null", "-", "-", "-"], "{shown}");
    assert!(shown.contains("no client was active after the ramp of 10.0 ms: nothing was measured"), "{shown}");
}

#[test]
fn a_run_of_a_figure_can_be_run_again() {
    let scratch = Scratch::new("runs-lab");
    let dir = scratch.path();
    // Whatever the verdict is at this scale.
    cygnus(dir, &["lab", "run", "serial/fig7", "--scale", "96", "--seeds", "1", "--seed", "3", "--out", "figures"]);
    let all = runs(&dir.join("figures"));
    assert!(
        !all.is_empty() && all.iter().all(|run| run.starts_with("serial-fig7-") && run.ends_with("-seed3")),
        "{all:?}"
    );
    same_again(dir, "figures", &all[0]);
}

#[test]
fn a_figure_with_a_mechanism_lies_beside_the_one_without() {
    let scratch = Scratch::new("runs-mechanism");
    let dir = scratch.path();
    let command = ["lab", "run", "serial/fig7", "--scale", "96", "--seeds", "1", "--mechanism", "spare-7.4", "--json"];
    let output = cygnus(dir, &[command.as_slice(), &["--out", "figures"]].concat());
    assert!(output.status.success(), "whatever the verdict is: {}", String::from_utf8_lossy(&output.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["mechanism"], &answer["verdicts"][0]["mechanism"]), (&"spare-7.4".into(), &"spare-7.4".into()));
    let below = dir.join("figures/with-spare-7.4");
    assert!(below.join("serial/fig7/verdict.json").exists() && !dir.join("figures/serial").exists());
    assert!(fs::read_to_string(below.join("verdicts.txt")).unwrap().starts_with("serial/fig7 with spare-7.4: "));
    let again = runs(&below);
    assert!(!again.is_empty() && again.iter().all(|run| run.ends_with("-spare-7.4-seed1")), "{again:?}");
    same_again(dir, "figures/with-spare-7.4", &again[0]);
    ran(dir, &["lab", "report", "--out", "figures/with-spare-7.4"]);
    let page = fs::read_to_string(below.join("report.html")).unwrap();
    assert!(page.contains("(mechanism: spare 7.4 %)"), "{page}");
}

#[test]
fn a_run_with_a_trace_can_be_run_again_from_elsewhere() {
    let scratch = Scratch::new("runs-trace");
    let dir = scratch.path();
    fs::create_dir(dir.join("traces")).unwrap();
    fs::write(dir.join("traces/t.csv"), "1,h,0,Write,0,4096,1\n2,h,0,Write,4096,4096,1\n").unwrap();
    let scenario = "name = \"traced\"\n[devices]\npreset = \"850-pro\"\nscale = 32\n[[array]]\npreset = \"raid0\"\n\
                    drives = 2\n[volume]\nsize = \"64MiB\"\n[workload.replay]\nfile = \"traces/t.csv\"\n\
                    [run]\nduration = \"10ms\"\nsample = \"1ms\"\n";
    fs::write(dir.join("traced.toml"), scenario).unwrap();
    ran(dir, &["sim", "run", "traced.toml", "--out", "first"]);
    // Over an older result too.
    ran(dir, &["sim", "run", "traced.toml", "--out", "first"]);
    same_again(dir, "first", "traced-raid0-seed1");
}

/// Where a program cannot draw, it says so before it runs anything.
#[cfg(not(feature = "pictures"))]
#[test]
fn pictures_that_cannot_be_drawn_are_refused_at_once() {
    let scratch = Scratch::new("runs-charts");
    let output = cygnus(scratch.path(), &["lab", "run", "swan/model", "--charts", "svg,png", "--out", "figures"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("--features pictures"), "{error}");
    assert!(!scratch.path().join("figures").exists());
}

/// Pictures lie beside the drawing and the page leads to them; a run without them leaves no older ones.
#[cfg(feature = "pictures")]
#[test]
fn the_page_leads_to_pictures_that_were_drawn() {
    let scratch = Scratch::new("runs-charts");
    let dir = scratch.path();
    let page = |charts: &str| {
        ran(dir, &["lab", "run", "swan/model", "--charts", charts, "--out", "figures"]);
        ran(dir, &["lab", "report", "--out", "figures"]);
        fs::read_to_string(dir.join("figures/report.html")).unwrap()
    };
    let drawn = page("png,pdf");
    let names: Vec<String> = files(&dir.join("figures/swan/model")).into_iter().map(|(name, _)| name).collect();
    for ending in ["csv", "svg", "png", "pdf"] {
        let file = names.iter().find(|name| name.ends_with(ending)).unwrap_or_else(|| panic!("no {ending}: {names:?}"));
        assert!(drawn.contains(&format!("href=\"swan/model/{file}\"")), "{file}");
    }
    assert!(!page("svg").contains(".png\""));
    assert!(
        files(&dir.join("figures/swan/model")).iter().all(|(name, _)| !name.ends_with("png") && !name.ends_with("pdf"))
    );
}

#[test]
fn stories_that_are_not_to_be_short_are_written_down_as_they_are() {
    let dir = Scratch::new("torture-unshrunk");
    let args = "torture --seeds 20 --plant flushes-ignored --stop-at-failure --jobs 1 --shrink 0";
    ran(dir.path(), &args.split(' ').collect::<Vec<_>>());
    let stories = files(dir.path());
    let [(story, _)] = &stories[..] else { panic!("{} stories", stories.len()) };
    ran(dir.path(), &["torture", "--replay", story, "--plant", "flushes-ignored"]);
}

#[test]
fn what_the_largest_seed_of_a_scenario_gave_can_be_run_again() {
    let dir = Scratch::new("runs-largest-seed");
    ran(dir.path(), &["sim", "run", "tiny", "--seed", &i64::MAX.to_string(), "--out", "first"]);
    same_again(dir.path(), "first", &format!("tiny-swan-seed{}", i64::MAX));
}

/// Two arrays without flash; the second one is too small for a volume of more than 120 MiB.
fn two_arrays(volume: &str) -> String {
    format!(
        "name = \"pair\"\n[devices]\npreset = \"null\"\ncapacity = \"128MiB\"\n[[array]]\npreset = \"raid0\"\ndrives = 2\n[[array]]\n\
         preset = \"raid1\"\ndrives = 2\n[volume]\nsize = \"{volume}\"\n[[workload.fio]]\n[run]\nduration = \"2ms\"\nsample = \"1ms\"\n"
    )
}

#[test]
fn a_run_that_fails_leaves_an_earlier_one_as_it_was() {
    let scratch = Scratch::new("runs-failed");
    let dir = scratch.path();
    fs::write(dir.join("s.toml"), two_arrays("64MiB")).unwrap();
    ran(dir, &["sim", "run", "s.toml", "--out", "out"]);
    let all =
        || runs(&dir.join("out")).into_iter().map(|run| files(&dir.join("out/runs").join(run))).collect::<Vec<_>>();
    let before = all();
    fs::write(dir.join("s.toml"), two_arrays("200MiB")).unwrap();
    let failed = cygnus(dir, &["sim", "run", "s.toml", "--out", "out"]);
    assert!(!failed.status.success() && String::from_utf8_lossy(&failed.stderr).contains("does not fit"), "{failed:?}");
    assert!(all() == before);
}

#[test]
fn what_an_earlier_run_alone_had_goes_and_what_is_somebodys_stays() {
    let scratch = Scratch::new("runs-earlier");
    let dir = scratch.path();
    let scenario = |fabric: &str| {
        format!(
            "name = \"fabric\"\n[devices]\npreset = \"fimm\"\nscale = 16\n{fabric}[[array]]\npreset = \"raid0\"\ndrives = 4\n[volume]\n\
             size = \"4MiB\"\n[[workload.fio]]\n[run]\nduration = \"2ms\"\nsample = \"1ms\"\n"
        )
    };
    let run = dir.join("out/runs/fabric-raid0-seed1");
    let names = || files(&run).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    fs::write(dir.join("s.toml"), scenario("[fabric]\ntopology = \"1x1\"\n")).unwrap();
    ran(dir, &["sim", "run", "s.toml", "--out", "out"]);
    assert_eq!(names(), [&["clusters.csv", "clusters.svg"], &KEPT[..]].concat());
    fs::write(run.join("notes.txt"), "mine").unwrap();
    fs::write(dir.join("s.toml"), scenario("")).unwrap();
    ran(dir, &["sim", "run", "s.toml", "--out", "out"]);
    let mut expected = [&["notes.txt"], &KEPT[..]].concat();
    expected.sort_unstable();
    assert_eq!(names(), expected);

    fs::remove_file(run.join("run.json")).unwrap();
    let before = files(&run);
    let refused = cygnus(dir, &["sim", "run", "s.toml", "--out", "out"]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && words.contains("move it away, or name another directory"), "{words}");
    assert!(files(&run) == before, "what is no run's is nobody's to replace");
}
