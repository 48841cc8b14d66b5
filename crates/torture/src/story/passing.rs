//! Trouble that passes: any number of members, all of them too, do not do their work for a while.
//!
//! Drawn after all the rest, and only for stories in which nothing is lost for good: then nothing excuses an error, and the
//! array must serve again by itself when the trouble is over.

use cygnus_runtime::{IoErrorKind, Rng};
use cygnus_sim::{DiskId, World};
use cygnus_types::Nanos;

use super::Story;

/// Some members are in trouble for a while.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Passing {
    pub(crate) sort: Sort,
    /// How long it lasts.
    pub(crate) span: Nanos,
    pub(crate) members: Vec<usize>,
}

/// What they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Nothing completes.
    Hang,
    /// They are not there.
    Away,
    /// The way to them is lost.
    Severed,
    /// The file system below has no room.
    Full,
    /// Every write fails, and nobody says whether for good.
    Err,
}

impl Sort {
    pub(crate) const ALL: [(Self, &'static str); 5] = [
        (Self::Hang, "hang"),
        (Self::Away, "away"),
        (Self::Severed, "severed"),
        (Self::Full, "full"),
        (Self::Err, "err"),
    ];

    pub(crate) fn begin(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.hang(disk, None),
            Self::Away => world.kill(disk),
            Self::Severed => world.fail_everything(disk, Some(IoErrorKind::Path)),
            Self::Full => world.fail_writes(disk, Some(IoErrorKind::NoSpace)),
            Self::Err => world.fail_writes(disk, Some(IoErrorKind::Unclear)),
        }
    }

    pub(crate) fn end(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.release(disk),
            Self::Away => world.revive(disk),
            Self::Severed => world.fail_everything(disk, None),
            Self::Full | Self::Err => world.fail_writes(disk, None),
        }
    }
}

/// One story in so many of those in which nothing is lost has trouble that passes.
const ONE_IN: u64 = 2;

/// Adds trouble that passes to the story of a seed.
pub(super) fn draw(story: &mut Story, seed: u64) {
    let mut rng = Rng::new(seed ^ 0x7061_7373);
    if !rng.chance(1, ONE_IN) || !story.loses_nothing() {
        return;
    }
    let (members, width) = (story.shape.members(), story.shape.width());
    for cycle in &mut story.cycles {
        for _ in 0..rng.below(3) {
            let magnitude = 10 + rng.below(16);
            let at = Nanos(rng.below(1 << magnitude));
            let passing = random(&mut rng, members, width);
            cycle.passing.push((at, passing));
        }
        // As an operator who wants errors rather than patience.
        if !cycle.passing.is_empty() && rng.chance(1, 4) {
            cycle.suspended_for = Some(Nanos::millis([0, 100, 3_000][rng.below(3) as usize]));
        }
    }
}

fn random(rng: &mut Rng, members: usize, width: usize) -> Passing {
    let group = rng.below((members / width) as u64) as usize * width;
    let of_group: Vec<usize> = (group..group + width).collect();
    let mut some = |all: Vec<usize>| -> Vec<usize> { all.into_iter().filter(|_| rng.chance(1, 2)).collect() };
    let (few, scattered) = (some(of_group.clone()), some((0..members).collect()));
    let mut concerned = match rng.below(4) {
        0 => (0..members).collect(),
        1 => of_group,
        2 => few,
        _ => scattered,
    };
    if concerned.is_empty() {
        concerned.push(rng.below(members as u64) as usize);
    }
    let span = Nanos::millis([1, 50, 900, 1_500, 5_000, 20_000][rng.below(6) as usize]);
    Passing { sort: Sort::ALL[rng.below(Sort::ALL.len() as u64) as usize].0, span, members: concerned }
}

impl Story {
    /// Whether nothing is ever lost for good.
    fn loses_nothing(&self) -> bool {
        let harmless = |cycle: &super::Cycle| {
            cycle.ruins.is_empty()
                && cycle.at_rest.iter().all(|harm| harm.what.is_harmless())
                && cycle.during.iter().all(|(_, harm)| harm.what.is_harmless())
        };
        self.cycles.iter().all(harmless)
    }
}
