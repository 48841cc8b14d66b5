//! What disks do, seen from outside: arm, shingles, zones, loss of power.

use cygnus_ssd::{
    Command, Device, DeviceError, Disk, DiskConfig, Done, ModelConfig, Pattern, Precondition, Preset, Recording,
    Workload, ZoneState,
};
use cygnus_types::Nanos;
use proptest::prelude::*;

fn preset(preset: Preset) -> DiskConfig {
    match preset.config() {
        ModelConfig::Disk(config) => config,
        ModelConfig::Ssd(_) => panic!("not a disk"),
    }
}

const ZONE: u64 = 256;

/// 64 MiB with 2 MiB of buffer; kind 0 plain, 1 host-managed zones of 1 MiB (two conventional), 2 drive-managed bands of
/// 1 MiB with a log of 4 MiB.
fn small(kind: u8) -> DiskConfig {
    let mut config = preset(if kind == 2 { Preset::SeagateSmr } else { Preset::Hdd });
    (config.capacity, config.buffer) = (64 << 20, 2 << 20);
    match &mut config.recording {
        Recording::DriveManaged(shingles) => (shingles.band, shingles.persistent_cache) = (1 << 20, 4 << 20),
        recording if kind == 1 => *recording = Recording::HostManaged { zone: 1 << 20, conventional: 2, open: 4 },
        _ => {}
    }
    config
}

fn finish(disk: &mut Disk) -> Vec<Done> {
    let mut done = Vec::new();
    while disk.outstanding() > 0 {
        disk.advance(disk.next_event().unwrap(), &mut done);
    }
    done
}

fn one(disk: &mut Disk, command: Command) -> Done {
    disk.submit(disk.now(), 7, command);
    let done = finish(disk);
    assert_eq!((done.len(), done[0].id), (1, 7));
    done[0]
}

fn load(pattern: Pattern, blocks: u32, depth: u32, read_percent: u32) -> Workload {
    Workload { pattern, blocks, depth, read_percent, span: 1.0, seed: 1 }
}

#[test]
fn a_read_takes_seek_and_rotation_and_a_queue_shortens_both() {
    let config = preset(Preset::Hdd);
    let mut disk = Disk::new(config.clone()).unwrap();
    let single = load(Pattern::Random, 1, 1, 100).run(&mut disk, 2_000);
    // A third of the tracks apart on the average, sqrt 0.533; half a turn.
    let seek = config.seek.track.0 as f64 + 0.533 * (config.seek.full.0 - config.seek.track.0) as f64;
    let expected = seek + 0.5 * 60e9 / f64::from(config.rpm);
    assert!((single.mean.0 as f64 / expected - 1.0).abs() < 0.03, "{} instead of {expected}", single.mean);
    let queued = load(Pattern::Random, 1, 32, 100).run(&mut disk, 4_000);
    assert!(queued.iops() > 1.8 * single.iops(), "{} then {}", single.iops(), queued.iops());
    assert!(queued.p99 < Nanos::secs(1), "a read starved for {}", queued.p99);
}

#[test]
fn writes_complete_in_the_buffer_and_a_flush_waits_for_the_platters() {
    let mut disk = Disk::new(small(0)).unwrap();
    let write = one(&mut disk, Command::write(9_000, 1));
    assert!(write.at - write.submitted < Nanos::micros(200));
    let flush = one(&mut disk, Command::Flush);
    assert!(flush.at - flush.submitted > Nanos::millis(1));
    let again = one(&mut disk, Command::Flush);
    assert_eq!(again.at - again.submitted, disk.config().host.latency);
}

#[test]
fn a_flush_comes_to_an_end_while_the_host_goes_on_writing_elsewhere() {
    const BEHIND: u64 = 1_000_000;
    const FLUSH: u64 = 1_000_001;
    let mut disk = Disk::new(small(0)).unwrap();
    (0..16).for_each(|n| disk.submit(disk.now(), n, Command::write(1_000 + n * 8, 8)));
    // The sweep is past this block when it comes, and everything later is ahead of the sweep.
    disk.submit(disk.now(), BEHIND, Command::write(0, 1));
    let (mut done, mut next) = (Vec::new(), 16);
    // Once around the disk takes 0.3 s.
    while disk.now() < Nanos::millis(100) {
        disk.advance(disk.next_event().unwrap(), &mut done);
        for done in done.drain(..) {
            match done.id {
                FLUSH => return,
                BEHIND => disk.submit(disk.now(), FLUSH, Command::Flush),
                _ => {
                    disk.submit(disk.now(), next, Command::write(1_000 + next * 8, 8));
                    next += 1;
                }
            }
        }
    }
    panic!("the flush still waits after {next} writes");
}

#[test]
fn a_shingled_disk_is_slow_when_its_log_is_full_and_recovers_in_idle_time() {
    let mut disk = Disk::new(small(2)).unwrap();
    disk.precondition(Precondition::Random { share: 1.0, seed: 1 });
    let random = load(Pattern::Random, 1, 1, 0);
    let fresh = random.run(&mut disk, 1_000);
    assert_eq!(fresh.counters.programmed_gc, 0);
    // The rest of the log, and the buffer.
    random.run(&mut disk, 1_000);
    let full = Workload { seed: 2, ..random.clone() }.run(&mut disk, 200);
    assert!(full.counters.programmed_gc > 0 && full.iops() * 20.0 < fresh.iops(), "{} {}", fresh.iops(), full.iops());
    disk.check();
    while let Some(next) = disk.next_event() {
        disk.advance(next, &mut Vec::new());
    }
    disk.check();
    let recovered = Workload { seed: 3, ..random }.run(&mut disk, 500);
    assert_eq!(recovered.counters.programmed_gc, 0);
}

