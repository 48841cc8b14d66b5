use super::*;
use crate::{Kind, Request, Schedule, WorkloadConfig};
use cygnus_types::Nanos;
use proptest::prelude::*;
use std::collections::BTreeSet;

const VOLUME: u64 = 64 << 20;

fn of(fio: Vec<Job>) -> WorkloadConfig {
    WorkloadConfig { fio, ..WorkloadConfig::default() }
}

fn job(text: &str) -> Job {
    toml::from_str(text).unwrap()
}

fn sources(text: &str, seed: u64) -> Vec<Box<dyn Source>> {
    of(vec![job(text)]).build(VOLUME, seed).unwrap()
}

fn requests(text: &str, count: usize) -> Vec<Request> {
    let mut source = sources(text, 1).remove(0);
    std::iter::from_fn(|| source.next()).take(count).collect()
}

fn refusal(text: &str) -> String {
    of(vec![job(text)]).build(VOLUME, 1).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_scenario_file_says_it_like_this() {
    #[derive(Debug, Deserialize)]
    struct File {
        workload: WorkloadConfig,
    }
    let text = r#"
        [[workload.fio]]
        name = "mix"
        clients = 4
        block-size = [["4KiB", 80], ["64KiB", 20]]
        distribution = { zipf = 1.1 }
        read = "70%"
        depth = 32
        after = "5s"
        ramp = "10s"
        duration = "1min"
        [[workload.fio]]
        pattern = { strided = "1MiB" }
        rate = { iops = 1000, arrivals = "poisson" }
        [[workload.fio]]
        distribution = { hotspot = { space = 20, accesses = 80 } }
    "#;
    let file: File = toml::from_str(text).unwrap();
    let sources = file.workload.build(VOLUME, 7).unwrap();
    assert_eq!(sources.len(), 6);
    assert_eq!((sources[0].name(), sources[0].depth()), ("mix", 32));
    assert_eq!(
        sources[0].schedule(),
        Schedule { delay: Nanos::secs(5), ramp: Nanos::secs(10), duration: Some(Nanos::secs(60)) }
    );
    assert_eq!((sources[4].name(), sources[4].depth()), ("job1", OPEN_DEPTH));

    let error = toml::from_str::<File>("[[workload.fio]]\nread = 50\nqueue-depth = 3").unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("queue-depth") && error.contains("depth"), "{error}");
    let error = toml::from_str::<File>("[[workload.foi]]\nread = 50").unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("`fio`"), "{error}");
}

#[test]
fn sequential_walks_and_wraps() {
    let offsets = |text, n| requests(text, n).iter().map(|r| r.offset).collect::<Vec<_>>();
    let text = "pattern = 'sequential'\nblock-size = '8k'\noffset = '1MiB'\nsize = '20k'";
    assert_eq!(offsets(text, 5), [1 << 20, (1 << 20) + 8192, 1 << 20, (1 << 20) + 8192, 1 << 20]);
    let text = "pattern = {strided = '16k'}\nblock-size = '4k'\nsize = '40k'";
    assert_eq!(
        offsets(text, 11).iter().map(|o| o >> 12).collect::<Vec<_>>(),
        [0, 4, 8, 1, 5, 9, 2, 6, 3, 7, 0],
        "every block once, then again from the start"
    );
}

#[test]
fn shuffled_visits_every_place_once() {
    let count = (VOLUME >> 14) as usize;
    let offsets: Vec<u64> =
        requests("pattern = 'shuffled'\nblock-size = '16k'", count * 2).iter().map(|r| r.offset).collect();
    for pass in [&offsets[..count], &offsets[count..]] {
        assert_eq!(pass.iter().copied().collect::<BTreeSet<u64>>().len(), count);
    }
    assert!(!offsets[..count].is_sorted());
}

#[test]
fn mixes_are_as_asked() {
    let text = "block-size = [['4k', 3], ['32k', 1]]\nread = 50\ntrim = 10\nwrite-zeroes = 5";
    let all = requests(text, 100_000);
    let share = |f: fn(&&Request) -> bool| all.iter().filter(f).count() as f64 / 1e5;
    for (got, expect) in [
        (share(|r| r.kind == Kind::Read), 0.50),
        (share(|r| r.kind == Kind::Trim), 0.10),
        (share(|r| r.kind == Kind::WriteZeroes), 0.05),
        (share(|r| r.kind == Kind::Write), 0.35),
        (share(|r| r.len == 4096), 0.75),
    ] {
        assert!((got - expect).abs() < 0.01, "{got} instead of {expect}");
    }
}

