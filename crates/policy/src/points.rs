//! The policy points, and the presets as values composed of them.

use cygnus_types::{Medium, Nanos};

use crate::{
    CleaningScope, Converting, Copying, FrontEnd, Health, LatencyRule, Pressure, Rules, Share, Streams, Throttle,
    Victim,
};

/// Which columns hold parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParityPlacement {
    /// The same columns in every segment (RAID-4).
    Fixed,
    /// One column further with every segment (RAID-5, RAID-6).
    Rotated,
}

/// When the map is written out, which bounds the work of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointRule {
    /// A checkpoint is due once this many times its own size has been written since the last one. A larger factor
    /// spends less bandwidth on checkpoints (1/factor of the writes) and makes recovery read more headers.
    pub write_factor: u32,
    /// But never before this many bytes have been written.
    pub min_bytes: u64,
}

/// One choice for every policy point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    /// Which groups take client writes.
    pub front_end: FrontEnd,
    /// Where cleaning may work.
    pub cleaning: CleaningScope,
    /// Which segment is cleaned next.
    pub victim: Victim,
    /// By medium: the rule for groups there, if that is another one.
    pub victim_on: [Option<Victim>; Medium::ALL.len()],
    /// Which of clients' writes share segments.
    pub streams: Streams,
    /// Rotation of parity over the columns.
    pub parity: ParityPlacement,
    /// When writers are slowed.
    pub pressure: Pressure,
    /// When the map is written out.
    pub checkpoint: CheckpointRule,
    /// How fast rebuilds and scrubs go beside clients.
    pub background: Throttle,
    /// Free segments of each group that only relocation may take, so that cleaning can always proceed; see
    /// [`Policies::reserve_of`].
    pub relocation_reserve: u32,
    /// Rows to the next live block up to which cleaning reads the dead ones between along, rather than paying for
    /// another request.
    pub read_through: u32,
    /// Which read goes on without its device, and which device is left alone.
    pub latency: LatencyRule,
    /// When a member that still works is to be replaced.
    pub health: Health,
    /// Whether data moves out of the way of contention, if nothing else is asked for: [`AutonomicsRule`](crate::AutonomicsRule).
    pub autonomics: bool,
    /// Whether groups may be on different media: each has its lanes, its room and its cleaning, so that volumes can be kept to one.
    pub mixes_media: bool,
    /// Which unfinished stripes are copied, in arrays that make copies.
    pub copying: Copying,
    /// When members compute the parity of what they have copies of.
    pub converting: Converting,
}

impl Policies {
    /// Which segment of the groups on a medium is cleaned next.
    pub fn victim_on(&self, medium: Medium) -> Victim {
        self.victim_on[medium.index()].unwrap_or(self.victim)
    }

    /// All rules of cleaning.
    pub fn rules(&self) -> Rules {
        let its_own = |medium: Medium| Some((medium, self.victim_on[medium.index()]?));
        Rules { all: Some(self.victim), on: Medium::BY_SPEED.into_iter().filter_map(its_own).collect() }
    }
}

/// How an array works, under a name: each stands for a set of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// SWAN (ATC'19): several R-groups, one takes the writes, the next front-end is cleaned meanwhile.
    Swan,
    /// Log-structured RAID: one group over all devices, cleaning beside the writes.
    LogRaid,
    /// Serial array (HotStorage'17): groups, of one device each if nothing else is asked for, are filled one after the
    /// other, and emptied and discarded as a whole.
    Serial,
    /// One group as in log-structured RAID, in which writes that have to outlast the machine before their stripe is full are
    /// copied first and get their parity later, from the host (FusionRAID, FAST'21, as ScalaAFA's section 2.3 describes it).
    Fusion,
    /// The same, with the parity computed by drives that can, inside, from the copies that they have (ScalaAFA, ATC'24).
    ScalaAfa,
    /// Triple-A (ASPLOS'14): one log over all flash modules, a group for each cluster of them, without redundancy if nothing else is
    /// asked for, and data that moves out of the way of contention.
    TripleA,
    /// SALSA (MASCOTS'18): one pool over groups that may be on different media, to which volumes can be constrained; one log on each
    /// medium, with what is written often apart, and victims by what they give and by their age.
    Salsa,
}

/// The name given is no preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPreset(pub String);

