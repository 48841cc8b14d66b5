//! When clients are answered, and how they come to their end.

use cygnus_lab::{Outcome, Scenario, run};

#[test]
fn a_flush_that_waits_past_the_end_keeps_nobody() {
    // Wherever the end falls between two flushes, for some of these durations one waits for the writes before it.
    for duration in (20..40).map(|n| format!("{}us", 50 * n)) {
        let text = format!(
            r#"name = "flushes"
[devices]
preset = "850-pro"
scale = 32
[[array]]
preset = "raid5"
drives = 3
[[workload.fio]]
depth = 16
flush-every = 16
[run]
duration = "{duration}"
sample = "1ms"
"#
        );
        let scenario = Scenario::parse("flushes.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{duration}: {error}"));
        assert!(outcome.latency.iter().any(|row| row.kind == "flush" && row.count > 0), "{duration}: {outcome:?}");
    }
}

#[test]
fn a_write_is_answered_when_its_volume_says() {
    let [memory, written, durable] = ["memory", "written", "durable"].map(|ack| {
        let text = format!(
            "name = \"ack\"\n[devices]\npreset = \"scalaafa-femu\"\nscale = 4\n\
             [[array]]\npreset = \"fusion\"\nraid = \"2+1\"\nsegment = \"1MiB\"\n\
             [volume]\nsize = \"256MiB\"\nack = \"{ack}\"\n[[workload.fio]]\n[cpu]\n\
             [run]\nduration = \"5ms\"\nsample = \"1ms\"\n"
        );
        let scenario = Scenario::parse("ack.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        outcome.latency.iter().find(|row| row.kind == "write").map_or(0, |row| row.p50_ns)
    });
    // A command of these drives takes some 10 us, and what is durable has been programmed for 77 us.
    assert!(memory < 5_000 && written > 10_000 && durable > 77_000, "{memory}, {written}, {durable} ns");
}

/// An object server on one drive, for so long.
fn objects(duration: &str) -> Outcome {
    let text = format!(
        "name = \"objects\"\n[devices]\npreset = \"850-pro\"\nscale = 32\n[[array]]\npreset = \"raid0\"\ndrives = 1\n\
         [workload.objects]\nsize = \"128KiB\"\nobjects = 200\nwriters = 4\nlog = \"1MiB\"\n\
         [run]\nduration = \"{duration}\"\nsample = \"100ms\"\n"
    );
    let scenario = Scenario::parse("objects.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn phases_follow_one_another_and_operations_are_counted_whole() {
    let outcome = objects("10s");
    let counted: Vec<_> = outcome.operations.iter().map(|row| (row.client.as_str(), row.count)).collect();
    assert_eq!(counted, [("put", 200), ("update", 200), ("get", 200)]);
    let spans: u64 = outcome.operations.iter().map(|row| row.span_ns).sum();
    let makespan = outcome.makespan_ns.expect("all clients came to their end");
    assert!(spans <= makespan, "phases that overlap: {spans} of {makespan} ns");
    // An operation of a writer takes as long as its two writes and two flushes do.
    let requests = outcome.latency.iter().filter(|row| row.client == "put" && row.job_name != "behind");
    let all: u64 = requests.map(|row| row.mean_ns * row.count).sum();
    let puts = &outcome.operations[0];
    assert!(puts.mean_ns * puts.count >= all / 100 * 99, "{all} ns of requests, {puts:?}");
    assert!(puts.p25_ns <= puts.p50_ns && puts.p50_ns <= puts.p75_ns && puts.p75_ns <= puts.max_ns);
}

#[test]
fn phases_that_time_does_not_suffice_for_are_not_begun() {
    let outcome = objects("100ms");
    let counted: Vec<_> = outcome.operations.iter().map(|row| row.client.as_str()).collect();
    assert!(counted == ["put"] && outcome.makespan_ns.is_none(), "{:?}", outcome.operations);
}

/// Two volumes of a log, the second with pages, and jobs in both; what went wrong if it did.
fn two_volumes(volumes: &str) -> Result<Outcome, String> {
    let text = format!(
        "name = \"two\"\n[devices]\npreset = \"850-pro\"\nscale = 32\n\
         [[array]]\npreset = \"salsa\"\nraid = \"2+1\"\nsegment = \"1MiB\"\nstreams = \"volume\"\n{volumes}\
         [aging]\nfill = \"100%\"\n[[workload.fio]]\nname = \"first\"\nsize = \"64MiB\"\n\
         [[workload.fio]]\nname = \"second\"\noffset = \"64MiB\"\nblock-size = \"64KiB\"\nread = 50\n\
         [workload.objects]\nsize = \"128KiB\"\noffset = \"64MiB\"\nobjects = 20\ngroups = 2\nlog = \"1MiB\"\n\
         [run]\nduration = \"50ms\"\nsample = \"10ms\"\n"
    );
    let scenario = Scenario::parse("two.toml", &text).map_err(|error| error.to_string())?;
    run(&scenario, 0, 1, |_| {}).map_err(|error| error.to_string())
}

#[test]
fn volumes_lie_one_behind_the_other_and_have_keys_of_their_own() {
    let volumes = |pages: &str| format!("[volume]\nsize = \"64MiB\"\n[[volume.next]]\nsize = \"64MiB\"\n{pages}");
    let [by_block, by_page] = ["", "page = \"64KiB\"\n"].map(|pages| two_volumes(&volumes(pages)).unwrap());
    assert_eq!(by_block.volume_bytes, 128 << 20);
    for name in ["first", "second", "put"] {
        assert!(by_page.latency.iter().any(|row| row.client == name && row.count > 0), "{name}");
    }
    assert!(by_page.map_bytes < by_block.map_bytes, "{} and {}", by_page.map_bytes, by_block.map_bytes);
}

#[test]
fn volumes_that_make_no_sense_are_refused() {
    let refused = |volumes: &str| two_volumes(volumes).unwrap_err();
    let nested =
        "[volume]\nsize = \"64MiB\"\n[[volume.next]]\nsize = \"32MiB\"\n[[volume.next.next]]\nsize = \"32MiB\"\n";
    assert!(refused(nested).contains("side by side"), "{}", refused(nested));
    let page = "[volume]\nsize = \"64MiB\"\n[[volume.next]]\nsize = \"64MiB\"\npage = \"12KiB\"\n";
    assert!(refused(page).contains("two.toml:"), "{}", refused(page));
    let large = "[volume]\nsize = \"64MiB\"\n[[volume.next]]\nsize = \"64GiB\"\n";
    assert!(refused(large).contains("2 volumes"), "{}", refused(large));
    let across = "[volume]\nsize = \"32MiB\"\n[[volume.next]]\nsize = \"96MiB\"\n";
    assert!(two_volumes(across).is_ok(), "a job may be in several volumes");
}

#[test]
fn reads_of_what_nobody_wrote_go_on_for_ever() {
    // No device is busy and no core is modelled: a turn in a hundred nanoseconds, more than a million of them.
    let text = "name = \"blank\"\n[devices]\npreset = \"null\"\ncapacity = \"512MiB\"\n\
                [[array]]\npreset = \"log-raid\"\nraid = \"2+1\"\nsegment = \"1MiB\"\n[volume]\nsize = \"256MiB\"\n\
                [[workload.fio]]\nread = 100\n[run]\nduration = \"110ms\"\nsample = \"50ms\"\n";
    let scenario = Scenario::parse("blank.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.requests > 1_000_000, "{}", outcome.requests);
}

#[test]
fn a_ramp_and_a_duration_of_a_client_are_not_in_its_rate() {
    let played = |times: &str, run_for: &str| {
        let text = format!(
            "name = \"own\"\n[devices]\npreset = \"null\"\ncapacity = \"512MiB\"\n[[array]]\npreset = \"raid0\"\ndrives = 1\n\
             [volume]\nsize = \"256MiB\"\n[[workload.fio]]\nrate = {{ iops = 10000 }}\n{times}[run]\n{run_for}sample = \"10ms\"\n"
        );
        let scenario = Scenario::parse("own.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
    };
    let own = played("ramp = \"20ms\"\nduration = \"60ms\"\n", "duration = \"200ms\"\n");
    let whole = played("", "duration = \"60ms\"\nramp = \"20ms\"\n");
    assert_eq!((own.measured_ns, own.requests), (40_000_000, 400));
    assert_eq!(own.write_bytes_per_second, whole.write_bytes_per_second);
    assert_eq!(own.throughput_variation_milli, whole.throughput_variation_milli);
}

#[test]
fn an_answer_to_what_began_within_the_ramp_is_nothing_measured() {
    let text = "name = \"one\"\n[devices]\npreset = \"hdd\"\ncapacity = \"64GiB\"\n[[array]]\npreset = \"raid0\"\ndrives = 1\n\
                [volume]\nsize = \"64MiB\"\n[[workload.fio]]\nrequests = 1\n[run]\nduration = \"20ms\"\nramp = \"1us\"\nsample = \"10ms\"\n";
    let scenario = Scenario::parse("one.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        outcome.makespan_ns.is_some_and(|span| span > 1000),
        "{:?}: it is answered after the ramp",
        outcome.makespan_ns
    );
    assert_eq!((outcome.requests, outcome.measured_ns, outcome.write_bytes_per_second), (0, 0, None));
    assert!(outcome.remarks[0].starts_with("no client was active after the ramp of 1.00 us"), "{:?}", outcome.remarks);
}

#[test]
fn an_array_that_cannot_keep_the_rate_is_as_fast_as_it_is() {
    let played = |rate: &str| {
        let text = format!(
            "name = \"late\"\n[devices]\npreset = \"null\"\ncapacity = \"512MiB\"\n[[array]]\npreset = \"raid0\"\ndrives = 1\n\
             [volume]\nsize = \"256MiB\"\n[[workload.fio]]\nname = \"c\"\ndepth = 4\n{rate}[run]\nduration = \"100ms\"\nramp = \"50ms\"\n\
             sample = \"10ms\"\n"
        );
        let scenario = Scenario::parse("late.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
    };
    let (late, closed, kept) = (played("rate = { iops = 1000000 }\n"), played(""), played("rate = { iops = 1000 }\n"));
    let [late_rate, closed_rate] =
        [&late, &closed].map(|outcome| outcome.write_bytes_per_second.expect("it was measured"));
    assert!(
        late_rate.abs_diff(closed_rate) < closed_rate / 50,
        "{late_rate} and {closed_rate}: both have four under way"
    );
    let sampled: u64 =
        late.samples.iter().filter(|sample| sample.at_ns > 55_000_000).map(|sample| sample.writes[0]).sum();
    assert!(late.requests.abs_diff(sampled) <= 8, "{} and {sampled}: but for what is under way", late.requests);
    assert!(late.remarks.len() == 1 && late.remarks[0].starts_with("c: the rate was not kept"), "{:?}", late.remarks);
    assert!(closed.remarks.is_empty() && kept.remarks.is_empty(), "{:?}, {:?}", closed.remarks, kept.remarks);
    assert_eq!(kept.requests, 50);
}

/// Writes that are answered from memory, or by a drive, on one modelled core; with what the run says of time.
fn on_a_core(array: &str, job: &str, network: &str) -> Outcome {
    let text = format!(
        "name = \"core\"\n[devices]\npreset = \"null\"\ncapacity = \"1GiB\"\n[[array]]\n{array}[volume]\nsize = \"512MiB\"\n\
         [[workload.fio]]\n{job}[cpu]\n{network}[run]\nduration = \"40ms\"\nramp = \"10ms\"\nsample = \"10ms\"\n"
    );
    let scenario = Scenario::parse("core.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// Requests under way on average, by Little's law.
fn under_way(outcome: &Outcome) -> f64 {
    let all: u64 = outcome.latency.iter().map(|row| row.mean_ns * row.count).sum();
    all as f64 / outcome.measured_ns as f64
}

#[test]
fn as_many_requests_are_under_way_as_the_depth_says() {
    const LOG: &str = "preset = \"log-raid\"\nraid = \"4+1\"\nsegment = \"4MiB\"\n";
    const PLAIN: &str = "preset = \"raid0\"\ndrives = 4\n";
    for (array, depth) in [(LOG, 1), (LOG, 32), (PLAIN, 1), (PLAIN, 32)] {
        for mix in ["", "read = 50\n", "flush-every = 64\n"] {
            let outcome = on_a_core(array, &format!("depth = {depth}\n{mix}"), "");
            let (found, depth) = (under_way(&outcome), f64::from(depth));
            // A core's turn is nobody's request, and behind a flush none is issued.
            let least = if mix.starts_with("flush") { 0.85 } else { 0.85 * depth };
            assert!((least..depth * 1.01).contains(&found), "{found} of {depth}, {mix:?} {array:?}");
        }
    }
    // The same over a network that takes no time.
    let (near, far) = (
        on_a_core(LOG, "depth = 32\n", ""),
        on_a_core(LOG, "depth = 32\n", "[network]\nrate = \"100GB\"\nlatency = \"0us\"\n"),
    );
    let [near, far] = [&near, &far].map(|outcome| outcome.latency[0].mean_ns);
    assert!(near.abs_diff(far) < far / 10, "{near} and {far} ns");
    // What a turn of the core began after the end is not counted, however many there are.
    let [few, many] = [1, 4096].map(|depth| on_a_core(LOG, &format!("depth = {depth}\n"), "").requests);
    assert!(many < few / 100 * 112, "{many} and {few}");
}
