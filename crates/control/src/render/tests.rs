//! What people get to read, as whole pages.

use super::*;
use crate::ack::Ack;
use crate::media::{HybridOn, Media, MediumName};
use crate::paging::Pages;
use crate::scrub::{LossStatus, ScrubStatus};
use crate::shortage::ShortageStatus;
use crate::status::*;
use cygnus_types::{Acknowledged, Medium, Tiers};

fn device(index: u32, state: DeviceState) -> DeviceStatus {
    DeviceStatus {
        trouble: None,
        slow_to_answer_millis: None,
        capabilities: None,
        zones: None,
        index,
        group: index / 3,
        path: format!("/srv/d{index}"),
        state,
        successor: None,
        size_bytes: if state == DeviceState::Missing { 0 } else { 1 << 30 },
        io: DeviceCounters { read_bytes: 3 << 20, written_bytes: 5 << 20, ..Default::default() },
        rates: DeviceRates { read: 1e6, cleaning_read: 11e6, written: 40e6 },
        pace: None,
        lifetime: LifetimeErrors::default(),
        suspect: None,
    }
}

fn group(index: u32, role: GroupRole, missing_devices: u32) -> GroupStatus {
    GroupStatus {
        index,
        segments: 121,
        capacity_bytes: 2 << 30,
        data_columns: 2,
        parity_columns: 1,
        missing_devices,
        medium: Some(MediumName(Medium::Flash)),
        activity: Some(GroupActivity {
            role,
            free_segments: 100,
            open_segments: 1,
            sealed_segments: 20,
            damaged_segments: 0,
            live_bytes: 40 << 20,
        }),
    }
}

pub(crate) fn tank(missing: &[u32]) -> ArrayStatus {
    let state_of = |index| if missing.contains(&index) { DeviceState::Missing } else { DeviceState::Online };
    let lost = |g: u32| missing.iter().filter(|&&index| index / 3 == g).count() as u32;
    ArrayStatus {
        name: "tank".into(),
        uuid: "01234567-89ab-cdef-0123-456789abcdef".into(),
        preset: "swan".into(),
        cleaning: Some("circular".into()),
        streams: None,
        in_use_by: None,
        served: true,
        state: if missing.is_empty() { ArrayState::Healthy } else { ArrayState::Degraded },
        data_columns: 2,
        parity_columns: 1,
        segment_bytes: 8 << 20,
        transient_bytes: None,
        protection: None,
        copies: None,
        parity_buffer: None,
        parity_inside: None,
        capacity_bytes: Some(4 << 30),
        live_bytes: Some(80 << 20),
        media: Vec::new(),
        writes: Some(WriteCounters {
            client_bytes: 400 << 20,
            cleaned_bytes: 100 << 20,
            device_bytes: 800 << 20,
            fell_back_bytes: 0,
            promoted_bytes: 0,
            demoted_bytes: 0,
            reads_without_room: 0,
            victims: 48,
            helped_victims: 31,
        }),
        clean: true,
        repairs: None,
        losses: LossStatus::default(),
        patience: None,
        fault: None,
        clogged_segments: None,
        shortage: None,
        oddities: Vec::new(),
        suspended: None,
        recovery: Some(RecoveryStatus {
            clean_stop: true,
            steps: vec![RecoveryStep { name: "superblock".into(), micros: 1500 }],
            ..Default::default()
        }),
        listening: vec!["nbd://127.0.0.1:10809".into()],
        groups: vec![group(0, GroupRole::FrontEnd, lost(0)), group(1, GroupRole::Cleaning, lost(1))],
        spares: Vec::new(),
        devices: (0..6).map(|index| device(index, state_of(index))).collect(),
        volumes: vec![VolumeStatus {
            name: "vol0".into(),
            id: 1,
            size_bytes: 4 << 30,
            used_bytes: Some(80 << 20),
            connections: 2,
            ack: Ack(Acknowledged::Written),
            media: Media::Any,
            fast_bytes: None,
            pages: None,
            own_entries_bytes: None,
            lost_blocks: 0,
            in_doubt: false,
            unreadable_bytes: None,
        }],
        scrub: ScrubStatus { last_unix: Some(1_800_000_000), age_seconds: Some(7500), report: None },
        in_place: None,
        kept: Some(KeptStatus { place: "/dev/shm/cygnus-01".into(), bytes: 8 << 20, short: false, removed: false }),
        autonomics: None,
        memory: None,
        clients: None,
        jobs: Vec::new(),
    }
}

