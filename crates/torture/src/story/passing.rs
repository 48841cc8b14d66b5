//! Trouble that passes: any number of members, all of them too, do not do their work for a while.
//!
//! Drawn after all the rest, and only for stories in which nothing is lost for good: then nothing excuses an error, and the
//! array must serve again by itself when the trouble is over.

use cygnus_runtime::{IoErrorKind, Rng};
use cygnus_sim::{DiskId, World};
use cygnus_types::Nanos;

use super::{Regroup, Story, Tier};

/// Some members are in trouble for a while.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Passing {
    pub(crate) sort: Sort,
    /// How long it lasts.
    pub(crate) span: Nanos,
    pub(crate) members: Vec<usize>,
}

/// Before an opening a group lacks more members than its parity covers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Force {
    /// Devices that are gone for good. The others of their groups, whatever was the matter with them, are here and do what
    /// they are told.
    pub(crate) without: Vec<usize>,
    /// Power cuts while the array is opened by force: after so many steps each.
    pub(crate) cuts: Vec<u64>,
}

/// A member is not there when the array is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absent {
    pub(crate) member: usize,
    /// How long after clients begin its device is where it was.
    pub(crate) until: Nanos,
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
    /// They have no power, and lose what no flush has covered.
    Unpowered,
}

impl Sort {
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Hang, "hang"),
        (Self::Away, "away"),
        (Self::Severed, "severed"),
        (Self::Full, "full"),
        (Self::Err, "err"),
        (Self::Unpowered, "unpowered"),
    ];
    /// Those in which a device keeps all that it has taken.
    const LOSSLESS: [Self; 5] = [Self::Hang, Self::Away, Self::Severed, Self::Full, Self::Err];

    pub(crate) fn begin(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.hang(disk, None),
            Self::Away => world.kill(disk),
            Self::Severed => world.fail_everything(disk, Some(IoErrorKind::Path)),
            Self::Full => world.fail_writes(disk, Some(IoErrorKind::NoSpace)),
            Self::Err => world.fail_writes(disk, Some(IoErrorKind::Unclear)),
            Self::Unpowered => world.lose_power_of(disk),
        }
    }

    pub(crate) fn end(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.release(disk),
            Self::Away | Self::Unpowered => world.revive(disk),
            Self::Severed => world.fail_everything(disk, None),
            Self::Full | Self::Err => world.fail_writes(disk, None),
        }
    }
}

/// One story in so many of those in which nothing is lost has trouble that passes.
const ONE_IN: u64 = 2;

/// Adds trouble that passes to the story of a seed.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x7061_7373);
    if !tier.has(Tier::Passing, rng.chance(1, ONE_IN)) || !story.loses_nothing() {
        return;
    }
    let (members, width) = (story.shape.members(), story.shape.width());
    for cycle in &mut story.cycles {
        for _ in 0..rng.below(3) {
            let magnitude = 10 + rng.below(16);
            let at = Nanos(rng.below(1 << magnitude));
            let sort = |rng: &mut Rng| Sort::LOSSLESS[rng.below(Sort::LOSSLESS.len() as u64) as usize];
            let passing = random(&mut rng, members, width, sort);
            cycle.passing.push((at, passing));
        }
        // As an operator who wants errors rather than patience.
        if !cycle.passing.is_empty() && rng.chance(1, 4) {
            cycle.suspended_for = Some(Nanos::millis([0, 100, 3_000][rng.below(3) as usize]));
        }
    }
}

/// One story in so many of those that may has members that lose their power for a moment.
const OUTAGES_ONE_IN: u64 = 3;

/// Adds outages of members to the story of a seed. A scrub that is judged by what devices hold, and a group that cannot leave
/// because of blocks that are lost, are left to other stories.
pub(super) fn draw_outages(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x6F75_7461);
    let leaves = |(_, what): &(Nanos, Regroup)| matches!(what, Regroup::Retire(_) | Regroup::Refresh(..));
    let may = |cycle: &super::Cycle| !cycle.scrubs.first && !cycle.regroups.iter().any(leaves);
    let may = story.loses_nothing() && story.salvage.is_empty() && story.cycles.iter().all(may);
    if !may || !tier.has(Tier::Outages, rng.chance(1, OUTAGES_ONE_IN)) {
        return;
    }
    let (members, width) = (story.shape.members(), story.shape.width());
    for cycle in &mut story.cycles {
        for _ in 0..rng.below(4) {
            let magnitude = 10 + rng.below(16);
            let at = Nanos(rng.below(1 << magnitude));
            cycle.passing.push((at, random(&mut rng, members, width, |_| Sort::Unpowered)));
        }
    }
}

fn random(rng: &mut Rng, members: usize, width: usize, sort: impl Fn(&mut Rng) -> Sort) -> Passing {
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
    Passing { sort: sort(rng), span, members: concerned }
}

impl Story {
    /// Whether no device and nothing on a device is ever lost for good.
    pub(super) fn loses_nothing(&self) -> bool {
        let harmless = |cycle: &super::Cycle| {
            cycle.ruins.is_empty()
                && cycle.at_rest.iter().all(|harm| harm.what.is_harmless())
                && cycle.during.iter().all(|(_, harm)| harm.what.is_harmless())
        };
        self.cycles.iter().all(harmless)
    }
}
