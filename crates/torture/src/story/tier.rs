//! What the stories of a run are about: everything, each thing now and then, or one thing in every story.

use cygnus_runtime::Rng;

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
    /// Open stripes that copies make safe, and members that lose their power for a moment meanwhile.
    Copies,
    /// Arrays that are broken beyond redundancy in the end, and salvaged.
    Salvage,
    /// Rot in what describes the data.
    Rot,
    /// Groups that lack too many members, so that some that left take part again by force.
    Force,
    /// Blocks beyond redundancy all over an array that is nearly full.
    Ruined,
    /// Rot of what describes the data in more places than is promised to be borne.
    Beyond,
    /// Data that moves out of the way of contention.
    Contention,
    /// Everything, each thing now and then, on arrays with groups on several media.
    Media,
    /// Volumes that are on the slower of two media, and on the faster one what is often read of them.
    Hybrid,
    /// Volumes that are mapped by pages.
    Pages,
    /// Members that are to be written in order, zone by zone.
    Zoned,
    /// Hot writes, or volumes, that have segments of their own.
    Streams,
    /// Arrays that are nearly full, and opened over and over while members are away.
    Tight,
}

/// One story about everything in so many is one about rot beyond the promise instead, one about members that take part again by force,
/// and half a one about blocks beyond redundancy all over: these have no place in those with other harm.
const APART_ONE_IN: u64 = 12;

impl Tier {
    /// Each of them.
    pub const ALL: [Tier; 21] = [
        Self::All,
        Self::Plain,
        Self::Sparse,
        Self::Scrubs,
        Self::Growth,
        Self::Standby,
        Self::Passing,
        Self::Outages,
        Self::Copies,
        Self::Salvage,
        Self::Rot,
        Self::Force,
        Self::Ruined,
        Self::Beyond,
        Self::Contention,
        Self::Media,
        Self::Hybrid,
        Self::Pages,
        Self::Zoned,
        Self::Streams,
        Self::Tight,
    ];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "everything",
            Self::Plain => "plain",
            Self::Sparse => "sparse",
            Self::Scrubs => "scrubs",
            Self::Growth => "growth",
            Self::Standby => "standby",
            Self::Passing => "passing",
            Self::Outages => "outages",
            Self::Copies => "copies",
            Self::Salvage => "salvage",
            Self::Rot => "rot",
            Self::Force => "force",
            Self::Ruined => "ruined",
            Self::Beyond => "beyond",
            Self::Contention => "contention",
            Self::Media => "media",
            Self::Hybrid => "hybrid",
            Self::Pages => "pages",
            Self::Zoned => "zoned",
            Self::Streams => "streams",
            Self::Tight => "tight",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == name)
    }

    /// The tier that the story of a seed is drawn from.
    pub(super) fn of_seed(self, seed: u64) -> Self {
        match Rng::new(seed ^ 0x666F_7263).below(APART_ONE_IN) {
            0 if self == Self::All => Self::Beyond,
            1 if self == Self::All => Self::Force,
            2 if self == Self::All && seed.is_multiple_of(2) => Self::Ruined,
            _ => self,
        }
    }

    /// Whether a story has what stories of tier `of` are about, if it would have it by chance.
    pub(super) fn has(self, of: Self, by_chance: bool) -> bool {
        match self {
            Self::All => by_chance,
            Self::Media => of == Self::Media || by_chance,
            // Each medium, and what is hot on it, has open stripes of its own; pages leave out some of their places.
            Self::Copies => {
                matches!(of, Self::Copies | Self::Outages) || matches!(of, Self::Media | Self::Pages) && by_chance
            }
            Self::Hybrid => matches!(of, Self::Media | Self::Hybrid) || of == Self::Pages && by_chance,
            Self::Pages => of == Self::Pages || by_chance && of != Self::Sparse,
            Self::Zoned => {
                by_chance
                    && matches!(
                        of,
                        Self::Passing
                            | Self::Outages
                            | Self::Growth
                            | Self::Standby
                            | Self::Pages
                            | Self::Media
                            | Self::Hybrid
                    )
            }
            Self::Streams => of == Self::Streams || by_chance,
            Self::Tight => {
                matches!(of, Self::Copies | Self::Media | Self::Pages | Self::Zoned | Self::Streams) && by_chance
            }
            // Whether streams are apart is drawn in all of them.
            _ => self == of || of == Self::Streams && by_chance,
        }
    }
}
