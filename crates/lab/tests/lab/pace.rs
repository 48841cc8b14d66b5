//! Writers beside cleaning that keeps pace with them, in SWAN's front-end and in one log.

use cygnus_lab::{Outcome, Scenario, run};

/// Nine drives, as SWAN has them and as one log has; and fifteen.
const SWAN: &str = "preset = \"swan\"\ngroups = 3\nraid = \"2+1\"";
const WIDE_SWAN: &str = "preset = \"swan\"\ngroups = 3\nraid = \"4+1\"";
const LOG: &str = "preset = \"log-raid\"\nraid = \"8+1\"";

/// The same, where writes are answered when drives have them.
const SWAN_WITH_COPIES: &str = "preset = \"swan\"\ngroups = 3\nraid = \"2+1\"\nprotection = \"two-phase\"";
const LOG_WITH_COPIES: &str = "preset = \"log-raid\"\nraid = \"8+1\"\nprotection = \"two-phase\"";

/// Reads, and writes at so many MB/s, in an array of small drives that is this full; both shares in percent. Of the volume this is said too.
fn load(array: &str, volume: &str, full: u32, reads: u32, writes: u32) -> Outcome {
    let rate = writes * 100 / (100 - reads);
    let text = format!(
        "name = \"half-load\"\n\
         [devices]\npreset = \"850-pro\"\nscale = 512\noverride.ssd.cache = {{ bytes = \"768KiB\" }}\n\
         override.ssd.flash = {{ pages_per_block = 8, t_erase = \"125us\" }}\n\
         [[array]]\n{array}\nsegment = \"512KiB\"\nover-provision = 5\n\
         [volume]\nsize = \"{full}% of data\"\n{volume}\
         [aging]\nfill = \"100%\"\noverwrite = 1.0\noverwrite-block = \"16KiB\"\n\
         [[workload.fio]]\nname = \"mixed\"\nblock-size = \"16KiB\"\nread = {reads}\n\
         rate = {{ bandwidth = \"{rate}MB\", arrivals = \"poisson\" }}\ndepth = 256\n\
         [run]\nduration = \"2500ms\"\nramp = \"500ms\"\nsample = \"500ms\"\n"
    );
    let scenario = Scenario::parse("half-load.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// At half of what a front-end takes and at four fifths. In virtual time: it is the same on every machine.
#[test]
fn writers_are_not_held_while_cleaning_keeps_pace() {
    let half = [(SWAN, 45, 30), (SWAN, 60, 30), (SWAN, 60, 70), (LOG, 60, 30), (LOG, 60, 70)];
    let half = half.map(|(array, full, reads)| (array, full, reads, 394, 1_000));
    // What remains to be cleaned when the turn of a group begins was once due at once there, and writers were held for 4 ms.
    let more = [(SWAN, 45, 30, 630, 200), (SWAN, 60, 30, 630, 200)];
    for (array, full, reads, writes, longest_us) in half.into_iter().chain(more) {
        let outcome = load(array, "", full, reads, writes);
        assert!(
            (outcome.rotations > 20 || array == LOG) && outcome.victims > 300,
            "it cleans: {} victims",
            outcome.victims
        );
        let written = outcome.latency.iter().find(|row| row.kind == "write").expect("it wrote");
        assert!(written.count > 40_000, "{}", written.count);
        assert!(
            written.p999_ns < longest_us * 1_000,
            "{array}, {full} % full, {reads} % reads, {writes} MB/s: {} us for 99.9 % of writes",
            written.p999_ns / 1000
        );
    }
}

/// A front-end that is passed over, since what is emptied in it has not been given back yet, is still the next. Were it the last, turns would go
/// backwards from then on: cleaning would be at work where clients have only just been, and could not keep pace.
#[test]
fn turns_go_one_way() {
    let outcome = load(WIDE_SWAN, "", 60, 30, 1281);
    assert!(outcome.rotations > 20 && outcome.victims > 1000, "it cleans: {} victims", outcome.victims);
    let writes = outcome.latency.iter().find(|row| row.kind == "write").expect("it wrote");
    assert!(writes.p999_ns < 1_000_000, "{} us for 99.9 % of writes", writes.p999_ns / 1000);
}

/// A segment that clients have begun in the last front-end is filled before that group is cleaned beside the next one; by itself it is cleaned
/// with as little haste as possible until then. So it is whether clients read or not.
#[test]
fn what_clients_write_waits_behind_no_cleaning() {
    for reads in [0, 30] {
        let outcome = load(SWAN_WITH_COPIES, "ack = \"written\"\n", 60, reads, 197);
        assert!(outcome.rotations > 5 && outcome.victims > 300, "it cleans: {} victims", outcome.victims);
        let writes = outcome.latency.iter().find(|row| row.kind == "write").expect("it wrote");
        assert!(writes.count > 20_000, "{}", writes.count);
        assert!(writes.p9999_ns < 1_200_000, "{} us for 99.99 % of writes", writes.p9999_ns / 1000);
    }
}

/// In one log clients and cleaning have the same drives. Cleaning goes as fast as it must, and copies go to all members: neither do drives
/// have eight victims' blocks before those of clients, nor do stripes end early for want of room on one member.
#[test]
fn one_log_is_cleaned_no_faster_than_it_is_written() {
    let outcome = load(LOG_WITH_COPIES, "ack = \"written\"\n", 60, 30, 197);
    assert!(outcome.victims > 200, "it cleans: {} victims", outcome.victims);
    let of = |kind: &str| outcome.latency.iter().find(|row| row.kind == kind).expect("there are some");
    assert!(of("write").p999_ns < 2_000_000, "{} us for 99.9 % of writes", of("write").p999_ns / 1000);
    assert!(of("read").p999_ns < 1_300_000, "{} us for 99.9 % of reads", of("read").p999_ns / 1000);
    assert!(outcome.array_write_amplification_milli.is_some_and(|milli| milli < 4000), "{outcome:?}");
}
