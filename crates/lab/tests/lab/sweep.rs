//! Sweeps: which runs follow from a file, what is wrong with files, and rows that are found again.

use cygnus_lab::{Rows, RunFailed, ScenarioError, Sweep, SweepRun, Varied};

const BASE: &str = r#"name = "base"
about = "Two arrays without flash"
[devices]
preset = "null"
capacity = "256MiB"
[[array]]
preset = "raid0"
drives = 2
[[array]]
preset = "raid5"
drives = 3
[volume]
size = "10% of data"
[[workload.fio]]
depth = 4
[run]
duration = "10ms"
sample = "5ms"
"#;

fn runs(text: &str) -> Result<Vec<SweepRun>, String> {
    let sweep = Sweep::parse("sweep.toml", text).map_err(|error| error.to_string())?.expect("it is a sweep");
    sweep.runs("base.toml", BASE).map_err(|error| error.to_string())
}

#[test]
fn every_combination_is_run_in_the_order_of_the_file() {
    let runs = runs(
        "scenario = \"base\"\nseeds = [5, 3]\n[grid]\nworkload.fio.0.depth = [1, 2]\n\"array.*.drives\" = [3, 4]\n\
         [list]\nvolume.size = [\"10% of data\", \"20% of data\"]\ndevices.capacity = [\"256MiB\", \"512MiB\"]\n",
    )
    .unwrap();
    assert_eq!(runs.len(), 2 * 2 * 2 * 2 * 2);
    let shown = |n: usize| runs[n].to_string();
    let all = "workload.fio.0.depth = 1, array.*.drives = 3, array";
    let listed = "volume.size = \"10% of data\", devices.capacity = \"256MiB\"";
    assert_eq!(shown(0), format!("{listed}, {all} raid0, seed 5"));
    assert_eq!(shown(1), format!("{listed}, {all} raid5, seed 5"));
    assert_eq!(shown(2), format!("{listed}, {all} raid0, seed 3"));
    assert!(
        shown(31).starts_with("volume.size = \"20% of data\", devices.capacity = \"512MiB\", workload.fio.0.depth = 2")
    );
}

#[test]
fn a_run_is_told_by_what_it_simulates() {
    let text = |seeds: &str| format!("scenario = \"base\"\nseeds = {seeds}\n[grid]\nworkload.fio.0.depth = [1, 2]\n");
    let ids = |seeds: &str| runs(&text(seeds)).unwrap().into_iter().map(|run| run.id).collect::<Vec<_>>();
    let (few, more) = (ids("1"), ids("2"));
    assert!(few.len() == 4 && more.len() == 8 && few.iter().all(|id| more.contains(id)), "more seeds add runs only");
    let sweep = Sweep::parse("sweep.toml", &text("1")).unwrap().unwrap();
    let other = BASE
        .replace("Two arrays", "A pair of arrays")
        .replace("preset = \"raid5\"\ndrives = 3", "preset = \"raid10\"\ndrives = 4");
    let other = sweep.runs("base.toml", &other).unwrap();
    let same: Vec<bool> = few.iter().zip(&other).map(|(id, run)| *id == run.id).collect();
    assert_eq!(same, [true, false, true, false], "arrays do not know of one another, nor of what scenarios are about");
}