#[test]
fn what_is_awaited_is_not_said_to_be_there() {
    let mut status = tank(&[]);
    status.state = ArrayState::Suspended;
    let text = array(&status, Paint::Plain);
    assert!(text.starts_with("tank: suspended") && !text.contains("can lose"), "{text}");
}

#[test]
fn blocks_that_are_lost_are_told_of() {
    let volume = VolumeStatus {
        name: "vol0".into(),
        id: 1,
        size_bytes: 4 << 30,
        used_bytes: None,
        connections: 0,
        ack: Ack::default(),
        media: Media::Any,
        fast_bytes: None,
        pages: None,
        own_entries_bytes: None,
        lost_blocks: 3,
        in_doubt: false,
        unreadable_bytes: None,
    };
    assert!(!volumes("tank", &[VolumeStatus { lost_blocks: 0, ..volume.clone() }], Paint::Plain).contains("lost"));
    let text = volumes("tank", &[volume], Paint::Plain);
    assert!(text.contains("tank/vol0 has lost 3 blocks with the caches of devices"), "{text}");
}

#[test]
fn what_is_done_about_contention_is_told_with_its_reasons() {
    let link = LinkStatus {
        name: "nic0".into(),
        contended: true,
        contended_percent: 63,
        members: vec!["/dev/a".into(), "/dev/b".into()],
        moved_here: 3,
    };
    let avoided = AvoidedStatus { member: "/dev/a".into(), why: "its link is contended".into() };
    let autonomics = AutonomicsStatus {
        links: vec![link],
        avoided: vec![avoided],
        on_links: OutcomeStatus { to_other_links: 12, over_budget: 7, ..OutcomeStatus::default() },
        on_late: OutcomeStatus { nowhere_cold: 5, no_sibling: 6, ..OutcomeStatus::default() },
        on_full: OutcomeStatus { to_other_links: 1, to_siblings: 2, ..OutcomeStatus::default() },
        read_to_move: 19,
        too_many: 4,
        read_around: 40,
        budget_percent: 34,
        budget_left: 1,
        most_written_percent: Some(107),
        ..AutonomicsStatus::default()
    };
    let text = array(&ArrayStatus { autonomics: Some(autonomics), ..tank(&[]) }, Paint::Plain);
    let expect = "\
  contention 15 blocks moved out of its way
             blocks on contended links: 12 moved behind other links, 7 stayed, for the budget is spent
             blocks on members with more to do than the promised time allows: 5 stayed, for no other link is free enough and takes \
them, 6 stayed, for no member behind the same link has much less to do
             blocks on members that fill a full queue: 1 moved behind other links, 2 moved to members behind the same link
             blocks that were to move and stayed: 4 for as many were being read for their move as may be
             19 blocks read once more for their move (naive migration), from where others are in the way
             40 blocks read around it
             budget: 34 for each 100 written, or 0 a day if that is more; 1 block saved up
             wear: the member that was written most was written 1.07 times the mean
             link nic0 is contended (63 of 100 requests met others, 3 blocks moved here): /dev/a, /dev/b
             new writes avoid the group of /dev/a: its link is contended
";
    assert!(text.contains(expect), "{text}");
}

