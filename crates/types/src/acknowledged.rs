//! When a volume answers what changes it.

use std::fmt;
use std::str::FromStr;

/// Where a write has to be before it is answered: a volume's level of acknowledgement. A trim and a zeroing too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Acknowledged {
    /// In memory that outlasts the process where there is room for it.
    #[default]
    Memory = 0,
    /// On the members, perhaps in their caches.
    Written = 1,
    /// On the members, and their caches are flushed.
    Durable = 2,
}

/// A word that is no level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseAcknowledgedError(String);

impl fmt::Display for ParseAcknowledgedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}': use memory, written or durable", self.0)
    }
}

impl std::error::Error for ParseAcknowledgedError {}

impl Acknowledged {
    /// All levels, the weakest first.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Written, Self::Durable];

    /// The level of this number.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&level| level as u8 == byte)
    }

    /// The word for the level, as options and JSON have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Written => "written",
            Self::Durable => "durable",
        }
    }

    /// What of that which was answered may be lost, and when; for people.
    pub const fn may_lose(self) -> &'static str {
        match self {
            Self::Memory => {
                "a power cut, or the machine going down, takes what no flush has covered; a killed server takes nothing, as memory \
                 outlasts the process (serve --kept-in)"
            }
            Self::Written => "only members that lose power take what no flush has covered",
            Self::Durable => "nothing is lost, whether or not anybody flushes",
        }
    }
}

impl fmt::Display for Acknowledged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Acknowledged {
    type Err = ParseAcknowledgedError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|level| level.word() == text).ok_or_else(|| ParseAcknowledgedError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_told_by_word_and_by_number() {
        for level in Acknowledged::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
            assert_eq!(Acknowledged::from_byte(level as u8), Some(level));
        }
        assert_eq!(Acknowledged::from_byte(3), None);
        assert!("Written".parse::<Acknowledged>().is_err());
    }
}