impl std::fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = Preset::ALL.iter().map(|p| p.name()).collect();
        write!(f, "unknown preset {:?}; the presets are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownPreset {}

impl std::str::FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        Self::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| UnknownPreset(name.into()))
    }
}

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 7] = [
        Preset::Swan,
        Preset::LogRaid,
        Preset::Serial,
        Preset::Fusion,
        Preset::ScalaAfa,
        Preset::TripleA,
        Preset::Salsa,
    ];

    /// The name under which the preset is stored and typed.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Swan => "swan",
            Preset::LogRaid => "log-raid",
            Preset::Serial => "serial",
            Preset::Fusion => "fusion",
            Preset::ScalaAfa => "scala-afa",
            Preset::TripleA => "triple-a",
            Preset::Salsa => "salsa",
        }
    }

    /// The fewest groups with which the preset makes sense.
    pub fn min_groups(self) -> usize {
        match self {
            Preset::Swan => 2,
            Preset::LogRaid | Preset::Fusion | Preset::ScalaAfa | Preset::TripleA | Preset::Salsa => 1,
            // One takes the writes, one holds what was written, one is in reserve.
            Preset::Serial => 3,
        }
    }

    /// The most groups that the preset uses.
    pub fn max_groups(self) -> usize {
        match self {
            Preset::Swan | Preset::Serial | Preset::TripleA | Preset::Salsa => usize::from(u16::MAX),
            Preset::LogRaid | Preset::Fusion | Preset::ScalaAfa => 1,
        }
    }

    /// The preset's policies, with the defaults that its paper states or leaves open.
    pub fn policies(self) -> Policies {
        let shared = Policies {
            front_end: FrontEnd::EveryGroup,
            cleaning: CleaningScope::Anywhere { keep: Share { percent: 2, most: 96 } },
            victim: Victim::Greedy,
            victim_on: [None; Medium::ALL.len()],
            streams: Streams::Together,
            parity: ParityPlacement::Rotated,
            pressure: Pressure { begin: Share { percent: 1, most: 48 }, longest_ns_per_block: 200_000 },
            checkpoint: CheckpointRule { write_factor: 32, min_bytes: 256 << 20 },
            relocation_reserve: 1,
            // Some ten times what a solid state drive takes for a read: clients notice, and no client's timer runs out.
            background: Throttle { objective: Nanos::millis(2), floor: 8 << 20 },
            // Cleaning shares devices and processor with clients: fewer requests are worth some dead blocks.
            read_through: 4,
            latency: LatencyRule::default(),
            health: Health { errors: 64, growing: 8, slow: 24 },
            autonomics: false,
            mixes_media: false,
            copying: Copying::WhereFewest,
            converting: Converting::AtOnce,
        };
        // Where groups take turns, most of what is free is not the writers' yet: a bound on what all groups have would say nothing of theirs.
        let in_turns = Pressure { begin: Share { most: u32::MAX, ..shared.pressure.begin }, ..shared.pressure };
        match self {
            Preset::LogRaid | Preset::Fusion | Preset::ScalaAfa => shared,
            Preset::TripleA => Policies { autonomics: true, ..shared },
            // SALSA sections 3.1 and 3.2. Alpha is tuned on skewed work, as there: of the two values that were tried it moves less.
            Preset::Salsa => Policies {
                victim: Victim::Generalised { alpha_permille: 300 },
                streams: Streams::ByHeat,
                mixes_media: true,
                ..shared
            },
            // SWAN section 3: client writes go to one R-group only; garbage collection stays inside another one.
            Preset::Swan => Policies {
                front_end: FrontEnd::RotatingGroup,
                cleaning: CleaningScope::NextFrontEnd {
                    worthless_percent: 95,
                    target_percent: 8,
                    one_at_a_time: false,
                },
                victim: Victim::Oldest,
                pressure: in_turns,
                // The group being cleaned is busy with nothing else, and a front-end needs all that its link can read: a
                // solid state drive moves a block in about the time that another request costs it.
                read_through: 1,
                ..shared
            },
            // Serial array, section 2: one device takes the writes, and is collected as a whole or not at all.
            Preset::Serial => Policies {
                front_end: FrontEnd::CleanGroup,
                cleaning: CleaningScope::WholeGroup { worthless_percent: 90 },
                victim: Victim::Oldest,
                pressure: in_turns,
                ..shared
            },
        }
    }
}

/// A large group keeps one in this many of its segments for relocation, so that its cleaning starts at speed: what it
/// frees comes back only after a flush, and until then it needs room to move to.
const RESERVE_SHARE: u32 = 128;

/// Most segments that it keeps for that. A flush takes no longer in a larger group.
const MOST_RESERVED: u32 = 32;

impl Policies {
    /// Free segments that clients leave alone in a group of `segments`.
    pub fn reserve_of(&self, segments: u32) -> u32 {
        self.relocation_reserve + (segments / RESERVE_SHARE).min(MOST_RESERVED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_log_is_cleaned_before_its_writers_are_slowed() {
        for policies in Preset::ALL.map(Preset::policies) {
            if let CleaningScope::Anywhere { keep } = policies.cleaning {
                assert!(
                    [100, 1000, u32::MAX]
                        .iter()
                        .all(|&n| { keep.hundredths_of(n) > policies.pressure.begin.hundredths_of(n) })
                );
            }
        }
    }

    #[test]
    fn names_lead_back_to_presets() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse::<Preset>(), Ok(preset));
        }
        let error = "raid7".parse::<Preset>().unwrap_err();
        assert!(error.to_string().contains("swan"));
    }
}