#[test]
fn a_healthy_array_reads_like_this() {
    let expect = "\
tank: healthy, served; swan, 2 R-groups of 2+1
  uuid       01234567-89ab-cdef-0123-456789abcdef
  space      4 GiB usable, 80 MiB of it live; volumes promise 4 GiB
  segment    8 MiB on each member; cleaned by rule circular
  written    400 MiB by clients, 100 MiB moved by cleaning: write amplification 1.25
             31 of 48 segments emptied by other cores than the first
             800 MiB to members, parity, headers and copies included: 2.00 bytes for each byte of clients
  scrubbed   2 h 5 min ago
  if killed  all that was acknowledged is in /dev/shm/cygnus-01 (8 MiB) or on the members
  ack        written: only members that lose power take what no flush has covered
  nbd        nbd://127.0.0.1:10809
  opened     after a clean stop, in 1.5 ms

R-GROUP  ROLE       SEGMENTS  FREE  OPEN  SEALED    LIVE     OF
      0  front-end       121   100     1      20  40 MiB  2 GiB
      1  cleaning        121   100     1      20  40 MiB  2 GiB

MEMBER  R-GROUP  STATE    SIZE   READ  WRITTEN  READING  WRITING  P99  LATE AT  ERRORS  PATH
     0        0  online  1 GiB  3 MiB    5 MiB  12 MB/s  40 MB/s    -        -       0  /srv/d0
     1        0  online  1 GiB  3 MiB    5 MiB  12 MB/s  40 MB/s    -        -       0  /srv/d1
     2        0  online  1 GiB  3 MiB    5 MiB  12 MB/s  40 MB/s    -        -       0  /srv/d2
     3        1  online  1 GiB  3 MiB    5 MiB  12 MB/s  40 MB/s    -        -       0  /srv/d3
     4        1  online  1 GiB  3 MiB    5 MiB  12 MB/s  40 MB/s    -        -       0  /srv/d4
     5        1  online  1 GiB  3 MiB    5 MiB  12 MB/s  40 MB/s    -        -       0  /srv/d5

VOLUME      SIZE    USED  CLIENTS  ACK
tank/vol0  4 GiB  80 MiB        2  written
";
    assert_eq!(array(&tank(&[]), Paint::Plain), expect);
}

#[test]
fn a_killed_server_is_said_to_lose_only_what_it_would() {
    let mut status = tank(&[]);
    let removed = KeptStatus { removed: true, ..status.kept.take().unwrap() };
    for kept in [None, Some(removed)] {
        status.kept = kept;
        for (level, expected) in [
            (Acknowledged::Memory, "volumes at level memory have acknowledged and no flush has covered is lost"),
            (Acknowledged::Written, "nothing that was acknowledged is lost: it is on the members"),
            (Acknowledged::Durable, "nothing that was acknowledged is lost: it is on the members"),
        ] {
            status.volumes[0].ack = Ack(level);
            let text = array(&status, Paint::Plain);
            assert!(text.contains(expected), "{text}");
            // Memory that outlasts the process is not promised beside it.
            assert_eq!(
                text.contains(&format!("{level}: {}", level.may_lose())),
                level != Acknowledged::Memory,
                "{text}"
            );
        }
        assert_eq!(text_of_memory(&mut status).contains("/dev/shm/cygnus-01 was removed"), status.kept.is_some());
    }
    status.kept = tank(&[]).kept;
    let text = text_of_memory(&mut status);
    assert!(text.contains(&format!("memory: {}", Acknowledged::Memory.may_lose())), "{text}");
}

fn text_of_memory(status: &mut ArrayStatus) -> String {
    status.volumes[0].ack = Ack(Acknowledged::Memory);
    array(status, Paint::Plain)
}

#[test]
fn a_degraded_array_names_the_device_and_the_remedy() {
    let mut status = tank(&[4]);
    status.served = false;
    let text = array(&status, Paint::Plain);
    assert!(text.contains(
        "Member 4 of R-group 1, last seen at /srv/d4, is missing: bring it back, run 'cygnus array scan' on the place where it is now"
    ));
    assert!(text.contains("R-group 1 has no redundancy left"));
    // Where nobody can serve it nobody can replace a member.
    let mut status = tank(&[3, 4]);
    (status.served, status.state) = (false, ArrayState::Failed);
    let text = array(&status, Paint::Plain);
    assert!(text.contains("is missing: bring it back") && !text.contains("array replace"), "{text}");
    assert!(text.contains("'cygnus array salvage tank/VOLUME FILE' copies what can be read"), "{text}");
}