#[test]
fn flushes_fua_and_limits() {
    let all = requests("flush-every = 3\nfua = true\nrequests = 6", 100);
    let kinds: Vec<bool> = all.iter().map(|r| r.kind == Kind::Flush).collect();
    assert_eq!(kinds, [false, false, false, true, false, false, false, true]);
    assert!(all.iter().all(|r| r.fua == (r.kind == Kind::Write)));
    assert_eq!(requests("bytes = '10k'", 100).len(), 3, "the limit is reached within the third");
    assert_eq!(requests("", 1000).len(), 1000, "no limit, no end");
}

#[test]
fn clients_differ_and_share_hot_places() {
    let text = "clients = 2\ndistribution = {zipf = 1.5}";
    let mut clients = sources(text, 9);
    let mut hottest = |client: usize| {
        let mut counts = std::collections::BTreeMap::new();
        let mut first = Vec::new();
        for _ in 0..2000 {
            let offset = clients[client].next().unwrap().offset;
            *counts.entry(offset).or_insert(0) += 1;
            first.push(offset);
        }
        (counts.into_iter().max_by_key(|&(_, count)| count).unwrap().0, first)
    };
    let ((hot0, list0), (hot1, list1)) = (hottest(0), hottest(1));
    assert_eq!(hot0, hot1);
    assert_ne!(list0, list1);
}

#[test]
fn refusals_say_what_to_do() {
    for (text, part) in [
        ("block-size = '4000'", "multiple of 512"),
        ("block-size = []", "weight"),
        ("block-size = '64MiB'", "32 MiB"),
        ("align = 100", "align"),
        ("offset = 100", "offset"),
        ("read = 60\ntrim = 50", "110 %"),
        ("depth = 0", "at least 1"),
        ("depth = 65537", "at most 65536 requests at once"),
        ("pattern = 'sequential'\ndistribution = {zipf = 1}", "pattern = \"random\""),
        ("pattern = 'shuffled'\nblock-size = [['4k',1],['8k',1]]", "one block-size"),
        ("distribution = {zipf = -1}", "theta"),
        ("rate = {}", "either iops or bandwidth"),
        ("ramp = 10\nduration = 5", "longer than ramp"),
        ("size = '1GiB'", "needs 1 GiB of a volume of 64 MiB"),
        ("offset = '64MiB'", "make the volume larger"),
        ("size = '4k'\nblock-size = '8k'", "cannot hold"),
    ] {
        let message = refusal(text);
        assert!(message.contains("\"job0\"") && message.contains(part), "{text}: {message}");
    }
    assert!(of(vec![]).build(VOLUME, 0).is_err());
}

proptest! {
    #[test]
    fn requests_keep_the_promises_of_a_source(
        pattern in prop_oneof![
            Just(Pattern::Sequential), Just(Pattern::Random), (1_u64..64).prop_map(|n| Pattern::Strided(Size(n * 512)))
        ],
        sizes in prop::collection::vec((1_u64..64, 1_u32..5), 1..4),
        align in prop::option::of(1_u64..40),
        offset in 0_u64..1000,
        slack in 0_u64..1000,
        seed: u64,
    ) {
        let block_size = BlockSizes(sizes.into_iter().map(|(n, weight)| (Size(n * 512), weight)).collect());
        let job = Job {
            pattern,
            align: align.map(|n| Size(n * 512)),
            offset: Size(offset * 512),
            block_size,
            read: Percent(50.0),
            ..Job::default()
        };
        let volume = job.offset.0 + job.longest() + slack * 512;
        let config = of(vec![job]);
        let (mut one, mut same) = (config.build(volume, seed).unwrap(), config.build(volume, seed).unwrap());
        for _ in 0..300 {
            let request = one[0].next().unwrap();
            prop_assert_eq!(Some(request), same[0].next());
            let footprint = one[0].footprint();
            prop_assert!(request.offset >= footprint.start && request.end() <= footprint.end && request.len > 0);
            prop_assert!(request.offset.is_multiple_of(512) && request.len.is_multiple_of(512));
        }
    }
}
