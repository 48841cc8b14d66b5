//! Random commands on tiny drives of every mapping: nothing is lost track of, nothing stalls, nothing panics.

use std::collections::BTreeSet;

use cygnus_ssd::{
    BlockLayout, Cache, Command, Convert, Device, DeviceError, Done, Eviction, Folding, Hint, Mapping, Precondition,
    Preset, Slc, Ssd, SsdConfig, XorEngine, ZoneLayout,
};
use cygnus_types::Nanos;
use proptest::prelude::*;

/// Drives from a handful of pages to a few thousand; many of them impossible.
fn drive() -> impl Strategy<Value = SsdConfig> {
    let geometry = (1_u32..4, 1_u32..4, 1_u32..3, 1_u32..4, 1_u32..4, 1_u32..9);
    let mapping = prop_oneof![
        3 => Just(Mapping::Page),
        3 => (0_u32..5).prop_map(|log_blocks| Mapping::Block(BlockLayout { log_blocks })),
        3 => (1_u32..3, 1_u32..4).prop_map(|(dies, open)| Mapping::Zoned(ZoneLayout { dies, open })),
    ];
    let rest = (1_u64..600, 0_u32..80, 0_u64..40, any::<bool>(), 1_u16..4, 0_u32..4, 0_u64..3);
    (geometry, mapping, rest).prop_map(|(geometry, mapping, rest)| {
        let (channels, dies, planes, page, per_program, programs) = geometry;
        let (pages, spare, mut cache, mut protected, mut handles, watermark, mut slc) = rest;
        // What does not go together is another test's business, most of the time.
        if mapping != Mapping::Page && pages % 8 > 0 {
            (handles, slc) = (1, 0);
            (cache, protected) =
                if matches!(mapping, Mapping::Zoned(_)) { (10 * cache, true) } else { (cache, protected) };
        }
        let mut config = Preset::Samsung850Pro.config().ssd().unwrap();
        let flash = &mut config.flash;
        (flash.channels, flash.dies_per_channel, flash.planes) = (channels, dies, planes);
        (flash.page, flash.pages_per_program, flash.pages_per_block) =
            (page * 4096, per_program, per_program * programs);
        config.capacity = pages * 4096;
        config.spare = f64::from(spare) / 10.0;
        config.cache = Cache { bytes: cache * 4096, protected };
        (config.mapping, config.handles) = (mapping, handles);
        (config.gc.reserve, config.gc.low, config.gc.high) = (1, 1 + watermark, 1 + 2 * watermark);
        config.oob = [0, 16][pages as usize % 2];
        let is_zoned = matches!(mapping, Mapping::Zoned(_));
        let buffer = 4096 * (cache + 2);
        config.xor = (pages % 5 > 1 && !is_zoned).then_some(XorEngine { rate: 1 << 30, latency: Nanos(500), buffer });
        config.gc.wear_spread = (watermark == 2).then_some(2);
        if slc > 0 {
            let blocks = u64::from(channels * dies * planes * page * programs);
            let preset = Preset::Samsung850Evo.config().ssd().unwrap().slc;
            let eviction =
                [Eviction::Fifo, Eviction::Greedy, Eviction::SpareTransient][(pages + u64::from(spare)) as usize % 3];
            let folding = if pages % 7 < 3 { Folding::WhenFull } else { Folding::WhenIdle };
            config.slc = preset.map(|buffer| Slc { bytes: slc * blocks * 4096, eviction, folding, ..buffer });
        }
        config
    })
}

#[derive(Clone, Debug)]
enum Step {
    Submit(Command),
    Wait(u64),
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    // Some of it beyond the end.
    let range = (0_u64..620, 0_u32..40);
    let write = (range.clone(), any::<bool>(), 0_u16..4).prop_map(|((lba, blocks), fua, handle)| Command::Write {
        lba,
        blocks,
        fua,
        hint: Hint { handle, oob: 8 * handle, transient: lba % 3 == 0 },
    });
    let command = prop_oneof![
        2 => range.clone().prop_map(|(lba, blocks)| Command::Read { lba, blocks }),
        8 => write,
        2 => range.clone().prop_map(|(lba, blocks)| Command::Trim { lba, blocks }),
        1 => range.prop_map(|(lba, blocks)| Command::ReadOob { lba, blocks }),
        1 => (0_u64..300, 0_u64..300, 0_u32..8, 0_u32..5).prop_map(|(source, destination, chunk, chunks)| {
            Command::Convert(Convert { source, destination, chunk, chunks, parity_row: 0, keeps: false })
        }),
        1 => Just(Command::Flush),
        2 => (0_u32..40, 0_u32..20).prop_map(|(zone, blocks)| Command::Append { zone, blocks }),
        1 => (0_u32..40).prop_map(|zone| Command::ResetZone { zone }),
        1 => (0_u32..40).prop_map(|zone| Command::FinishZone { zone }),
        1 => Just(Command::ReportZones),
    ];
    prop_oneof![12 => command.prop_map(Step::Submit), 2 => (0_u64..8_000_000).prop_map(Step::Wait), 1 => Just(Step::Cut)]
}

