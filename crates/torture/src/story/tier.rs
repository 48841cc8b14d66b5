//! What the stories of a run are about: everything, each thing now and then, or one thing in every story.

use super::{Cycle, Story};

/// Cycles that a story about one thing has at most, so that it is soon told.
const CYCLES: usize = 3;

/// What stories are about. Those about one thing are cheap, and find what is wrong with it after few seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// Everything, each thing now and then.
    #[default]
    All,
    /// Nothing but clients, cuts of the power, and harm that members come to.
    Plain,
    /// Volumes of a thousand times the pool and more, with single blocks far apart.
    Sparse,
    /// Scrubs.
    Scrubs,
    /// R-groups that come and go.
    Growth,
    /// Spares, and members that hand over to them.
    Standby,
    /// Trouble of members that passes.
    Passing,
    /// Members that lose their power for a moment.
    Outages,
    /// Arrays that are broken beyond redundancy in the end, and salvaged.
    Salvage,
    /// Rot in what describes the data.
    Rot,
}

impl Tier {
    /// Whether a story has what stories of tier `of` are about, if it would have it by chance.
    pub(super) fn has(self, of: Self, by_chance: bool) -> bool {
        if self == Self::All { by_chance } else { self == of }
    }

    /// Takes out of a story what it is not about, before anything else is drawn.
    pub(super) fn narrow(self, story: &mut Story) {
        if self == Self::All {
            return;
        }
        story.cycles.truncate(CYCLES);
        if matches!(self, Self::Passing | Self::Outages) {
            story.cycles.iter_mut().for_each(Cycle::calm);
        }
    }
}

impl Cycle {
    /// Nothing is lost for good.
    fn calm(&mut self) {
        self.ruins.clear();
        self.at_rest.retain(|harm| harm.what.is_harmless());
        self.during.retain(|(_, harm)| harm.what.is_harmless());
    }
}