#[test]
fn a_served_array_says_that_it_looks_for_a_missing_member_and_what_it_found() {
    let mut status = tank(&[4]);
    assert!(array(&status, Paint::Plain).contains(
        "Member 4 of R-group 1, last seen at /srv/d4, is missing: it is looked for there, and when it is back it takes part \
         again by itself"
    ));
    status.devices[4].trouble = Some("there is nothing at its path".into());
    assert!(array(&status, Paint::Plain).contains("is missing (there is nothing at its path): it is looked for there"));
}

#[test]
fn a_member_whose_place_nobody_remembers_is_looked_for_nowhere() {
    for served in [false, true] {
        let mut status = tank(&[4]);
        status.served = served;
        status.devices[4].path = crate::status::PLACE_UNKNOWN.into();
        let text = array(&status, Paint::Plain);
        assert!(
            text.contains(
                "Member 4 of R-group 1 is missing, and nobody remembers where it was: run 'cygnus array scan"
            ),
            "{text}"
        );
        assert!(!text.contains("last seen at unknown") && !text.contains("looked for there"), "{text}");
    }
}

#[test]
fn an_array_beyond_its_parity_says_that_it_cannot_open() {
    let mut status = tank(&[3, 4]);
    status.state = ArrayState::Failed;
    assert!(complaints(&status).iter().any(|s| s.contains("lacks 2 of its members and its parity covers 1")));
}

#[test]
fn errors_of_an_online_device_are_told() {
    let mut status = tank(&[]);
    status.devices[2].io = DeviceCounters { checksum_errors: 3, ..Default::default() };
    status.repairs = Some(RepairCounters { reconstructed: 3, repaired: 2, unreadable: 1 });
    status.losses = LossStatus { found_blocks: 0, failed_reads: 1 };
    assert_eq!(complaints(&status).len(), 2);
    assert!(array(&status, Paint::Plain).contains("3 blocks read by way of parity, 2 written anew"));
    assert!(complaints(&status)[1].starts_with("A block was asked for and could not be read in any way, 1 time: "));
    assert!(complaints(&status)[0].starts_with("/srv/d2: 0 failed I/Os, 3 blocks were not what had been written"));
}

#[test]
fn a_suspect_device_is_to_be_replaced() {
    let mut status = tank(&[]);
    status.devices[4].suspect = Some("70 of its blocks were unreadable or wrong".into());
    let sentences = complaints(&status);
    assert_eq!(sentences.len(), 1);
    assert!(sentences[0].starts_with("/srv/d4 is suspect: 70 of its blocks"), "{sentences:?}");
    assert!(sentences[0].contains("cygnus array drain tank /srv/d4"), "{sentences:?}");
}

#[test]
fn a_device_that_is_being_drained_is_no_news_any_more() {
    let mut status = tank(&[]);
    status.devices[4].suspect = Some("70 of its blocks were unreadable or wrong".into());
    status.devices[4].successor = Some("/srv/s1".into());
    let sentences = complaints(&status);
    assert_eq!(sentences, ["/srv/s1 is being filled to take over from /srv/d4, which stays in service until then."]);
    assert!(array(&status, Paint::Plain).lines().any(|line| line.contains("draining") && line.ends_with("/srv/d4")));
}

#[test]
fn a_faulted_array_says_why() {
    let mut status = tank(&[]);
    (status.state, status.fault) = (ArrayState::ReadOnly, Some("/srv/d1 and /srv/d2 failed".into()));
    assert_eq!(complaints(&status), ["It takes no writes any more: /srv/d1 and /srv/d2 failed"]);
}

