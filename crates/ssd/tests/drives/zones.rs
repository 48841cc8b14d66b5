//! Zoned drives against a naive model, and placement handles.

use cygnus_ssd::{
    Command, Device, DeviceError, Done, Hint, Mapping, Pattern, Preset, Ssd, SsdConfig, Workload, ZoneLayout, ZoneState,
};
use cygnus_types::Nanos;
use proptest::prelude::*;

/// Four dies; zones of two blocks of 8 x 8 pages.
fn zoned() -> SsdConfig {
    let mut config = small();
    config.mapping = Mapping::Zoned(ZoneLayout { dies: 2, open: 3 });
    (config.cache.bytes, config.cache.protected) = (256 << 10, true);
    config.spare = 0.05;
    config
}

fn small() -> SsdConfig {
    let mut config = Preset::Samsung850Pro.config().ssd().unwrap();
    (config.flash.channels, config.flash.dies_per_channel, config.flash.pages_per_block) = (2, 2, 8);
    config.capacity = 16 << 20;
    config.cache.bytes = 1 << 20;
    config.spare = 0.6;
    config
}

const ZONE: u64 = 128;
const ZONES: u32 = 32;

fn finish(ssd: &mut Ssd) -> Vec<Done> {
    let mut done = Vec::new();
    while let Some(next) = ssd.next_event() {
        ssd.advance(next, &mut done);
    }
    done
}

/// What the host knows of a zone.
#[derive(Clone, Copy, Default)]
struct Naive {
    pointer: u64,
    finished: bool,
}

impl Naive {
    fn is_full(self) -> bool {
        self.finished || self.pointer == ZONE
    }
    fn is_open(self) -> bool {
        !self.is_full() && self.pointer > 0
    }
}

