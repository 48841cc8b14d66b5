//! How many members R-groups have, of data and of parity.

use std::fmt;
use std::str::FromStr;

use cygnus_types::{Medium, ParseMediumError};

use crate::constants::MAX_PARITY;

/// How many columns an R-group has, one for each member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raid {
    /// Data columns, k.
    pub data: u8,
    /// Parity columns, m: as many members may be lost.
    pub parity: u8,
}

impl Raid {
    /// Members of a group, k + m.
    #[inline]
    pub const fn width(self) -> u8 {
        self.data.saturating_add(self.parity)
    }
}

impl fmt::Display for Raid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.data, self.parity)
    }
}

/// The shapes of R-groups as options and scenarios say them: `2+1`, or `flash:2+1,disk:6+2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raids {
    /// One shape for all R-groups.
    All(Raid),
    /// A shape for each medium that R-groups store on, each medium once.
    ByMedium(Vec<(Medium, Raid)>),
}

impl Raids {
    /// The shapes by medium; none where all are alike.
    pub fn by_medium(&self) -> &[(Medium, Raid)] {
        match self {
            Raids::All(_) => &[],
            Raids::ByMedium(all) => all,
        }
    }

    /// The shape of groups on a medium: of one that is not named, that of the first one.
    pub fn on(&self, medium: Option<Medium>) -> Raid {
        match self {
            Raids::All(raid) => *raid,
            Raids::ByMedium(all) => all.iter().find(|(of, _)| Some(*of) == medium).unwrap_or(&all[0]).1,
        }
    }
}

impl FromStr for Raids {
    type Err = ParseRaidError;

    fn from_str(text: &str) -> Result<Self, ParseRaidError> {
        if !text.contains(':') {
            return text.parse().map(Self::All);
        }
        let mut by_medium: Vec<(Medium, Raid)> = Vec::new();
        for part in text.split(',') {
            let (medium, raid) = part.split_once(':').ok_or_else(|| ParseRaidError::NoMedium(part.into()))?;
            let medium: Medium = medium.parse()?;
            if by_medium.iter().any(|(other, _)| *other == medium) {
                return Err(ParseRaidError::Twice(medium));
            }
            by_medium.push((medium, raid.parse()?));
        }
        Ok(Self::ByMedium(by_medium))
    }
}

/// A text that is no shape of R-groups.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseRaidError {
    /// The text is not two numbers with a plus between.
    #[error("write K+M, data and parity members of each R-group: 2+1, 4+2, 3+0")]
    NotTwo,
    /// A part that is none.
    #[error("'{0}' is not a small number")]
    Number(String),
    /// Nowhere to put data.
    #[error("an R-group needs at least one data member")]
    NoData,
    /// More parity than the code gives.
    #[error("parity is 0 to {MAX_PARITY}, the number of lost members that each R-group survives")]
    TooMuchParity,
    /// A shape among those by medium that has none.
    #[error("'{0}' names no medium: write flash:K+M,disk:K+M, or K+M for all R-groups")]
    NoMedium(String),
    /// Another word.
    #[error(transparent)]
    Medium(#[from] ParseMediumError),
    /// Two shapes for one medium.
    #[error("it is said twice what R-groups on {0} are")]
    Twice(Medium),
}

impl FromStr for Raid {
    type Err = ParseRaidError;

    fn from_str(text: &str) -> Result<Self, ParseRaidError> {
        let (data, parity) = text.split_once('+').ok_or(ParseRaidError::NotTwo)?;
        let number = |text: &str| text.parse::<u8>().map_err(|_| ParseRaidError::Number(text.into()));
        match (number(data)?, number(parity)?) {
            (0, _) => Err(ParseRaidError::NoData),
            (_, parity) if parity > MAX_PARITY => Err(ParseRaidError::TooMuchParity),
            (data, parity) => Ok(Self { data, parity }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raid_shapes() {
        assert_eq!("2+1".parse(), Ok(Raid { data: 2, parity: 1 }));
        assert_eq!("2+1".parse::<Raid>().unwrap().width(), 3);
        for wrong in ["", "3", "0+1", "2+4", "a+1", "2+", "2+1+1", "300+1", "-2+1"] {
            assert!(wrong.parse::<Raid>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shapes_by_medium() {
        let raid = |data, parity| Raid { data, parity };
        assert_eq!("2+1".parse(), Ok(Raids::All(raid(2, 1))));
        let both: Raids = "flash:3+1,disk:6+2".parse().unwrap();
        assert_eq!(both.by_medium(), [(Medium::Flash, raid(3, 1)), (Medium::Disk, raid(6, 2))]);
        assert_eq!((both.on(Some(Medium::Disk)), both.on(None)), (raid(6, 2), raid(3, 1)));
        assert_eq!("disk:6+2".parse::<Raids>().unwrap().on(Some(Medium::Flash)), raid(6, 2));
        for wrong in ["flash:", "flash:3+1,", "flash:3+1,6+2", "tape:3+1", "disk:3+1,disk:3+1", "flash:3+9", ":2+1"] {
            assert!(wrong.parse::<Raids>().is_err(), "{wrong}");
        }
    }
}
