//! What R-groups store on, and which of that a volume wants.

use std::fmt;
use std::str::FromStr;

/// What an R-group stores on. What is neither said nor known to be a disk counts as flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Medium {
    /// Solid-state drives, which have no arms to move.
    #[default]
    Flash = 0,
    /// Disks, which have arms to move.
    Disk = 1,
}

impl Medium {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Flash, Self::Disk];

    /// The medium of this number.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&medium| medium as u8 == byte)
    }

    /// Its number, as an index into arrays with a value for each medium.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The medium that this is not.
    pub const fn other(self) -> Self {
        match self {
            Self::Flash => Self::Disk,
            Self::Disk => Self::Flash,
        }
    }

    /// The word for it, as options and JSON have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flash => "flash",
            Self::Disk => "disk",
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
        write!(f, "'{}': use flash or disk", self.0)
    }
}

impl std::error::Error for ParseMediumError {}

impl FromStr for Medium {
    type Err = ParseMediumError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|medium| medium.word() == text).ok_or_else(|| ParseMediumError(text.to_owned()))
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
    /// On this one while there is room, else on the other.
    Prefers(Medium),
    /// Written to disks while there is room, and moved to flash where it is often read (section 4.2: the hybrid controller).
    Hybrid,
}

impl Constraint {
    /// The medium to which clients' writes are to go.
    pub const fn medium(self) -> Option<Medium> {
        match self {
            Self::None => None,
            Self::Only(medium) | Self::Prefers(medium) => Some(medium),
            Self::Hybrid => Some(Medium::Disk),
        }
    }

    /// Whether blocks may be on this medium.
    pub fn allows(self, medium: Medium) -> bool {
        !matches!(self, Self::Only(only) if only != medium)
    }

    /// Its number: 0 none, 1 and 2 only flash and only disks, 3 and 4 flash and disks preferred, 5 hybrid.
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Only(medium) => 1 + medium as u8,
            Self::Prefers(medium) => 3 + medium as u8,
            Self::Hybrid => 5,
        }
    }

    /// The constraint of this number.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let named = Medium::ALL.into_iter().flat_map(|medium| [Self::Only(medium), Self::Prefers(medium)]);
        [Self::None, Self::Hybrid].into_iter().chain(named).find(|constraint| constraint.to_byte() == byte)
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("any"),
            Self::Only(medium) => f.pad(&format!("only {medium}")),
            Self::Prefers(medium) => f.pad(&format!("prefers {medium}")),
            Self::Hybrid => f.pad("hybrid"),
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
            assert_eq!((medium.other().other(), Medium::ALL[medium.index()]), (medium, medium));
        }
        let all: Vec<Constraint> = (0..=u8::MAX).filter_map(Constraint::from_byte).collect();
        assert_eq!(all.len(), 6);
        assert!((0..).zip(&all).all(|(byte, constraint)| constraint.to_byte() == byte));
        assert!(Medium::from_byte(2).is_none() && "Flash".parse::<Medium>().is_err());
    }

    #[test]
    fn only_a_hard_constraint_forbids_anything() {
        let allowed = |constraint: Constraint| Medium::ALL.map(|medium| constraint.allows(medium));
        assert_eq!(allowed(Constraint::None), [true; 2]);
        assert_eq!(allowed(Constraint::Prefers(Medium::Disk)), [true; 2]);
        assert_eq!(allowed(Constraint::Hybrid), [true; 2]);
        assert_eq!(allowed(Constraint::Only(Medium::Disk)), [false, true]);
    }
}
