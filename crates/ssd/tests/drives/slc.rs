//! SLC buffers that are folded when they are full, and drives that are told which data will soon be invalid.

use cygnus_ssd::{Command, Counters, Device, Done, Eviction, Folding, Hint, Preset, Slc, Ssd, SsdConfig};
use cygnus_types::Nanos;

/// Blocks of 4 KiB that the buffer holds.
const BUFFER: u64 = 1024;

/// Four dies of small blocks, with eight SLC blocks each.
fn drive(eviction: Eviction, folding: Folding) -> SsdConfig {
    let mut config = Preset::ScalaAfaFemu.config().ssd().unwrap();
    (config.flash.channels, config.flash.dies_per_channel, config.flash.pages_per_block) = (2, 2, 32);
    config.capacity = 32 << 20;
    config.spare = 0.3;
    config.cache.bytes = 256 << 10;
    let slc = config.slc.take().expect("it has one");
    config.slc = Some(Slc { bytes: BUFFER * 4096, eviction, folding, ..slc });
    config
}

/// Carries out one command after the other.
fn play(ssd: &mut Ssd, commands: impl IntoIterator<Item = Command>) -> Vec<Done> {
    let mut done = Vec::new();
    for (id, command) in (0..).zip(commands) {
        ssd.submit(ssd.now(), id, command);
        while ssd.outstanding() > 0 {
            let next = ssd.next_event().expect("something is under way");
            ssd.advance(next, &mut done);
        }
    }
    ssd.check();
    done
}

fn write(lba: u64, blocks: u32, transient: bool) -> Command {
    Command::Write { lba, blocks, fua: false, hint: Hint { transient, ..Hint::default() } }
}

/// Copies, of which one in eight is trimmed at once and the others when data of more than half a buffer has been written behind
/// them. So they are the first to have invalid pages, and would be the first to go.
fn two_phase(tagged: bool) -> impl Iterator<Item = Command> {
    let (unit, copies, data) = (8, BUFFER * 3 / 8, BUFFER * 5 / 8);
    (0..8).flat_map(move |round| {
        let trim = Command::Trim { lba: 0, blocks: copies as u32 };
        let copied = (0..copies / unit).map(move |n| write(n * unit, unit as u32, tagged));
        let early = (0..copies / unit).map(move |n| Command::Trim { lba: n * unit, blocks: 1 });
        let at = move |n| 1024 + (round * data + n * unit) % 4096;
        let kept = (0..data / unit).map(move |n| write(at(n), unit as u32, false));
        std::iter::once(trim).chain(copied).chain(early).chain(kept)
    })
}

fn programs(eviction: Eviction, tagged: bool) -> u64 {
    let mut ssd = Ssd::new(drive(eviction, Folding::WhenFull)).unwrap();
    play(&mut ssd, two_phase(tagged));
    ssd.counters().normal_writes()
}

#[test]
fn copies_that_will_be_invalid_are_not_moved() {
    let (without, with) = (programs(Eviction::SpareTransient, false), programs(Eviction::SpareTransient, true));
    assert!(10 * with < 9 * without, "{with} pages with the tag, {without} without");
    assert_eq!(programs(Eviction::Greedy, false), without, "without a tag both rules are one");
}

#[test]
fn the_tag_changes_nothing_where_eviction_does_not_ask_for_it() {
    for eviction in [Eviction::Fifo, Eviction::Greedy] {
        for folding in [Folding::WhenIdle, Folding::WhenFull] {
            let play = |tagged| {
                let mut ssd = Ssd::new(drive(eviction, folding)).unwrap();
                let done = play(&mut ssd, two_phase(tagged));
                // That it was told is all that differs.
                (done, Counters { transient_writes: 0, ..*ssd.counters() }, ssd.events())
            };
            assert!(play(false) == play(true), "{eviction:?}, {folding:?}");
        }
    }
}

/// Whether a block is in the buffer: sensing it takes 15 us less there.
fn is_in_buffer(ssd: &mut Ssd, lba: u64) -> bool {
    let done = play(ssd, [Command::Read { lba, blocks: 1 }]);
    let took = done[0].at - done[0].submitted;
    let slowest = Nanos::micros(8 + 25 + 8);
    took < slowest
}

#[test]
fn an_overwrite_in_the_cache_says_anew_whether_it_is_a_copy() {
    let are_in_buffer = |last: bool| {
        let mut ssd = Ssd::new(drive(Eviction::SpareTransient, Folding::WhenFull)).unwrap();
        // Both are on their way before the first is programmed.
        let twice = |lba: u64| [write(lba, 1, !last), write(lba, 1, last)];
        for (id, command) in (0..16).flat_map(twice).enumerate() {
            ssd.submit(Nanos::ZERO, id as u64, command);
        }
        play(&mut ssd, [Command::Flush, write(100, 1, false)]);
        let merged = ssd.counters().merged_writes;
        play(&mut ssd, (0..BUFFER / 4).map(|n| write(1024 + 8 * n, 8, false)));
        play(&mut ssd, [Command::Flush]);
        ssd.advance(ssd.now() + Nanos::secs(1), &mut Vec::new());
        (merged, (0..16).filter(|&lba| is_in_buffer(&mut ssd, lba)).count())
    };
    let ((merged, copies), (_, others)) = (are_in_buffer(true), are_in_buffer(false));
    assert!(merged > 0, "none was overwritten in the cache");
    assert!(
        copies > others,
        "{copies} of 16 copies are in the buffer, and {others} of 16 others; {merged} overwritten"
    );
}

#[test]
fn what_waits_for_a_full_buffer_does_not_pass_it_by() {
    let play = |folding| {
        let mut ssd = Ssd::new(drive(Eviction::Greedy, folding)).unwrap();
        play(&mut ssd, (0..4 * BUFFER / 32).map(|n| write(32 * n, 32, false)));
        *ssd.counters()
    };
    let (full, idle) = (play(Folding::WhenFull), play(Folding::WhenIdle));
    let by_host = |counters: &Counters| counters.programmed_host + counters.padding;
    assert!(full.programmed_slc >= by_host(&full) - full.padding, "{full:?}");
    assert!(idle.programmed_slc < by_host(&idle), "{idle:?}");
    // All but what the buffer holds has been moved.
    assert!(full.normal_writes() >= 3 * BUFFER - 256, "{full:?}");
}

#[test]
fn a_full_buffer_of_nothing_but_copies_gives_way() {
    let mut ssd = Ssd::new(drive(Eviction::SpareTransient, Folding::WhenFull)).unwrap();
    play(&mut ssd, (0..3 * BUFFER / 32).map(|n| write(32 * n, 32, true)));
    assert!(ssd.counters().normal_writes() >= BUFFER, "{:?}", ssd.counters());
}

#[test]
fn a_buffer_that_borrows_its_blocks_is_not_folded_when_full() {
    let mut config = drive(Eviction::Greedy, Folding::WhenFull);
    config.slc.as_mut().expect("it has one").reserved = false;
    let text = Ssd::new(config).expect_err("it cannot be").to_string();
    assert!(text.contains("never full") && text.contains("set reserved"), "{text}");
}