#[test]
fn a_clogged_array_says_what_gives_room() {
    let mut status = tank(&[]);
    status.clogged_segments = Some(3);
    let sentences = complaints(&status);
    assert!(
        sentences[0].starts_with("There is no room for writes: blocks that cannot be read keep 3 segments."),
        "{sentences:?}"
    );
    assert_eq!(status.condition(), Condition::Unavailable);
}

#[test]
fn a_spare_that_is_not_there_is_missed_while_the_array_is_served() {
    let mut status = tank(&[]);
    status.spares = vec![SpareStatus { uuid: "u-1".into(), path: None, size_bytes: 1 << 30 }];
    let told = "A spare of 1 GiB is not there: when it is back, 'cygnus array spare add tank DEVICE' takes it again; \
                'cygnus array spare remove tank u-1' forgets it.";
    assert_eq!((complaints(&status), status.condition()), (vec![told.to_owned()], Condition::Attention));
    status.spares[0].path = Some("/srv/sp".into());
    assert_eq!((complaints(&status), status.condition()), (Vec::new(), Condition::Well));
}

#[test]
fn writes_that_wait_for_a_segment_are_told_with_a_remedy() {
    let mut status = tank(&[]);
    status.shortage = Some(ShortageStatus {
        medium: MediumName(Medium::Flash),
        for_millis: 12_400,
        free_segments: 2,
        emptied_segments: 7,
        damaged_segments: 0,
        remedy: "look for a member that is slow to flush".into(),
    });
    let told = "Clients' writes have waited for a segment on flash for 12 s (free and kept for cleaning: 2, emptied: 7, damaged: 0). \
                What may help: look for a member that is slow to flush.";
    assert_eq!((complaints(&status), status.condition()), (vec![told.to_owned()], Condition::Attention));
}

#[test]
fn a_stopped_array_shows_what_its_superblocks_tell() {
    let mut status = tank(&[]);
    (status.served, status.clean, status.recovery) = (false, false, None);
    (status.capacity_bytes, status.live_bytes, status.writes) = (None, None, None);
    status.groups.iter_mut().for_each(|group| group.activity = None);
    status.volumes[0].used_bytes = None;
    let text = array(&status, Paint::Plain);
    assert!(text.contains("tank: healthy, stopped"), "{text}");
    assert!(text.contains("not stopped cleanly: the next start recovers it"), "{text}");
    assert!(text.contains("\n      0  -          121     -     -       -     -  2 GiB\n"), "{text}");
    let json = serde_json::to_string(&status).unwrap();
    assert!(!json.contains("role") && !json.contains("null"), "{json}");
    assert_eq!(serde_json::from_str::<ArrayStatus>(&json).unwrap(), status);
}

#[test]
fn an_array_without_volumes_says_how_to_make_one() {
    assert_eq!(volumes("tank", &[], Paint::Plain), "No volumes yet: cygnus volume create tank/NAME --size SIZE\n");
}

#[test]
fn status_survives_json() {
    let status = tank(&[4]);
    let text = serde_json::to_string(&status).unwrap();
    assert!(text.contains("\"state\":\"degraded\"") && text.contains("\"role\":\"front-end\""));
    assert_eq!(serde_json::from_str::<ArrayStatus>(&text).unwrap(), status);
}

#[test]
fn jobs_read_like_this() {
    let running = JobStatus {
        id: 1,
        kind: "rebuild".into(),
        subject: "/srv/d4".into(),
        state: JobState::Running,
        why: None,
        done_bytes: 1 << 30,
        total_bytes: 4 << 30,
        elapsed_seconds: 10.0,
        rate: 107e6,
        eta_seconds: Some(30.0),
    };
    let failed = JobStatus {
        id: 2,
        state: JobState::Failed,
        why: Some("a write failed".into()),
        eta_seconds: None,
        ..running.clone()
    };
    let expect = "\
JOB  WHAT             STATE                    DONE     OF            RATE    TIME    LEFT
  1  rebuild /srv/d4  running                 1 GiB  4 GiB  25 %  107 MB/s  10.0 s  30.0 s
  2  rebuild /srv/d4  failed: a write failed  1 GiB  4 GiB  25 %  107 MB/s  10.0 s       -
";
    assert_eq!(jobs(&[running, failed], Paint::Plain), expect);
}

