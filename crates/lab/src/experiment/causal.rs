//! Causes, and what shows them: an experiment that changes the supposed cause and nothing else.

use serde::{Deserialize, Serialize};

use super::Trialled;
use super::published::Published;
use crate::interval::Interval;

/// An experiment that was to show why a check fails.
///
/// It shows it if it changes the supposed cause and nothing else, on as many drives of the same size whose parts are as fast, and
/// ours is then at most half as far from what was published as before: by the whole interval, each seed beside itself.
///
/// How fast a link, a bus, a cell or a spindle is makes hardware what it is, so a control with other speeds is on other hardware:
/// it tells what such hardware would do, and shows no cause. What a drive does with its parts (spare flash, cache, when it
/// collects, whether it heeds trims, who orders its zones) may be the supposed cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Causal {
    /// The supposed cause, in words.
    pub cause: String,
    /// All that was changed.
    pub changed: Vec<Change>,
    /// Ours with the cause changed; nothing if there was nothing to measure then.
    pub ours: Option<Interval>,
    /// The share of the way to what was published that this is: 1 is all of it, less than 0 is away from it. Nothing if ours is nothing.
    pub moved: Option<Interval>,
    /// Whether the cause is shown.
    pub shown: bool,
}

/// One key of a scenario that differs between two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Which.
    pub key: String,
    /// As judged; empty: it was not there.
    pub from: String,
    /// In the experiment; empty: it is not there.
    pub to: String,
}

/// The share of the way that a cause has to move ours.
const HALF: f64 = 0.5;

impl Causal {
    /// Judges it: ours as it was judged and with the cause changed, each by seed.
    pub fn new(cause: String, changed: Vec<Change>, published: Published, judged: &[f64], with: &[f64]) -> Self {
        let moved = |(before, after): (&f64, &f64)| 1.0 - published.distance(*after) / published.distance(*before);
        let moved: Vec<f64> = judged.iter().zip(with).map(moved).collect();
        let moved = Interval::measured(&moved);
        let shown = moved.is_some_and(|moved| moved.low >= HALF);
        let causal = Self { cause, changed, ours: Interval::measured(with), moved, shown };
        Self { shown: causal.shown && !causal.is_other_hardware(), ..causal }
    }

    /// Whether it was run on other hardware.
    pub fn is_other_hardware(&self) -> bool {
        self.changed.iter().any(Change::is_of_hardware)
    }
}

/// Sections of a scenario that describe hardware.
const HARDWARE: [&str; 5] = ["devices", "disks", "fabric", "network", "cpu"];
/// Names of keys that say how fast a part is, or how many parts there are. What a core's work costs is the array's own.
const PARTS: [&str; 8] = ["rate", "latency", "controller", "rpm", "channels", "dies_per_channel", "planes", "cores"];

impl Change {
    /// Whether it makes the hardware another one: its parts faster or slower, or more or fewer.
    fn is_of_hardware(&self) -> bool {
        let path: Vec<&str> = self.key.split('.').collect();
        let (Some(section), Some(name)) = (path.first(), path.last()) else { return false };
        // Times of flash are t_read and so on, rates of links write_rate and so on; an arm's times are in a table of their own.
        let is_of_parts =
            PARTS.contains(name) || name.starts_with("t_") || name.ends_with("_rate") || path.contains(&"seek");
        HARDWARE.contains(section) && is_of_parts
    }
}

/// All keys by which the second run's scenario differs from the first one's.
///
/// # Panics
/// When they do not have as many drives of the same make and size each, or do not differ: then nothing is shown.
pub fn changes(judged: &Trialled, with: &Trialled) -> Vec<Change> {
    let hardware = |trialled: &Trialled| {
        let outcome = trialled.outcome;
        (outcome.drives, outcome.drive_bytes, outcome.drive.clone(), outcome.seed)
    };
    let names = (&judged.trial.name, &with.trial.name);
    assert_eq!(hardware(judged), hardware(with), "{names:?}: a control has the same hardware and seed");
    let changes = differences(&judged.trial.scenario, &with.trial.scenario);
    assert!(!changes.is_empty(), "{names:?}: a control changes something");
    changes
}

fn differences(one: &str, other: &str) -> Vec<Change> {
    let flat = |text: &str| {
        let table: toml::Table = toml::from_str(text).expect("scenarios that were run are TOML");
        let mut keys = Vec::new();
        flatten("", &toml::Value::Table(table), &mut keys);
        keys
    };
    let (before, after) = (flat(one), flat(other));
    let of = |keys: &[(String, String)], key: &str| {
        keys.iter().find(|(known, _)| known == key).map_or(String::new(), |(_, value)| value.clone())
    };
    let mut all: Vec<&String> = before.iter().chain(&after).map(|(key, _)| key).collect();
    all.sort();
    all.dedup();
    let change = |key: &String| Change { key: key.clone(), from: of(&before, key), to: of(&after, key) };
    together(all.into_iter().map(change).filter(|change| change.from != change.to).collect())
}

/// Changes that are alike in several tables of a list become one, with stars for their numbers: 48 clients may differ in one thing.
fn together(changes: Vec<Change>) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::new();
    for change in &changes {
        let starred = starred(change);
        let is_alone = changes.iter().filter(|other| self::starred(other) == starred).count() == 1;
        let change = if is_alone { change.clone() } else { starred };
        if !all.contains(&change) {
            all.push(change);
        }
    }
    all
}

