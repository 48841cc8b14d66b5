//! An array at rest does nothing: when clients have stopped and what they left is seen to, reactors sleep.

use cygnus_engine::CreateOptions;
use cygnus_policy::Preset;
use cygnus_types::{ByteSize, Nanos};

use crate::reactors::{Opened, REACTORS, put};

/// Clients of all reactors have this long for everything that follows from their last requests.
const SETTLING: Nanos = Nanos::secs(4);
const RESTING: Nanos = Nanos::secs(2);
/// What a reactor may do while it rests: a look each second at most, by each of a few services.
const TURNS: u64 = 200;

/// How often the busiest reactor had something to do while nobody asked for anything, after each of its clients had written and
/// flushed this often.
fn turns_at_rest(seed: u64, shape: &CreateOptions, writes: u64) -> u64 {
    let opened = Opened::of(seed, shape.clone());
    opened.on_all(|n, rt, volume| async move {
        for i in 0..writes {
            put(&rt, &volume, i * 7 % 1000 * u64::from(REACTORS) + n, 1000 + i).await;
            volume.flush().await.unwrap();
        }
    });
    let rest = |span: Nanos| {
        let rt = opened.cluster.reactor(0).clone();
        opened.cluster.run(async move { rt.sleep(span).await }).unwrap();
    };
    let turns = || -> Vec<u64> { (0..usize::from(REACTORS)).map(|n| opened.cluster.reactor(n).turn()).collect() };
    rest(SETTLING);
    let before = turns();
    rest(RESTING);
    let busiest = turns().iter().zip(before).map(|(now, before)| now - before).max().expect("there are reactors");
    let close = opened.array.clone();
    opened.cluster.run(async move { close.close().await.unwrap() }).unwrap();
    busiest
}

#[test]
fn reactors_rest_whatever_their_parts_of_the_transient_areas_hold() {
    for preset in [Preset::LogRaid, Preset::Fusion, Preset::ScalaAfa] {
        // A small area is half full after few writes.
        let transient = (preset != Preset::LogRaid).then_some(ByteSize(256 << 10));
        let shape = CreateOptions { transient, ..CreateOptions::new("tank", preset, 1, 4, 2) };
        for writes in [3, 8, 12, 20, 50, 200] {
            let turns = turns_at_rest(writes, &shape, writes);
            assert!(turns < TURNS, "{preset:?}, {writes} writes: {turns} turns in {RESTING}");
        }
    }
}
