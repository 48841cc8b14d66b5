//! Arrays on modelled disks, where a random write in place costs seeks and turns and one to a log does not.

use cygnus_lab::{LabError, Outcome, Scenario, run};

/// A log on three drives of that description and a volume on 30 % of it, under random writes.
fn log_on(drive: &str) -> Result<Outcome, LabError> {
    array_on(drive, "preset = \"log-raid\"\nraid = \"2+1\"")
}

/// The same with another array.
fn array_on(drive: &str, array: &str) -> Result<Outcome, LabError> {
    let text = format!(
        "name = \"log\"\n[devices]\n{drive}\n[[array]]\n{array}\n\
         [volume]\nsize = \"30% of data\"\n[aging]\nfill = \"100%\"\noverwrite = 3\n[[workload.fio]]\ndepth = 8\nread = 50\n\
         [run]\nduration = \"2s\"\nsample = \"1s\"\n"
    );
    run(&Scenario::parse("log.toml", &text)?, 0, 1, |_| {})
}

#[test]
fn drives_that_are_written_in_order_are_members_like_others() {
    let shingled = "preset = \"seagate-smr-8tb\"\nscale = 2048\n\
         override.disk.recording = { host-managed = { zone = \"16MiB\", conventional = 4, open = 0 } }";
    let flash = "preset = \"850-pro\"\nscale = 64\n\
         override.ssd = { mapping = { zoned = { dies = 4, open = 12 } }, cache = { protected = true } }";
    for drive in [shingled, flash] {
        let outcome = log_on(drive).unwrap_or_else(|error| panic!("{drive}: {error}"));
        let moved: u64 = outcome.samples.iter().map(|sample| sample.moved_blocks).sum();
        assert!(outcome.requests > 100 && moved > 0, "{drive}: {} requests, {moved} moved", outcome.requests);
    }
}

/// Three drives with flash as 2+1 and six disks as 4+2: nine devices, each of its own kind.
#[test]
fn groups_on_disks_may_have_a_shape_of_their_own() {
    let drives = "preset = \"850-pro\"\nscale = 32\n[disks]\npreset = \"hdd\"\ncapacity = \"2GB\"";
    let array = "preset = \"salsa\"\ngroups = 2\nraid = \"flash:2+1,disk:4+2\"\nmedia = [\"flash\", \"disk\"]\nsegment = \"1MiB\"";
    let text = format!(
        "name = \"shapes\"\n[devices]\n{drives}\n[[array]]\n{array}\n[volume]\nsize = \"1% of data\"\n\
         [[workload.fio]]\ndepth = 8\n[run]\nduration = \"100ms\"\nsample = \"50ms\"\n"
    );
    let scenario = Scenario::parse("shapes.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.requests > 100, "{} requests", outcome.requests);
    assert_eq!(outcome.drives, 9);
}

/// A group on each of four media, three of them of drives of their own, a rule of cleaning for one, and a hybrid volume on two.
#[test]
fn groups_on_four_media_have_drives_of_their_own() {
    let drives = "preset = \"850-pro\"\nscale = 32\n[nvm]\npreset = \"null\"\ncapacity = \"1GB\"\n[disks]\npreset = \"hdd\"\ncapacity = \"2GB\"\n\
                  [smr]\npreset = \"hdd\"\ncapacity = \"3GB\"";
    let array = "preset = \"salsa\"\ngroups = 4\nraid = \"nvm:1+1,flash:2+1,disk:2+1,smr:3+1\"\n\
                 media = [\"nvm\", \"flash\", \"disk\", \"smr\"]\nsegment = \"1MiB\"\ncleaning = \"smr:circular\"";
    let text = format!(
        "name = \"media\"\n[devices]\n{drives}\n[[array]]\n{array}\n[volume]\nsize = \"1% of data\"\nhybrid = [\"nvm\", \"smr\"]\n\
         [[workload.fio]]\nread = 50\ndepth = 8\n[run]\nduration = \"200ms\"\nsample = \"50ms\"\n"
    );
    let scenario = Scenario::parse("media.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.requests > 20, "{} requests", outcome.requests);
    assert_eq!(outcome.drives, 12);
}

#[test]
fn drives_in_order_that_no_array_can_take_are_refused_with_their_line() {
    let zones = |zones: &str| {
        format!("preset = \"seagate-smr-8tb\"\nscale = 2048\noverride.disk.recording = {{ host-managed = {zones} }}")
    };
    let shingled = zones("{ zone = \"16MiB\", conventional = 4, open = 0 }");
    let in_place = array_on(&shingled, "preset = \"raid5\"\ndrives = 3").map(|outcome| outcome.requests);
    let error = in_place.unwrap_err().to_string();
    assert!(error.starts_with("log.toml:6:") && error.contains("write blocks again where they lie"), "{error}");
    let few = zones("{ zone = \"2GiB\", conventional = 0, open = 0 }");
    let closed = zones("{ zone = \"16MiB\", conventional = 4, open = 3 }");
    let written = format!("{shingled}\nprecondition = \"sequential\"");
    for (drive, words) in [(few, "too few"), (closed, "only 3 of its zones"), (written, "empty zones")] {
        let error = log_on(&drive).map(|outcome| outcome.requests).unwrap_err().to_string();
        assert!(error.starts_with("log.toml:2:") && error.contains(words), "{drive}: {error}");
    }
}

/// Four disks of that preset, RAID-5 in place and a log, under random writes.
fn outcomes(drive: &str) -> [Outcome; 2] {
    let text = format!(
        "name = \"disks\"\n[devices]\n{drive}\nprecondition = \"random\"\n\
         [[array]]\npreset = \"raid5\"\ndrives = 4\n[[array]]\npreset = \"log-raid\"\nraid = \"3+1\"\n\
         [volume]\nsize = \"30% of data\"\n[[workload.fio]]\nblock-size = \"16KiB\"\ndepth = 8\n\
         [run]\nduration = \"12s\"\nramp = \"6s\"\nsample = \"2s\"\n"
    );
    let scenario = Scenario::parse("disks.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    [0, 1].map(|which| run(&scenario, which, 1, |_| {}).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn a_log_takes_many_times_the_random_writes_of_an_array_that_updates_in_place() {
    for drive in ["preset = \"hdd\"\ncapacity = \"2GB\"", "preset = \"seagate-smr-8tb\"\nscale = 512"] {
        let [in_place, log] = outcomes(drive).map(|outcome| outcome.requests);
        assert!(in_place > 100 && log > 20 * in_place, "{drive}: {in_place} and {log}");
    }
}
