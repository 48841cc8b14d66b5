use super::*;
use crate::{Kind, Part, Request, WorkloadConfig};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const VOLUME: u64 = 256 << 20;
const KIB: u64 = 1 << 10;

/// Three phases of 40 objects of 128 KiB by two writers.
const SMALL: &str = "size = '128KiB'\nobjects = 40\nwriters = 2\nlog = '64KiB'\nwrite-back = 16\n";

fn of(text: &str) -> WorkloadConfig {
    WorkloadConfig { objects: Some(toml::from_str(text).unwrap()), ..WorkloadConfig::default() }
}

fn sources(text: &str, seed: u64) -> Vec<Box<dyn Source>> {
    of(text).build(VOLUME, seed).unwrap()
}

/// All requests of all clients of that name, client by client.
fn requests(text: &str, name: &str) -> Vec<Vec<Request>> {
    let mut clients = sources(text, 1);
    clients.retain(|client| client.name() == name);
    clients.iter_mut().map(|client| std::iter::from_fn(|| client.next()).collect()).collect()
}

/// Where the data of objects were put, in the order of operations.
fn places(text: &str, name: &str) -> Vec<u64> {
    let clients = requests(text, name);
    let of_client = |requests: &Vec<Request>| -> Vec<u64> {
        let data = requests.iter().filter(|request| request.kind == Kind::Write && u64::from(request.len) == 128 * KIB);
        data.map(|request| request.offset).collect()
    };
    let by_client: Vec<_> = clients.iter().map(of_client).collect();
    (0..40).map(|n| by_client[n % 2][n / 2]).collect()
}

fn refusal(text: &str) -> String {
    of(text).build(VOLUME, 1).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_scenario_file_says_it_like_this() {
    #[derive(Debug, Deserialize)]
    struct File {
        workload: WorkloadConfig,
    }
    let file: File = toml::from_str("[workload.objects]\nsize = '128KiB'\nobjects = 8\nlog = '1MiB'").unwrap();
    let sources = file.workload.build(VOLUME, 7).unwrap();
    let clients: Vec<_> = sources.iter().map(|source| (source.phase().unwrap(), source.name())).collect();
    assert_eq!(clients.len(), 1 + 32 + 32 + 1);
    assert_eq!(
        [clients[0], clients[1], clients[33], clients[65]],
        [(0, "format"), (1, "put"), (2, "update"), (3, "get")]
    );
    let error = toml::from_str::<File>("[workload.objects]\nsize = 1\nobjets = 3").unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("objects"), "{error}");
}

#[test]
fn a_put_writes_data_then_its_record_and_flushes_both() {
    let first: Vec<_> = requests(SMALL, "put")[0][..8].iter().map(|r| (r.kind, r.offset, u64::from(r.len))).collect();
    let log = 4 * (VOLUME / 8);
    let put = |data, record| {
        [(Kind::Write, data, 128 * KIB), (Kind::Flush, 0, 0), (Kind::Write, record, 8 * KIB), (Kind::Flush, 0, 0)]
    };
    // Directories and inodes come before them; the other client's object lies between.
    let expected = [put(128 * KIB, log), put((128 + 256) * KIB, log + 16 * KIB)].concat();
    assert_eq!(first, expected);
}

#[test]
fn an_operation_ends_with_its_last_flush_or_read_and_nothing_else() {
    let source = sources(SMALL, 1).remove(1);
    for (name, kind, lasts) in [("put", Kind::Flush, 40), ("update", Kind::Flush, 40), ("get", Kind::Read, 40)] {
        let requests = requests(SMALL, name).concat();
        let ends: Vec<_> = requests.iter().filter(|request| source.part(request.job) == Some(Part::Last)).collect();
        assert_eq!(ends.len(), lasts, "{name}");
        assert!(ends.iter().all(|request| request.kind == kind), "{name}");
    }
}

#[test]
fn the_log_goes_round() {
    let log = 4 * (VOLUME / 8);
    let requests = requests(SMALL, "put");
    let records = requests[0].iter().filter(|r| r.kind == Kind::Write && u64::from(r.len) == 8 * KIB);
    let records: Vec<u64> =
        records.filter(|r| r.offset >= log && r.offset < log + 64 * KIB).map(|r| r.offset - log).collect();
    assert_eq!(&records[..6], [0, 2, 4, 6, 0, 2].map(|n| n * 8 * KIB));
}