/// Applies a command in the order of submission; what must come of it, and where an append goes.
fn apply(zones: &mut [Naive], command: Command) -> (Result<(), DeviceError>, Option<u64>) {
    let open = zones.iter().filter(|zone| zone.is_open()).count();
    let mut put = |zone: u32, lba: Option<u64>, blocks: u32| {
        let limit = 3;
        let start = u64::from(zone) * ZONE;
        let state = &mut zones[zone as usize];
        let left = if state.is_full() { 0 } else { ZONE - state.pointer };
        if left < u64::from(blocks) {
            return (Err(DeviceError::ZoneFull { zone, blocks, left }), None);
        }
        let pointer = start + state.pointer;
        match lba {
            Some(lba) if lba != pointer => return (Err(DeviceError::NotAtWritePointer { zone, lba, pointer }), None),
            _ => {}
        }
        if state.pointer == 0 && open >= limit {
            return (Err(DeviceError::TooManyOpen { zone, limit: limit as u32 }), None);
        }
        state.pointer += u64::from(blocks);
        (Ok(()), lba.is_none().then_some(pointer))
    };
    match command {
        Command::Write { lba, blocks, .. } => put((lba / ZONE) as u32, Some(lba), blocks),
        Command::Append { zone, blocks } => put(zone, None, blocks),
        Command::ResetZone { zone } => {
            zones[zone as usize] = Naive::default();
            (Ok(()), None)
        }
        Command::FinishZone { zone } => {
            zones[zone as usize].finished = true;
            (Ok(()), None)
        }
        _ => (Ok(()), None),
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// At the write pointer, or so many blocks off it.
    Write(u32, u32, u64),
    Append(u32, u32),
    Reset(u32),
    Finish(u32),
    Read(u32),
    Wait(u64),
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    let zone = 0_u32..6;
    prop_oneof![
        8 => (zone.clone(), 1_u32..50, prop_oneof![9 => Just(0_u64), 1 => 1_u64..4])
            .prop_map(|(zone, blocks, off)| Step::Write(zone, blocks, off)),
        3 => (zone.clone(), 1_u32..50).prop_map(|(zone, blocks)| Step::Append(zone, blocks)),
        1 => zone.clone().prop_map(Step::Reset),
        1 => zone.clone().prop_map(Step::Finish),
        2 => zone.prop_map(Step::Read),
        2 => (0_u64..2_000_000).prop_map(Step::Wait),
        1 => Just(Step::Cut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn zones_behave_as_the_naive_model_says(steps in proptest::collection::vec(step(), 1..300)) {
        let mut ssd = Ssd::new(zoned()).unwrap();
        let mut naive = vec![Naive::default(); ZONES as usize];
        let (mut expected, mut done) = (Vec::new(), Vec::new());
        for step in steps {
            let command = match step {
                Step::Write(zone, blocks, off) => {
                    let lba = u64::from(zone) * ZONE + naive[zone as usize].pointer % ZONE + off;
                    if lba / ZONE != u64::from(zone) { continue }
                    Command::write(lba, blocks)
                }
                Step::Append(zone, blocks) => Command::Append { zone, blocks },
                Step::Reset(zone) => Command::ResetZone { zone },
                Step::Finish(zone) => Command::FinishZone { zone },
                Step::Read(zone) => Command::Read { lba: u64::from(zone) * ZONE, blocks: 64 },
                Step::Wait(nanos) => {
                    ssd.advance(ssd.now() + Nanos(nanos), &mut done);
                    continue;
                }
                Step::Cut => {
                    // Everything submitted must have reached the zones, or the models differ in what was.
                    done.extend(finish(&mut ssd));
                    prop_assert_eq!(ssd.power_cut(), Vec::<u64>::new());
                    continue;
                }
            };
            ssd.submit(ssd.now(), expected.len() as u64, command);
            expected.push(apply(&mut naive, command));
        }
        done.extend(finish(&mut ssd));
        prop_assert_eq!(ssd.outstanding(), 0);
        prop_assert_eq!(done.len(), expected.len());
        for done in &done {
            let (result, appended) = expected[done.id as usize];
            prop_assert_eq!((done.result, done.appended), (result, appended), "command {}", done.id);
        }
        ssd.check();
        for (at, naive) in (0..).zip(&naive) {
            let zone = ssd.zone(at).unwrap();
            prop_assert_eq!(zone.pointer - zone.start, naive.pointer);
            let state = match () {
                () if naive.is_full() => ZoneState::Full,
                () if naive.is_open() => ZoneState::Open,
                () => ZoneState::Empty,
            };
            prop_assert_eq!(zone.state, state);
        }
        prop_assert_eq!(ssd.zone(ZONES), None);
    }
}

#[test]
fn a_cut_leaves_the_write_pointers_where_the_data_ends() {
    for at in (10..800).step_by(13) {
        let mut ssd = Ssd::new(zoned()).unwrap();
        for id in 0..8 {
            ssd.submit(Nanos::ZERO, id, Command::write(id % 2 * ZONE + id / 2 * 32, 32));
        }
        let mut done = Vec::new();
        ssd.advance(Nanos::micros(at), &mut done);
        let lost = ssd.power_cut();
        for zone in 0..2_u64 {
            let report = ssd.zone(zone as u32).unwrap();
            let of_zone: Vec<u64> = lost.iter().copied().filter(|lba| lba / ZONE == zone).collect();
            assert_eq!(of_zone, (report.pointer..(zone + 1) * ZONE).collect::<Vec<_>>(), "cut at {at}");
            let completed = done.iter().filter(|done| done.id % 2 == zone).count() as u64;
            assert!(report.pointer - report.start >= 32 * completed);
            // And the host can go on there.
            if report.pointer < report.start + ZONE {
                ssd.submit(
                    ssd.now(),
                    99,
                    Command::write(report.pointer, (report.start + ZONE - report.pointer) as u32),
                );
                assert_eq!(finish(&mut ssd)[0].result, Ok(()));
            }
        }
        ssd.check();
    }
}

#[test]
fn zones_rewritten_for_ever_cost_no_relocation() {
    let mut ssd = Ssd::new(zoned()).unwrap();
    for round in 0..6 {
        for zone in 0..ssd.features().zones {
            ssd.submit(ssd.now(), 0, Command::ResetZone { zone });
            for part in 0..4 {
                ssd.submit(ssd.now(), 1 + part, Command::write(u64::from(zone) * ZONE + part * 32, 32));
            }
            let done = finish(&mut ssd);
            assert!(done.iter().all(|done| done.result.is_ok()), "round {round}, zone {zone}: {done:?}");
        }
    }
    let counters = *ssd.counters();
    assert_eq!((counters.programmed_gc, counters.padding), (0, 0));
    assert_eq!(counters.write_amplification(), 1.0);
    let (least, most) = ssd.wear();
    assert!(least >= 3 && most <= 6, "wear from {least} to {most}");
}

#[test]
fn drives_without_zones_say_so() {
    let mut ssd = Ssd::new(small()).unwrap();
    for (id, command) in [Command::ResetZone { zone: 0 }, Command::Append { zone: 0, blocks: 1 }, Command::ReportZones]
        .iter()
        .enumerate()
    {
        ssd.submit(ssd.now(), id as u64, *command);
        let done = finish(&mut ssd);
        assert!(matches!(done[0].result, Err(DeviceError::Unsupported { .. })));
    }
    ssd.submit(ssd.now(), 9, Command::write(4_000, 97));
    assert_eq!(finish(&mut ssd)[0].result, Err(DeviceError::OutOfRange { lba: 4_000, blocks: 97, capacity: 4_096 }));
    assert!(ssd.zone(0).is_none());
}

#[test]
fn placement_handles_keep_lifetimes_apart() {
    let amplification = |handles: u16| {
        let mut ssd = Ssd::new(SsdConfig { handles, ..small() }).unwrap();
        let load = Workload { pattern: Pattern::Sequential, blocks: 8, depth: 4, read_percent: 0, span: 1.0, seed: 1 };
        load.run(&mut ssd, ssd_blocks() / 8);
        ssd.reset_counters();
        // A ring overwritten in turn, and a static rest of which a block is rewritten now and then.
        let mut rest = 7_u64;
        for id in 0..60_000_u64 {
            let (lba, handle) = if id % 4 == 3 {
                rest = rest.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (1_024 + (rest >> 33) % (ssd_blocks() - 1_024), 1)
            } else {
                (id % 1_024, 0)
            };
            let hint = Hint { handle, ..Hint::default() };
            ssd.submit(ssd.now(), id, Command::Write { lba, blocks: 1, fua: false, hint });
            let mut done = Vec::new();
            while ssd.outstanding() > 8 {
                ssd.advance(ssd.next_event().unwrap(), &mut done);
            }
        }
        finish(&mut ssd);
        ssd.check();
        ssd.counters().write_amplification()
    };
    let (mixed, apart) = (amplification(1), amplification(2));
    assert!(apart < 0.95 * mixed, "{mixed} mixed, {apart} apart");
}

fn ssd_blocks() -> u64 {
    (16 << 20) / 4096
}
