//! What R-groups store on, and which of that a volume wants.

use std::fmt;
use std::str::FromStr;

/// What an R-group stores on (SALSA, section 3.1: storage types). What is neither said nor known to be a disk counts as flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Medium {
    /// Solid-state drives, which have no arms to move.
    #[default]
    Flash = 0,
    /// Disks, which have arms to move.
    Disk = 1,
    /// What answers sooner than other solid-state drives do: persistent memory, fast flash.
    Nvm = 2,
    /// Shingled disks, which have arms, and zones that are written in order.
    Smr = 3,
}

impl Medium {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Flash, Self::Disk, Self::Nvm, Self::Smr];

    /// The order of media: all of them, from fast to slow.
    pub const BY_SPEED: [Self; 4] = [Self::Nvm, Self::Flash, Self::Disk, Self::Smr];

    /// The medium of this number.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }

    /// Its number, as an index into arrays with a value for each medium.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether it moves arms to where it reads and writes.
    pub const fn has_arms(self) -> bool {
        matches!(self, Self::Disk | Self::Smr)
    }

    /// Whether this comes before another one in the order of media.
    pub fn is_faster_than(self, other: Self) -> bool {
        let place = |medium| Self::BY_SPEED.into_iter().position(|each| each == medium);
        place(self) < place(other)
    }

    /// All media, the nearest in speed to this one first, which is itself: whoever finds no room on one goes on to the next. Media with
    /// arms are nearer to each other than to those without.
    pub const fn nearest_first(self) -> [Self; 4] {
        match self {
            Self::Nvm => [Self::Nvm, Self::Flash, Self::Disk, Self::Smr],
            Self::Flash => [Self::Flash, Self::Nvm, Self::Disk, Self::Smr],
            Self::Disk => [Self::Disk, Self::Smr, Self::Flash, Self::Nvm],
            Self::Smr => [Self::Smr, Self::Disk, Self::Flash, Self::Nvm],
        }
    }

    /// The word for it, as options and JSON have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flash => "flash",
            Self::Disk => "disk",
            Self::Nvm => "nvm",
            Self::Smr => "smr",
        }
    }
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A word that is no medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseMediumError(String);

impl fmt::Display for ParseMediumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}': use nvm, flash, disk or smr", self.0)
    }
}

impl std::error::Error for ParseMediumError {}

impl FromStr for Medium {
    type Err = ParseMediumError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|medium| medium.word() == text).ok_or_else(|| ParseMediumError(text.to_owned()))
    }
}

/// The two media of a hybrid volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiers {
    fast: Medium,
    slow: Medium,
}

/// One medium is no two tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneTier(pub Medium);

impl fmt::Display for OneTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let medium = self.0;
        write!(
            f,
            "a hybrid volume is on two media, and both are {medium}: name another one beside it, or bind the volume to {medium}"
        )
    }
}

impl std::error::Error for OneTier {}

impl Tiers {
    /// Flash and disks: what hybrid volumes had before others could be named.
    pub const FLASH_AND_DISK: Self = Self { fast: Medium::Flash, slow: Medium::Disk };

    /// Two media, in any order.
    ///
    /// # Errors
    /// When both are the same.
    pub fn new(one: Medium, other: Medium) -> Result<Self, OneTier> {
        match (one, other) {
            _ if one == other => Err(OneTier(one)),
            _ if one.is_faster_than(other) => Ok(Self { fast: one, slow: other }),
            _ => Ok(Self { fast: other, slow: one }),
        }
    }

    /// Where what is often read lies.
    pub const fn fast(self) -> Medium {
        self.fast
    }

    /// Where clients' writes go.
    pub const fn slow(self) -> Medium {
        self.slow
    }

    /// Both, the faster one first.
    pub const fn both(self) -> [Medium; 2] {
        [self.fast, self.slow]
    }
}

impl fmt::Display for Tiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.fast, self.slow)
    }
}

/// On which media the blocks of a volume may be (SALSA, section 3.1: hard and soft constraints of streams).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Constraint {
    /// On whatever medium there is.
    #[default]
    None,
    /// On this one only. Without room there, writes fail, whatever room there is elsewhere.
    Only(Medium),
    /// On this one while there is room, else on the nearest in speed that has some.
    Prefers(Medium),
    /// Written to the slower of two media while there is room, and moved to the faster one where it is often read (section 4.2: the
    /// hybrid controller).
    Hybrid(Tiers),
}

/// The numbers of hybrid constraints.
const HYBRIDS: [(u8, Tiers); 6] = [
    (5, Tiers::FLASH_AND_DISK),
    (10, Tiers { fast: Medium::Nvm, slow: Medium::Flash }),
    (11, Tiers { fast: Medium::Nvm, slow: Medium::Disk }),
    (12, Tiers { fast: Medium::Nvm, slow: Medium::Smr }),
    (13, Tiers { fast: Medium::Flash, slow: Medium::Smr }),
    (14, Tiers { fast: Medium::Disk, slow: Medium::Smr }),
];

impl Constraint {
    /// The medium to which clients' writes are to go.
    pub const fn medium(self) -> Option<Medium> {
        match self {
            Self::None => None,
            Self::Only(medium) | Self::Prefers(medium) => Some(medium),
            Self::Hybrid(tiers) => Some(tiers.slow),
        }
    }

    /// The two media of a hybrid volume.
    pub const fn tiers(self) -> Option<Tiers> {
        match self {
            Self::Hybrid(tiers) => Some(tiers),
            Self::None | Self::Only(_) | Self::Prefers(_) => None,
        }
    }