#[test]
fn a_run_is_told_by_the_trace_that_it_plays() {
    let trace = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("told.csv");
    let base = BASE.replace("[[workload.fio]]\ndepth = 4", &format!("[workload.replay]\nfile = {trace:?}"));
    let ids = |text: &str| {
        std::fs::write(&trace, text).unwrap();
        let runs = Sweep::of_scenario("base.toml").runs("base.toml", &base).unwrap();
        runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    let (one, other) = ("1,h,0,Read,0,512,1\n", "1,h,0,Read,0,1024,1\n");
    assert_eq!(ids(one), ids(one));
    assert!(ids(one).iter().zip(ids(other)).all(|(a, b)| *a != b), "rows of a trace that was changed are not its own");
}

#[test]
fn a_run_leaves_a_scenario_that_is_the_run() {
    let run = &runs("scenario = \"base\"\nseeds = [9]\n[grid]\nworkload.fio.0.depth = [2]\n").unwrap()[1];
    let text = run.scenario().text;
    assert!(
        text.contains("seed = 9") && text.contains("depth = 2") && text.contains("raid5") && !text.contains("raid0")
    );
    let alone = cygnus_lab::Scenario::parse("alone.toml", &text).unwrap();
    let outcome = cygnus_lab::run(&alone, 0, alone.seed(), |_| {}).unwrap();
    assert_eq!(outcome.requests, run.carry_out(|_| {}).unwrap().requests);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, words) in [
        ("[grid]\nvolume.size = [1]\n", "sweep.toml:1:1: missing field `scenario`"),
        ("scenario = \"base\"\nsedes = 1\n[grid]\n", "sweep.toml:2:1: unknown field `sedes`"),
        ("scenario = \"base\"\nseeds = 0\n", "sweep.toml:2:9: no seeds, so there is nothing to run"),
        ("scenario = \"base\"\nseeds = \"x\"\n", "sweep.toml:2:9: how many seeds, or a list of them"),
        ("scenario = \"base\"\n[grid]\nvolume.size = []\n", "sweep.toml:3:8: volume.size has no values"),
        (
            "scenario = \"base\"\n[grid]\nvolume.size = \"1GiB\"\n",
            "sweep.toml:3:8: volume.size: write the values in brackets",
        ),
        (
            "scenario = \"base\"\n[grid]\nvolume.sise = [\"1GiB\"]\n",
            "sweep.toml:3:8: volume.sise = \"1GiB\": unknown field `sise`",
        ),
        ("scenario = \"base\"\n[grid]\nvolume.size = [\"1GiB\", \"1XB\"]\n", "sweep.toml:3:8: volume.size = \"1XB\": "),
        (
            "scenario = \"base\"\n[grid]\nworkload.fio.0.depth = [1, 0]\n",
            "sweep.toml:3:16: workload.fio.0.depth = 0: workload \"job0\": clients and depth are at least 1",
        ),
        (
            "scenario = \"base\"\n[grid]\narray.raid6.drives = [5]\n",
            "sweep.toml:3:13: there is no array.raid6; there are 0 (or raid0), 1 (or raid5)",
        ),
        ("scenario = \"base\"\n[grid]\narray.1.drives = [2]\n", "sweep.toml:3:9: array.1.drives = 2: "),
        (
            "scenario = \"base\"\n[grid]\nname = [\"a\", \"a\"]\n",
            "sweep.toml: two runs are the same: name = \"a\", array raid0",
        ),
        ("scenario = \"base\"\nseeds = [1, 1]\n", "sweep.toml: two runs are the same"),
        (
            "scenario = \"base\"\n[grid]\narray.raid5.drives = [5, 6]\n",
            "sweep.toml: two runs are the same: array.raid5.drives = 5, array raid0, seed 1; and array.raid5.drives = 6, array raid0, \
             seed 1: what differs says nothing to raid0",
        ),
        (
            "scenario = \"base\"\n[grid]\nname = [\"a\"]\n[list]\nname = [\"b\"]\n",
            "sweep.toml:3:1: name is varied twice",
        ),
        (
            "scenario = \"base\"\n[list]\nname = [\"a\"]\nseed = [1, 2]\n",
            "sweep.toml:4:1: seed has 2 values and name has 1",
        ),
        ("scenario = \"base\"\nseeds = 60000\n", "sweep.toml: more than 100000 runs"),
        ("scenario = ", "sweep.toml:1:12: "),
    ] {
        let error = runs(text).map(|runs| runs.len()).unwrap_err();
        assert!(error.starts_with(words), "{text}: {error}");
    }
    assert!(Sweep::parse("base.toml", BASE).unwrap().is_none(), "a scenario is no sweep");
}