#[test]
fn a_member_that_is_slow_at_writing_is_named_with_its_peers() {
    let mut status = tank(&[]);
    let lag = Lag { p99_us: 41_000, peers_p99_us: 1_200 };
    status.devices[4].pace = Some(DevicePace { write_lag: Some(lag), ..DevicePace::default() });
    let sentences = complaints(&status);
    let expected = "/srv/d4 is slow at writing: p99 41.0 ms, its peers 1.20 ms. Its whole R-group waits for it; if that lasts, \
                    replace it.";
    assert!(sentences.iter().any(|sentence| sentence == expected), "{sentences:?}");
    status.devices[4].pace = Some(DevicePace { flush_lag: Some(lag), ..DevicePace::default() });
    assert!(complaints(&status).iter().any(|sentence| sentence.contains("is slow at flushing: p99 41.0 ms")));
}

#[test]
fn a_member_that_owes_an_answer_is_named_while_nothing_follows_yet() {
    let mut status = tank(&[]);
    status.devices[4].slow_to_answer_millis = Some(9_700);
    let expected = "/srv/d4 is slow to answer: a request has waited for 9 s.";
    assert!(complaints(&status).iter().any(|sentence| sentence == expected), "{:?}", complaints(&status));
    assert_eq!(status.condition(), Condition::Attention, "it may pass in a moment, and clients wait until then");
}

#[test]
fn a_slow_member_is_named_with_what_is_done_about_it() {
    let mut status = tank(&[]);
    let pace = DevicePace { slow: true, read_p99_us: 9_800, late_after_us: 260, ..DevicePace::default() };
    status.devices[4].pace = Some(pace);
    status.patience = Some(Patience { hung_after_millis: 30_000, hedged: 23, read_around: 1_200 });
    let page = array(&status, Paint::Plain);
    let has = |text: &str| assert!(page.contains(text), "{text:?} in\n{page}");
    has("/srv/d4 is slow: its blocks are read from the other members. If that lasts, replace it.");
    has(
        "  patience   a member that gives no answer for 30.0 s goes out of service; 23 blocks were late, 1200 read around",
    );
    has("  slow  ");
    has("9.80 ms   260 us");
}

#[test]
fn an_array_without_redundancy_says_so_first() {
    assert!(complaints(&tank(&[])).is_empty());
    let mut bare = tank(&[]);
    bare.groups[1].parity_columns = 0;
    assert!(complaints(&bare)[0].contains("any one device of R-group 1 loses"), "{:?}", complaints(&bare));
    bare.groups.iter_mut().for_each(|group| group.parity_columns = 0);
    assert!(
        complaints(&bare)[0].starts_with("NO REDUNDANCY: the loss of any one device loses"),
        "{:?}",
        complaints(&bare)
    );
}