#[test]
fn whole_bands_are_written_in_place() {
    let mut disk = Disk::new(small(2)).unwrap();
    disk.precondition(Precondition::Sequential { share: 1.0 });
    let commands = 3 * disk.blocks() / 32;
    let report = load(Pattern::Sequential, 32, 8, 0).run(&mut disk, commands);
    assert_eq!(report.counters.programmed_gc, 0);
    assert!(report.rate() > 90e6, "{}", report.rate());
    disk.check();
}

#[test]
fn zones_of_a_disk_have_write_pointers_except_the_conventional_ones() {
    let mut disk = Disk::new(small(1)).unwrap();
    assert_eq!(disk.features().zones, 64);
    assert_eq!(one(&mut disk, Command::write(300, 8)).result, Ok(()));
    assert_eq!(disk.zone(1).unwrap().state, ZoneState::Conventional);
    let off = one(&mut disk, Command::write(2 * ZONE + 1, 8)).result;
    assert_eq!(off, Err(DeviceError::NotAtWritePointer { zone: 2, lba: 2 * ZONE + 1, pointer: 2 * ZONE }));
    assert_eq!(one(&mut disk, Command::write(ZONE + 250, 12)).result, Err(DeviceError::Conventional { zone: 1 }));
    assert_eq!(one(&mut disk, Command::Append { zone: 2, blocks: 8 }).appended, Some(2 * ZONE));
    assert_eq!(disk.zone(2).unwrap().pointer, 2 * ZONE + 8);
    one(&mut disk, Command::ResetZone { zone: 2 });
    assert_eq!(disk.zone(2).unwrap().state, ZoneState::Empty);
    assert_eq!(one(&mut disk, Command::ResetZone { zone: 0 }).result, Err(DeviceError::Conventional { zone: 0 }));
}

#[test]
fn impossible_disks_are_refused() {
    let text = |change: fn(&mut DiskConfig)| {
        let mut config = small(2);
        change(&mut config);
        Disk::new(config).unwrap_err().to_string()
    };
    assert!(text(|c| c.rpm = 0).contains("rpm is zero"));
    assert!(text(|c| c.capacity = 4096).contains("whole zones or bands"));
    assert!(text(|c| c.buffer = 100).contains("write buffer"));
    assert!(text(|c| c.inner_rate = 2 * c.outer_rate).contains("outer media rate"));
}

#[derive(Clone, Debug)]
enum Step {
    Submit(Command),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let range = (0_u64..16_000, 1_u32..300);
    prop_oneof![
        2 => range.clone().prop_map(|(lba, blocks)| Step::Submit(Command::Read { lba, blocks })),
        4 => range.prop_map(|(lba, blocks)| Step::Submit(Command::write(lba, blocks))),
        2 => (2_u32..8, 1_u32..100).prop_map(|(zone, blocks)| Step::Submit(Command::Append { zone, blocks })),
        1 => (2_u32..8).prop_map(|zone| Step::Submit(Command::ResetZone { zone })),
        1 => Just(Step::Submit(Command::Flush)),
        1 => (0_u64..60_000_000).prop_map(Step::Wait),
        1 => (0_u64..3_000_000_000).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_command_completes_once_and_a_cut_loses_only_what_was_not_flushed(
        steps in proptest::collection::vec(step(), 1..150),
        kind in 0_u8..3,
        cut in 0_usize..150,
    ) {
        let mut disk = Disk::new(small(kind)).unwrap();
        if kind == 2 {
            disk.precondition(Precondition::Random { share: 0.7, seed: 1 });
        }
        let (mut done, mut submitted) = (Vec::new(), 0);
        for (n, step) in steps.iter().enumerate() {
            match *step {
                Step::Submit(command) => {
                    disk.submit(disk.now(), submitted, command);
                    submitted += 1;
                }
                Step::Wait(nanos) => disk.advance(disk.now() + Nanos(nanos), &mut done),
            }
            if n == cut {
                let mut clean = disk.clone();
                let lost = disk.power_cut();
                prop_assert!(lost.is_sorted() && lost.windows(2).all(|pair| pair[0] != pair[1]));
                prop_assert_eq!((disk.outstanding(), disk.next_event()), (0, None));
                // Nothing that a flush had covered is lost.
                finish(&mut clean);
                one(&mut clean, Command::Flush);
                prop_assert_eq!(clean.power_cut(), Vec::<u64>::new());
                for zone in (0..disk.features().zones).filter_map(|zone| disk.zone(zone)) {
                    let is_sequential = zone.state != ZoneState::Conventional;
                    let inside = |lba: &&u64| (zone.start..zone.pointer).contains(lba);
                    prop_assert!(!is_sequential || !lost.iter().any(|lba| inside(&lba)), "lost within {:?}", zone);
                }
                disk.check();
                return Ok(());
            }
        }
        done.extend(finish(&mut disk));
        disk.check();
        let mut ids: Vec<u64> = done.iter().map(|done| done.id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..submitted).collect::<Vec<_>>());
        prop_assert!(done.is_sorted_by_key(|done| done.at));
    }
}