#[test]
fn a_command_line_varies_too() {
    let with = |texts: &[&str]| {
        let mut sweep = Sweep::of_scenario("base.toml");
        for text in texts {
            sweep.vary(Varied::parse(text).map_err(|error| error.to_string())?);
        }
        sweep.runs("base.toml", BASE).map_err(|error| error.to_string())
    };
    let values = |text: &str| {
        let runs = with(&[text]).unwrap();
        runs.iter().step_by(2).map(|run| run.values[0].1.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(values("workload.fio.0.depth=1,16"), ["1", "16"]);
    assert_eq!(values("volume.size=10% of data,20% of data"), ["\"10% of data\"", "\"20% of data\""]);
    assert_eq!(values("workload.fio.0.distribution={ zipf = 0.9 },\"uniform\""), ["{ zipf = 0.9 }", "\"uniform\""]);
    for (text, words) in [
        ("volume.size", "--vary volume.size: write KEY=VALUE"),
        ("volume.size=", "--vary volume.size=: write KEY=VALUE"),
        ("volume.size=1XB", "--vary volume.size=1XB: volume.size = \"1XB\": "),
        ("seed=1,2", "--vary seed=1,2: seed is no key of a sweep"),
        ("nothing.at.all=1", "--vary nothing.at.all=1: nothing.at.all = 1: unknown field `nothing`"),
    ] {
        let error = with(&[text]).map(|runs| runs.len()).unwrap_err();
        assert!(error.starts_with(words), "{error}");
    }
}

#[test]
fn one_setting_under_two_names_is_refused_with_both() {
    let base = BASE.replace("depth = 4", "name = \"mixed\"\ndepth = 4");
    let runs = |keys: &[&str]| {
        let mut sweep = Sweep::of_scenario("base.toml");
        keys.iter().for_each(|key| sweep.vary(Varied::parse(key).unwrap()));
        sweep.runs("base.toml", &base).map_err(|error| error.to_string())
    };
    for [one, other] in [
        ["workload.fio.0.depth=1", "workload.fio.mixed.depth=8"],
        ["array.*.drives=3", "array.raid5.drives=4"],
        ["workload.fio.0.read=5", "workload.fio.mixed.read=6"],
        ["workload.fio.0.depth=1", "workload.fio.mixed={ depth = 2 }"],
        ["run={ duration = \"10ms\" }", "run.duration=\"20ms\""],
    ] {
        let names = [one, other].map(|key| key.split('=').next().unwrap());
        let error = runs(&[one, other]).map(|runs| runs.len()).expect_err(one);
        assert!(error.contains(&format!("{} and {} are names of the same setting", names[0], names[1])), "{error}");
    }
    for apart in [["array.raid0.drives=3", "array.raid5.drives=4"], ["run={ duration = \"10ms\" }", "run.ramp=\"2ms\""]]
    {
        assert!(runs(&apart).is_ok(), "{apart:?}: {:?}", runs(&apart).err());
    }
    let file =
        "scenario = \"base\"\n[grid]\nworkload.fio.0.depth = [1, 2]\n[list]\n\"workload.fio.*.depth\" = [3, 4]\n";
    let error = self::runs(file).map(|runs| runs.len()).expect_err("one is the other");
    assert!(
        error.starts_with("sweep.toml:") && error.contains("workload.fio.*.depth and workload.fio.0.depth"),
        "{error}"
    );
}

#[test]
fn a_row_of_which_no_time_was_measured_has_no_rates() {
    let base = BASE.replace("depth = 4", "depth = 4\nduration = \"2ms\"").replace("sample", "ramp = \"5ms\"\nsample");
    let runs = Sweep::of_scenario("base.toml").runs("base.toml", &base).unwrap_or_else(|error| panic!("{error}"));
    let outcome = runs[0].carry_out(|_| {}).unwrap_or_else(|error| panic!("{error}"));
    let rows = Rows::new([].into_iter(), "test");
    let (names, cells) = (rows.columns(), Rows::cells(&rows.row(&runs[0], Ok(&outcome))));
    let of = |name: &str| cells[names.iter().position(|known| known == name).expect("it is a column")].as_str();
    assert_eq!(of("measured_s"), "0.000");
    assert_eq!(["read_iops", "read_mb_s", "write_iops", "write_mb_s", "write_mean_us"].map(of), [""; 5]);
}

#[test]
fn rows_are_found_again_and_halves_of_rows_are_not() {
    let runs =
        runs("scenario = \"base\"\n[grid]\nworkload.fio.0.distribution = [{ zipf = 0.9, }, \"uniform\"]\n").unwrap();
    let rows = Rows::new(["workload.fio.0.distribution"].into_iter(), "v1");
    let outcome = runs[1].carry_out(|_| {}).unwrap();
    let message = "a \"bad\", bad\nday".to_owned();
    let failed = RunFailed(ScenarioError { file: "made up".into(), line: 1, column: 1, message }.into());
    let (good, bad) = (rows.row(&runs[1], Ok(&outcome)), rows.row(&runs[0], Err(&failed)));
    let columns = rows.columns();
    for row in [&good, &bad] {
        assert_eq!(Rows::cells(row).len(), columns.len());
    }
    let of =
        |row: &str, name: &str| Rows::cells(row)[columns.iter().position(|column| column == name).unwrap()].clone();
    assert_eq!(of(&bad, "error"), "a \"bad\", bad day");
    assert_eq!(of(&good, "workload.fio.0.distribution"), "{ zipf = 0.9 }");
    assert_eq!(
        (of(&good, "array"), of(&good, "error"), of(&good, "read_p50_us")),
        ("raid5".into(), String::new(), String::new())
    );
    assert!(of(&good, "write_p99_999_us").parse::<f64>().unwrap() >= of(&good, "write_p50_us").parse::<f64>().unwrap());

    let quotients =
        ["array_write_amplification", "drive_write_amplification", "victims_valid"].map(|name| of(&good, name));
    assert_eq!(
        quotients[1..],
        ["", ""],
        "drives without flash, and no segments: a mean over rows takes a 0 for a number"
    );
    assert!(quotients[0].parse::<f64>().unwrap() >= 1.0, "{}", quotients[0]);

    let text = format!("{}\n{bad}\n{good}\n", rows.header());
    let (done, whole) = rows.read(&text, &runs).unwrap();
    assert_eq!((done.into_iter().collect::<Vec<_>>(), whole), (vec![(1, good.clone())], text.len()));
    let failed_otherwise = format!("{text}{}\n", bad.replace(&runs[0].id, "0123456789abcdef"));
    assert!(rows.read(&failed_otherwise, &runs).unwrap().0.contains_key(&1), "a run may fail for want of its trace");
    for cut in 1..=good.len() + 1 {
        let (done, whole) = rows.read(&text[..text.len() - cut], &runs).unwrap();
        assert!(done.is_empty() && whole == text.len() - good.len() - 1, "cut by {cut}");
    }
    assert_eq!(rows.read("", &runs).unwrap(), (Default::default(), 0));
    for (text, words) in [
        (text.replace("version", "made"), "line 1: the columns are not those"),
        (text.replace(&runs[1].id, "0123456789abcdef"), "line 3: not a row of this sweep"),
        (text.replace("v1", "v0"), "line 2: made by version v0, and this is v1"),
        (
            text.replace(&format!("{good}\n"), &format!("{}\n", &good[..good.len() - 30])),
            "line 3: a row with columns missing",
        ),
        (format!("{text}\n"), "line 4: not a row"),
    ] {
        let error = rows.read(&text, &runs).unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
}