/// Pages that accepted commands wrote.
fn written(command: &Command) -> u64 {
    match *command {
        Command::Write { blocks, .. } | Command::Append { blocks, .. } => u64::from(blocks),
        _ => 0,
    }
}

fn run(ssd: &mut Ssd, steps: &[Step]) -> Result<Vec<Done>, TestCaseError> {
    let (mut done, mut all) = (Vec::new(), Vec::new());
    let mut commands = Vec::new();
    let mut open = BTreeSet::new();
    let (mut had_cut, mut resets) = (false, false);
    let settle = |done: &mut Vec<Done>, open: &mut BTreeSet<u64>, all: &mut Vec<Done>| {
        for finished in done.drain(..) {
            prop_assert!(open.remove(&finished.id), "{} was answered twice", finished.id);
            all.push(finished);
        }
        Ok(())
    };
    for step in steps {
        match step {
            Step::Submit(command) => {
                resets |= matches!(command, Command::ResetZone { .. });
                ssd.submit(ssd.now(), commands.len() as u64, *command);
                open.insert(commands.len() as u64);
                commands.push(*command);
            }
            Step::Wait(nanos) => ssd.advance(ssd.now() + Nanos(*nanos), &mut done),
            Step::Cut => {
                settle(&mut done, &mut open, &mut all)?;
                let lost = ssd.power_cut();
                prop_assert!(lost.is_sorted() && lost.iter().all(|&lba| lba < ssd.blocks()));
                prop_assert_eq!((ssd.outstanding(), ssd.next_event()), (0, None));
                open.clear();
                had_cut = true;
                ssd.check();
            }
        }
        settle(&mut done, &mut open, &mut all)?;
        prop_assert_eq!(ssd.outstanding() as usize, open.len());
    }
    while ssd.outstanding() > 0 {
        let next = ssd.next_event().expect("a drive with something to do does something");
        ssd.advance(next, &mut done);
    }
    settle(&mut done, &mut open, &mut all)?;
    prop_assert!(open.is_empty(), "{:?} were not answered", open);
    prop_assert!(all.is_sorted_by_key(|done| done.at));
    ssd.check();
    let accepted = all.iter().filter(|done| done.result.is_ok());
    let pages: u64 = accepted.map(|done| written(&commands[done.id as usize])).sum();
    let counters = ssd.counters();
    // After a cut some of what was counted was never answered; what a reset overtook was never counted.
    if !had_cut && !resets {
        prop_assert_eq!(counters.host_writes, pages);
    }
    prop_assert!(counters.programmed_host + counters.merged_writes <= counters.host_writes + counters.parity_writes);
    prop_assert!(counters.programmed_slc <= counters.nand_writes());
    for done in &all {
        if let Err(DeviceError::OutOfRange { lba, blocks, capacity }) = done.result {
            prop_assert!(blocks == 0 || lba + blocks > capacity);
        }
    }
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]
    #[test]
    fn any_drive_that_can_be_built_works(
        config in drive(),
        steps in proptest::collection::vec(step(), 1..120),
        filled in 0_u8..3,
    ) {
        match Ssd::new(config.clone()) {
            Err(error) => {
                // The drive, what is wrong, and after a semicolon what to do; a missing value needs no more than its name.
                let text = error.to_string();
                prop_assert!(text.starts_with("drive 850-pro: "), "{}", text);
                prop_assert!(text.contains("; ") || text.contains("must satisfy"), "no remedy: {}", text);
            }
            Ok(mut ssd) => {
                match filled {
                    0 => {}
                    1 => ssd.precondition(Precondition::Sequential { share: 1.0 }),
                    _ => ssd.precondition(Precondition::Random { share: 1.0, seed: 1 }),
                }
                ssd.check();
                let mut twin = ssd.clone();
                let done = run(&mut ssd, &steps)?;
                prop_assert_eq!(run(&mut twin, &steps)?, done, "a clone behaves the same");
            }
        }
    }
}
