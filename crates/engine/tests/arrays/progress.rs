//! How far a long opening is, and what is said of the time left, in virtual time.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use cygnus_engine::{Array, CreateOptions, Log, OpenOptions, create};
use cygnus_policy::Preset;
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Nanos};

use crate::sessions::*;

thread_local! {
    static CLOCK: RefCell<Option<World>> = const { RefCell::new(None) };
}

fn now() -> Nanos {
    CLOCK.with_borrow(|world| world.as_ref().map_or(Nanos::ZERO, World::now))
}

/// What was told when.
#[derive(Default)]
struct Clock {
    told: Mutex<Vec<(Nanos, String)>>,
    scan: Mutex<Vec<Nanos>>,
}

impl Log for Clock {
    fn line(&self, _: &str) {}

    fn progress(&self, text: &str) {
        self.told.lock().unwrap().push((now(), text.into()));
    }

    fn step(&self, name: &'static str, _: bool) {
        if name == "open: scan" {
            self.scan.lock().unwrap().push(now());
        }
    }
}

/// Segments that a scan looks at side by side.
const UNDER_WAY: f64 = 32.0;

/// How many are done by a line.
fn done(line: &str) -> f64 {
    let number = line.strip_prefix("open: scan: ").and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).expect(line)
}

/// The estimate in a line, in seconds.
fn left(line: &str) -> f64 {
    let (_, estimate) = line.split_once("about ").expect(line);
    let mut words = estimate.split(' ');
    let (number, unit) = (words.next().unwrap(), words.next().unwrap());
    let factor = if unit == "min" { 60.0 } else { 1.0 };
    number.parse::<f64>().expect(line) * factor
}

#[test]
fn a_long_scan_tells_how_far_it_is_and_when_it_will_be_done() {
    let world = World::new(4);
    let disks: Vec<DiskId> = (0..3).map(|n| world.add_disk(DiskConfig::new(format!("d{n}"), 512 * MIB))).collect();
    let how = CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("t", Preset::LogRaid, 1, 2, 1) };
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        Array::open(&rt, &devices, &options()).await.unwrap();
    });
    CLOCK.set(Some(world.clone()));
    // What takes microseconds takes seconds.
    disks.iter().for_each(|&disk| world.slow_down(disk, 40_000));
    let log = Arc::new(Clock::default());
    let how = OpenOptions::new(log.clone());
    session(&world, &disks, |rt, devices| async move {
        Array::open(&rt, &devices, &how).await.unwrap();
    });
    CLOCK.set(None);
    let [begun, ended] = log.scan.lock().unwrap()[..] else { panic!("one scan") };
    let told: Vec<(Nanos, String)> =
        log.told.lock().unwrap().iter().filter(|(_, line)| line.contains("segments")).cloned().collect();
    let whole = ended.since(begun).as_secs_f64();
    assert!(told.len() as f64 >= whole / 10.0 * 0.7 - 1.0, "{whole} s: {told:?}");
    assert!(told.len() > 3, "{whole} s: {told:?}");
    for (at, line) in &told {
        let end = at.since(begun).as_secs_f64() + left(line);
        // Segments that are under way count as not done yet.
        let under_way = UNDER_WAY / done(line);
        assert!((end / whole - 1.0).abs() < under_way + 0.05, "{line} {} of {whole} s", at.since(begun));
    }
    let pauses = told.windows(2).map(|two| two[1].0.since(two[0].0));
    assert!(pauses.min().is_some_and(|pause| pause >= Nanos::secs(10)), "{told:?}");
}
