//! What the stories of a run are about: everything, each thing now and then, or one thing in every story.

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
}