    /// Whether blocks may be on this medium.
    pub fn allows(self, medium: Medium) -> bool {
        !matches!(self, Self::Only(only) if only != medium)
    }

    /// All media, in the order in which blocks that should go to `wanted` are offered to them: that one first; of a hybrid volume its
    /// other one next; then whatever is nearest in speed.
    pub fn offers(self, wanted: Medium) -> [Medium; 4] {
        let mut order = wanted.nearest_first();
        if let Some(tiers) = self.tiers().filter(|tiers| tiers.both().contains(&wanted)) {
            order[1..].sort_by_key(|medium| !tiers.both().contains(medium));
        }
        order
    }

    /// Whether it names a medium that programs which know only flash and disks do not.
    pub fn names_others_than_flash_and_disk(self) -> bool {
        self.to_byte() > 5
    }

    /// Its number: 0 none; 1, 2, 6 and 7 only flash, disks, nvm and smr; 3, 4, 8 and 9 these preferred; 5 and 10 to 14 hybrid, on flash and
    /// disks, nvm and flash, nvm and disks, nvm and smr, flash and smr, disks and smr.
    pub fn to_byte(self) -> u8 {
        let of_medium = |numbers: [u8; 4], medium: Medium| numbers[medium.index()];
        match self {
            Self::None => 0,
            Self::Only(medium) => of_medium([1, 2, 6, 7], medium),
            Self::Prefers(medium) => of_medium([3, 4, 8, 9], medium),
            Self::Hybrid(tiers) => {
                let is_its = |&(_, of): &(u8, Tiers)| of == tiers;
                HYBRIDS.into_iter().find(is_its).expect("each two media have a number").0
            }
        }
    }

    /// The constraint of this number.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let named = Medium::ALL.into_iter().flat_map(|medium| [Self::Only(medium), Self::Prefers(medium)]);
        let hybrid = HYBRIDS.into_iter().map(|(_, tiers)| Self::Hybrid(tiers));
        [Self::None].into_iter().chain(named).chain(hybrid).find(|constraint| constraint.to_byte() == byte)
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("any"),
            Self::Only(medium) => f.pad(&format!("only {medium}")),
            Self::Prefers(medium) => f.pad(&format!("prefers {medium}")),
            Self::Hybrid(tiers) => f.pad(&format!("hybrid {}/{}", tiers.fast, tiers.slow)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_and_constraints_are_told_by_number() {
        for medium in Medium::ALL {
            assert_eq!((medium.to_string().parse(), Medium::from_byte(medium as u8)), (Ok(medium), Some(medium)));
            assert_eq!(Medium::ALL[medium.index()], medium);
        }
        let all: Vec<Constraint> = (0..=u8::MAX).filter_map(Constraint::from_byte).collect();
        assert_eq!(all.len(), 15);
        assert!((0..).zip(&all).all(|(byte, constraint)| constraint.to_byte() == byte));
        assert!(Medium::from_byte(4).is_none() && "Flash".parse::<Medium>().is_err());
        let older = [Constraint::None, Constraint::Only(Medium::Flash), Constraint::Only(Medium::Disk)];
        assert_eq!(all[..3], older, "numbers that superblocks have do not change");
        assert_eq!(all[5], Constraint::Hybrid(Tiers::FLASH_AND_DISK));
        assert!((0..).zip(&all).all(|(byte, of)| of.names_others_than_flash_and_disk() == (byte > 5)));
    }

    #[test]
    fn media_are_in_an_order() {
        let [nvm, flash, disk, smr] = Medium::BY_SPEED;
        assert!(nvm.is_faster_than(flash) && flash.is_faster_than(disk) && disk.is_faster_than(smr));
        assert!(!smr.is_faster_than(smr) && !disk.is_faster_than(flash));
        for medium in Medium::ALL {
            let mut nearest = medium.nearest_first();
            assert_eq!(nearest[0], medium);
            nearest.sort_by_key(|medium| medium.index());
            assert_eq!(nearest, Medium::ALL, "each is there once");
        }
        assert_eq!((flash.nearest_first()[1], disk.nearest_first()[1]), (nvm, smr), "by arms first");
    }

    #[test]
    fn only_a_hard_constraint_forbids_anything() {
        let allowed = |constraint: Constraint| Medium::ALL.map(|medium| constraint.allows(medium));
        assert_eq!(allowed(Constraint::None), [true; 4]);
        assert_eq!(allowed(Constraint::Prefers(Medium::Disk)), [true; 4]);
        assert_eq!(allowed(Constraint::Hybrid(Tiers::FLASH_AND_DISK)), [true; 4]);
        assert_eq!(allowed(Constraint::Only(Medium::Disk)), [false, true, false, false]);
    }

    #[test]
    fn tiers_are_two_media_in_order() {
        for (one, other) in Medium::ALL.into_iter().flat_map(|one| Medium::ALL.map(|other| (one, other))) {
            match Tiers::new(one, other) {
                Err(OneTier(medium)) => assert_eq!((one, other), (medium, medium)),
                Ok(tiers) => {
                    assert!(tiers.fast().is_faster_than(tiers.slow()) && Tiers::new(other, one) == Ok(tiers));
                    let offers = Constraint::Hybrid(tiers).offers(tiers.slow());
                    assert_eq!(offers[..2], [tiers.slow(), tiers.fast()]);
                }
            }
        }
        assert_eq!(Constraint::Prefers(Medium::Smr).offers(Medium::Smr), Medium::Smr.nearest_first());
    }
}