/// The same with stars for the numbers in its key.
fn starred(change: &Change) -> Change {
    let name = |part| if str::parse::<u32>(part).is_ok() { "*" } else { part };
    Change { key: change.key.split('.').map(name).collect::<Vec<_>>().join("."), ..change.clone() }
}

/// Every value with the path to it.
fn flatten(path: &str, value: &toml::Value, into: &mut Vec<(String, String)>) {
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(name, value)| flatten(&join(name), value, into)),
        toml::Value::Array(array) => {
            array.iter().enumerate().for_each(|(n, value)| flatten(&join(&n.to_string()), value, into));
        }
        toml::Value::String(text) => into.push((path.to_owned(), text.clone())),
        value => into.push((path.to_owned(), value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(published: Published, judged: &[f64], with: &[f64]) -> bool {
        Causal::new("why".into(), Vec::new(), published, judged, with).shown
    }

    #[test]
    fn half_of_the_way_shows_a_cause_and_less_does_not() {
        let about = Published::About(100.0);
        assert!(shown(about, &[200.0], &[150.0]) && !shown(about, &[200.0], &[151.0]));
        // Beyond what was published by more than half of what it was off is no better.
        assert!(shown(about, &[200.0], &[60.0]) && !shown(about, &[200.0], &[40.0]));
        assert!(shown(Published::Above(1.0), &[0.5], &[3.0]));
    }

    #[test]
    fn what_moves_ours_away_shows_nothing_however_much() {
        let causal = Causal::new(String::new(), Vec::new(), Published::Above(4.0), &[2.0], &[1.0]);
        assert_eq!((causal.shown, causal.moved.map(|moved| moved.median)), (false, Some(-0.5)));
    }

    #[test]
    fn a_control_that_measures_nothing_shows_nothing() {
        let causal = Causal::new(String::new(), Vec::new(), Published::Below(4.0), &[5.0], &[f64::NAN]);
        assert_eq!((causal.shown, causal.ours, causal.moved), (false, None, None));
    }

    #[test]
    fn other_hardware_shows_no_cause_however_far_it_moves_ours() {
        let with = |one: &str, other: &str| {
            let changed = differences(one, other);
            assert_eq!(changed.len(), 1, "{changed:?}");
            Causal::new("why".into(), changed, Published::About(100.0), &[200.0], &[100.0])
        };
        let from_nothing = |line: &str| with("", line);
        for line in [
            "devices.override.ssd.host = { write_rate = \"140MB\" }",
            "devices.override.ssd.flash = { t_program = \"500us\" }",
            "devices.override.ssd.flash = { channel_rate = \"100MB\" }",
            "devices.override.ssd.flash = { channels = 4 }",
            "devices.override.ssd.controller = \"9us\"",
            "disks.override.disk.seek = { full = \"20ms\" }",
            "disks.override.disk.rpm = 5400",
            "network.rate = \"1GB\"",
            "cpu.cores = 2",
        ] {
            let causal = from_nothing(line);
            assert!(causal.is_other_hardware() && !causal.shown, "{line}");
        }
        // What a drive does with its parts, what clients ask for and what the array is are no hardware.
        for line in [
            "devices.override.ssd.spare = 0.07",
            "devices.override.ssd.cache = { bytes = \"1MiB\" }",
            "devices.override.ssd.gc = { separate = true }",
            "devices.override.ssd.ignores_trims = true",
            "fabric.interleave = false",
            "cpu.copy = \"0ns\"",
            "volume.size = \"99%\"",
            "workload.fio.rate = 100",
        ] {
            let causal = from_nothing(line);
            assert!(!causal.is_other_hardware() && causal.shown, "{line}");
        }
    }

    #[test]
    fn each_seed_has_to_move() {
        let about = Published::About(100.0);
        assert!(!shown(about, &[200.0, 200.0, 200.0], &[110.0, 110.0, 180.0]));
    }

    #[test]
    fn all_keys_that_differ_are_named() {
        let one = "a = 1\n[volume]\nsize = \"60%\"\n[[array]]\npreset = \"raid0\"\n";
        let other = "a = 1\nb = 2\n[volume]\nsize = \"99%\"\n[[array]]\npreset = \"raid0\"\n";
        let change = |key: &str, from: &str, to: &str| Change { key: key.into(), from: from.into(), to: to.into() };
        assert_eq!(differences(one, other), [change("b", "", "2"), change("volume.size", "60%", "99%")]);
        assert_eq!(differences(one, one), []);
    }

    #[test]
    fn what_changes_alike_in_a_list_is_named_once() {
        let jobs = |sizes: [u32; 3]| sizes.map(|size| format!("[[job]]\nsize = {size}\n")).concat();
        let change = |key: &str, from: &str| Change { key: key.into(), from: from.into(), to: "4".into() };
        let alike = differences(&jobs([1, 1, 4]), &jobs([4, 4, 4]));
        assert_eq!(alike, [change("job.*.size", "1")]);
        let unlike = differences(&jobs([1, 2, 4]), &jobs([4, 4, 4]));
        assert_eq!(unlike, [change("job.0.size", "1"), change("job.1.size", "2")]);
    }
}