#[test]
fn files_lie_one_behind_the_other_or_in_all_groups() {
    let together = places(SMALL, "put");
    assert!(together.windows(2).all(|pair| pair[1] == pair[0] + 128 * KIB));
    let spread = places(&(SMALL.to_owned() + "spread = true"), "put");
    let group = |place: &u64| place / (VOLUME / 8);
    assert_eq!(spread.iter().take(10).map(group).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]);
    assert_eq!(spread.iter().collect::<BTreeSet<_>>().len(), 40);
}

#[test]
fn an_update_never_overwrites_what_is_still_needed() {
    let mut last: BTreeMap<u64, usize> = places(SMALL, "put").into_iter().zip(0..).collect();
    for (n, place) in places(SMALL, "update").into_iter().enumerate() {
        // A place that was given up is taken again by the second update after that at the earliest.
        last.insert(place, 100 + n);
    }
    let end = places(SMALL, "put").iter().max().unwrap() + 128 * KIB;
    let beyond = last.keys().filter(|&&place| place >= end).count();
    assert_eq!(beyond, 3, "with two at once, three places more are enough");
    assert_eq!(places(SMALL, "update").iter().filter(|&&place| place < end).count(), 37);
}

#[test]
fn reads_find_each_object_where_its_update_put_it_and_inodes_once() {
    let get = requests(SMALL, "get").concat();
    let (data, inodes): (Vec<&Request>, Vec<&Request>) =
        get.iter().partition(|request| u64::from(request.len) == 128 * KIB);
    let read: BTreeSet<u64> = data.iter().map(|request| request.offset).collect();
    assert_eq!((data.len(), read), (40, places(SMALL, "update").into_iter().collect()));
    let distinct: BTreeSet<u64> = inodes.iter().map(|request| request.offset).collect();
    assert_eq!(distinct.len(), inodes.len());
    // Directories: five in each of eight groups; files: those of 43 places, eight at a time.
    assert!((8 + 5..=8 + 6).contains(&inodes.len()), "{}", inodes.len());
}

#[test]
fn changed_inodes_are_written_back_after_so_many_objects_and_at_the_end() {
    let source = sources(SMALL, 1).remove(1);
    let behind = |client: &Vec<Request>| client.iter().filter(|request| source.part(request.job).is_none()).count();
    // Of 16 objects there are 8 clusters of directories and two of files, which are neighbours. Group 0 has both.
    let puts = requests(SMALL, "put");
    assert_eq!(puts.iter().map(behind).collect::<Vec<_>>(), [0, 3 * 9]);
    let ends = puts[1].last().map(|request| source.part(request.job));
    assert_eq!(ends, Some(None));
}

#[test]
fn equal_seeds_give_equal_requests_and_others_another_order() {
    let of = |seed| -> Vec<Request> {
        sources(SMALL, seed)
            .iter_mut()
            .flat_map(|client| std::iter::from_fn(|| client.next()).collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn requests_keep_their_promises() {
    let texts = [
        SMALL.to_owned(),
        SMALL.to_owned() + "spread = true",
        SMALL.replace("128KiB", "132KiB"),
        SMALL.to_owned() + "offset = '64MiB'",
    ];
    for text in texts {
        for mut client in sources(&text, 3) {
            let footprint = client.footprint();
            while let Some(request) = client.next() {
                assert!(request.kind == Kind::Flush || request.len > 0);
                assert!(request.kind == Kind::Flush || request.offset >= footprint.start);
                assert!(request.end() <= footprint.end && request.offset.is_multiple_of(4096), "{request:?}");
            }
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let with = |more: &str| refusal(&format!("size = '128KiB'\nobjects = 40\nlog = '1MiB'\n{more}"));
    assert!(refusal("size = 1000\nobjects = 4").contains("multiple of 4 KiB"));
    assert!(refusal("size = '64MiB'\nobjects = 4").contains("32 MiB"));
    assert!(with("record = '2MiB'").contains("longer than the log"));
    assert!(with("writers = 0").contains("at least 1"));
    assert!(refusal("size = '128KiB'\nobjects = 9223372036854775807").contains("objects: at most 4294967296"));
    assert!(with("offset = '15EiB'").contains("offset and log: at most 1 PiB"));
    assert!(refusal("size = '128KiB'\nobjects = 4\nlog = '15EiB'").contains("offset and log: at most 1 PiB"));
    assert!(with("offset = '1000'").contains("multiple of 4 KiB"));
    assert!(with("offset = '1GiB'").contains("make the volume larger"));
    assert!(refusal("size = '128KiB'\nobjects = 1000000").contains("make the volume larger"));
}
