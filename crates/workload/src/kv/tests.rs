use super::*;
use crate::{Request, WorkloadConfig};
use cygnus_types::Nanos;

const GIB: u64 = 1 << 30;

fn of(ycsb: Vec<Ycsb>) -> WorkloadConfig {
    WorkloadConfig { ycsb, ..WorkloadConfig::default() }
}

fn ycsb(text: &str) -> Ycsb {
    toml::from_str(text).unwrap()
}

fn refusal(text: &str) -> String {
    let config = of(vec![ycsb(text)]);
    config.build(64 * GIB, 1).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_scenario_file_says_it_like_this() {
    #[derive(Debug, Deserialize)]
    struct File {
        workload: WorkloadConfig,
    }
    let text = r#"
        [[workload.ycsb]]
        workload = "a"
        records = 100000
        size = "16GiB"
        ramp = "10s"
        duration = "1min"
        [[workload.ycsb]]
        name = "sessions"
        workload = "d"
        records = 100000
        offset = "16GiB"
        depth = 4
        sync-every = 8
        prefill = false
    "#;
    let file: File = toml::from_str(text).unwrap();
    let mut sources = file.workload.build(64 * GIB, 7).unwrap();
    assert_eq!((sources[0].name(), sources[0].depth(), sources[0].footprint()), ("ycsb-a", 32, 0..16 * GIB));
    assert_eq!(
        sources[0].schedule(),
        Schedule { ramp: Nanos::secs(10), duration: Some(Nanos::secs(60)), ..Schedule::default() }
    );
    assert_eq!((sources[1].name(), sources[1].depth()), ("sessions", 4));
    assert_eq!(sources[1].footprint(), 16 * GIB..64 * GIB);
    let activities = |source: &mut Box<dyn Source>| -> Vec<_> {
        (0..200).map(|_| Activity::of(source.next().unwrap().job).unwrap()).collect()
    };
    assert!(activities(&mut sources[0])[..90].iter().all(|activity| *activity == Activity::Prefill));
    assert!(activities(&mut sources[1]).contains(&Activity::Lookup));

    let error = toml::from_str::<File>("[[workload.ycsb]]\nworkload = \"g\"").unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("`load`"), "{error}");
}

#[test]
fn the_defaults_are_those_of_the_program() {
    assert_eq!(ycsb("workload = 'f'"), Ycsb::new(Workload::F));
}

#[test]
fn a_load_ends_when_all_is_written() {
    let config = Ycsb { records: Some(1 << 20), ..Ycsb::new(Workload::Load) };
    let mut source = of(vec![config]).build(16 * GIB, 1).unwrap().remove(0);
    let requests: Vec<Request> = std::iter::from_fn(|| source.next()).collect();
    assert_eq!(source.operations(), Some(1 << 20));
    let logged: u64 = requests.iter().filter(|r| r.job == Activity::Log as u16).map(|r| u64::from(r.len)).sum();
    assert_eq!(logged, GIB);
}

#[test]
fn activities_have_numbers() {
    for (number, activity) in Activity::ALL.into_iter().enumerate() {
        assert_eq!((activity as usize, Activity::of(number as u16)), (number, Some(activity)));
    }
    assert_eq!(Activity::of(7), None);
}

#[test]
fn refusals_say_what_to_do() {
    for (text, part) in [
        ("record-size = 8", "record-size: from 16 B to 1 MiB"),
        ("memtable = '1KiB'", "memtable: from 64 KiB"),
        ("table = '4KiB'", "table: from 1 MiB"),
        ("level1 = '1MiB'", "level1: from 64 MiB"),
        ("block-size = '24KiB'", "power of two"),
        ("block-size = 512", "block-size: from 4 KiB"),
        ("block-cache = '15EiB'", "block-cache: from 0 B to 256 GiB"),
        ("offset = 100", "multiple of 4 KiB"),
        ("depth = 0", "at least 1"),
        ("depth = 65537", "depth: at most 65536, not 65537"),
        ("level0-tables = 0", "at least 1"),
        ("level-ratio = 1", "from 2 to 1000"),
        ("ramp = 10\nduration = 5", "longer than ramp"),
        ("records = 0", "records: from 1"),
        ("records = 10\nmax-records = 5", "these are 10 and 5"),
        ("records = 100000000000", "records: from 1 to 4294967296"),
        ("records = 60000000", "of a volume of 64 GiB: make the volume larger"),
        ("offset = '32GiB'\nsize = '33GiB'", "needs 65 GiB of a volume of 64 GiB"),
        ("offset = '65GiB'", "records"),
        ("records = 1000", "block-cache"),
    ] {
        let message = refusal(&format!("workload = 'c'\n{text}"));
        assert!(message.contains("\"ycsb-c\"") && message.contains(part), "{text}: {message}");
    }
    assert!(of(vec![]).build(GIB, 0).is_err());
}
