//! Volumes that answer when the members have what was written, or when it is durable there.

use cygnus_runtime::Rng;
use cygnus_types::Acknowledged;

use super::spans::some_time;
use super::{Ending, Story};

/// Tells the draw of levels from those of other things.
const LEVELS: u64 = 0x6c65_7665;

impl Story {
    /// Where a write of the volume of this name is when it is answered.
    pub(crate) fn acknowledged(&self, volume: &str) -> Acknowledged {
        self.levels.iter().find(|(name, _)| name == volume).map_or(Acknowledged::Memory, |(_, level)| *level)
    }
}

/// In one story of two, volumes of any level; then the process is killed more often. Apart from the rest, so that the others
/// stay what they were.
pub(super) fn draw(story: &mut Story, seed: u64) {
    let mut rng = Rng::new(seed ^ LEVELS);
    if rng.chance(1, 2) {
        return;
    }
    for n in 0..3 {
        let level = Acknowledged::ALL[rng.below(3) as usize];
        if level != Acknowledged::Memory {
            story.levels.push((format!("v{n}"), level));
        }
    }
    for cycle in &mut story.cycles {
        if matches!(cycle.ending, Ending::PowerCut(_)) && rng.chance(1, 2) {
            cycle.ending = Ending::Kill(some_time(&mut rng), false);
        }
    }
}