#[test]
fn what_a_status_comes_to() {
    let is = |change: fn(&mut ArrayStatus), condition| {
        let mut status = tank(&[]);
        change(&mut status);
        assert_eq!(status.condition(), condition, "{status:?}");
    };
    is(|_| {}, Condition::Well);
    is(|status| status.state = ArrayState::Degraded, Condition::Attention);
    is(|status| status.state = ArrayState::Rebuilding, Condition::Attention);
    is(|status| status.state = ArrayState::ReadOnly, Condition::Unavailable);
    is(|status| status.state = ArrayState::Failed, Condition::Unavailable);
    is(|status| status.devices[1].suspect = Some("it is old".into()), Condition::Attention);
    is(|status| status.devices[1].pace = Some(DevicePace { slow: true, ..Default::default() }), Condition::Attention);
    let mut lags = tank(&[]);
    let write_lag = Some(Lag { p99_us: 50_000, peers_p99_us: 100 });
    lags.devices[1].pace = Some(DevicePace { write_lag, ..Default::default() });
    assert_eq!(lags.condition(), Condition::Well, "it is told, and may be of what was written long ago");
    is(|status| status.devices[1].slow_to_answer_millis = Some(3_000), Condition::Attention);
    is(|status| status.oddities.push("/srv/d1 was cut short".into()), Condition::Attention);
    is(|status| status.fault = Some("no member takes writes".into()), Condition::Unavailable);
    is(
        |status| status.repairs = Some(RepairCounters { reconstructed: 9, repaired: 9, unreadable: 0 }),
        Condition::Well,
    );
    is(|status| status.losses = LossStatus { found_blocks: 0, failed_reads: 1 }, Condition::Unavailable);
    is(|status| status.losses = LossStatus { found_blocks: 1, failed_reads: 0 }, Condition::Unavailable);
}

#[test]
fn a_volume_in_doubt_is_told_with_what_to_do() {
    let mut status = tank(&[]);
    assert_eq!(status.condition(), Condition::Well);
    status.volumes[0].in_doubt = true;
    status.volumes[0].unreadable_bytes = Some(3 << 30);
    let text = array(&status, Paint::Plain);
    assert!(text.contains("tank/vol0 is in doubt") && text.contains("3 GiB of it is not known to be whole"), "{text}");
    assert!(text.contains("written anew or discarded"), "{text}");
    assert_eq!(status.condition(), Condition::Unavailable);
    // When all of it has been written or discarded, that is over.
    status.volumes[0].unreadable_bytes = Some(0);
    assert!(!array(&status, Paint::Plain).contains("in doubt"));
    assert_eq!(status.condition(), Condition::Well);
}

#[test]
fn shapes_of_groups_are_told_where_they_differ() {
    let mut status = tank(&[]);
    let alike = array(&status, Paint::Plain);
    assert!(alike.contains("2 R-groups of 2+1\n") && !alike.contains("RAID"), "{alike}");
    (status.groups[1].data_columns, status.groups[1].parity_columns) = (6, 3);
    let text = array(&status, Paint::Plain);
    assert!(text.contains("1 R-group of 2+1, 1 R-group of 6+3\n"), "{text}");
    assert!(text.contains("R-GROUP  RAID"), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("1  6+3")), "{text}");
    // The one with least left is told of.
    status.state = ArrayState::Degraded;
    (status.groups[0].missing_devices, status.groups[1].missing_devices) = (1, 2);
    let said = complaints(&status);
    assert!(said.iter().any(|it| it.starts_with("R-group 0 has no redundancy left")), "{said:?}");
}

#[test]
fn media_are_told_where_there_are_several() {
    let mut status = tank(&[]);
    let plain = array(&status, Paint::Plain);
    assert!(!plain.contains("MEDIUM") && !plain.contains("flash") && !plain.contains("MEDIA"), "{plain}");
    let pool = array(&ArrayStatus { preset: "salsa".into(), ..status.clone() }, Paint::Plain);
    assert!(pool.contains("R-GROUP  MEDIUM"), "volumes can be bound there: {pool}");
    status.groups.iter_mut().for_each(|group| group.medium = Some(MediumName(Medium::Disk)));
    let disks = array(&status, Paint::Plain);
    assert!(disks.contains("MEDIUM") && disks.contains("disk") && !disks.contains("flash"), "{disks}");
    status.groups[0].medium = Some(MediumName(Medium::Flash));
    let on = |medium| MediumStatus { medium: MediumName(medium), capacity_bytes: 2 << 30, live_bytes: 1 << 30 };
    status.media = Medium::ALL.map(on).into();
    status.writes.as_mut().unwrap().fell_back_bytes = 8 << 20;
    status.writes.as_mut().unwrap().promoted_bytes = 5 << 20;
    status.writes.as_mut().unwrap().reads_without_room = 7;
    status.volumes[0].media = Media::Only(MediumName(Medium::Flash));
    let text = array(&status, Paint::Plain);
    assert!(text.contains("1 GiB live of 2 GiB on flash, 1 GiB live of 2 GiB on disk"), "{text}");
    assert!(text.contains("8 MiB written to another medium than their volume prefers"), "{text}");
    let moved = "hybrid volumes: 5 MiB moved to the faster medium, 0 B back; 7 reads left what the faster medium could not take at once";
    assert!(text.contains(moved), "{text}");
    assert!(text.lines().any(|line| line.contains("tank/vol0") && line.contains("only flash")), "{text}");
    let hybrid = Media::Hybrid(Some(HybridOn(Tiers::FLASH_AND_DISK)));
    (status.volumes[0].media, status.volumes[0].fast_bytes) = (hybrid, Some(3 << 20));
    assert!(array(&status, Paint::Plain).contains("hybrid flash/disk, 3 MiB on flash"), "{text}");
    assert!(text.lines().any(|line| line.contains("cleaning") && line.contains("disk")), "{text}");
}

#[test]
fn how_volumes_are_mapped_is_told_where_one_is_by_pages() {
    let mut status = tank(&[]);
    assert!(!array(&status, Paint::Plain).contains("PAGES"));
    let line = |status: &ArrayStatus| {
        let text = array(status, Paint::Plain);
        text.lines().find(|line| line.contains("tank/vol0")).unwrap().trim_end().to_owned()
    };
    let told = [
        (0, None, "64 KiB"),
        (0, Some(8192), "64 KiB, 8 KiB by 4 KiB"),
        (1 << 30, Some(4096), "64 KiB, 4 KiB of 1 GiB by 4 KiB"),
    ];
    for (fine_bytes, own, words) in told {
        status.volumes[0].pages = Some(Pages { page_bytes: 65536, fine_bytes });
        status.volumes[0].own_entries_bytes = own;
        assert!(line(&status).ends_with(words), "{}", line(&status));
    }
}

#[test]
fn members_with_zones_are_told() {
    let mut status = tank(&[]);
    assert!(!array(&status, Paint::Plain).contains("zones"));
    let zoned = |zone_bytes| {
        let class = "disk".into();
        Some(DeviceCapabilities { class, trims: true, converts: false, oob_bytes: 0, zone_bytes })
    };
    for (device, zone) in status.devices.iter_mut().zip([256 << 20, 256 << 20, 0, 64 << 20]) {
        device.capabilities = zoned(zone);
    }
    let text = array(&status, Paint::Plain);
    let (one, two) = (&status.devices[3].path, &status.devices[0].path);
    assert!(text.contains(&format!("zones      {one}: 16 zones of 64 MiB, written in order")), "{text}");
    assert!(text.contains(&format!("{two} and 1 other: 4 zones of 256 MiB, written in order")), "{text}");
    assert!(text.contains(&format!("'cygnus zoned show {two}' tells how far")), "{text}");

    assert!(!text.contains("unfinished stripes"), "it has no copies anywhere: {text}");
    status.transient_bytes = Some(1 << 20);
    let text = array(&status, Paint::Plain);
    assert!(text.contains("not in R-groups 0, 1, with members that are written in order"), "{text}");

    let counts = |partly_written, not_asked| Some(DeviceZones { empty: 1, partly_written, full: 1, not_asked });
    (status.devices[0].zones, status.devices[1].zones) = (counts(2, 0), counts(1, 0));
    status.devices[3].zones = counts(5, 9);
    let text = array(&status, Paint::Plain);
    assert!(text.contains("4 zones of 256 MiB, written in order, 1 to 2 partly written on each; 'cygnus"), "{text}");
    let words =
        "16 zones of 64 MiB, written in order, 5 partly written (9 were not used since the server began); 'cygnus";
    assert!(text.contains(words), "{text}");
}
