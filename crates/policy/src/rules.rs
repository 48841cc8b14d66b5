//! Rules of cleaning, as they are asked for: one for all R-groups, or one for those on each medium.

use std::fmt;
use std::str::FromStr;

use cygnus_types::{Medium, ParseMediumError};

use crate::victim::{UnknownVictim, Victim};

/// Rules as options and scenarios say them: `greedy`, or `disk:circular,flash:generalised:0.3`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// For groups on all media of which nothing else is said; `None`: as the preset has it.
    pub all: Option<Victim>,
    /// For groups on these media, each of them once.
    pub on: Vec<(Medium, Victim)>,
}

/// A text that is no rules of cleaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseRulesError {
    /// No rule has the name.
    Rule(UnknownVictim),
    /// A part that names a rule and no medium.
    Medium(ParseMediumError),
    /// Two rules for one medium.
    Twice(Medium),
}

impl fmt::Display for ParseRulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(error) => error.fmt(f),
            Self::Medium(error) => write!(f, "{error}, as in disk:circular,flash:greedy; or one rule for all R-groups"),
            Self::Twice(medium) => write!(f, "it is said twice by which rule R-groups on {medium} are cleaned"),
        }
    }
}

impl std::error::Error for ParseRulesError {}

impl FromStr for Rules {
    type Err = ParseRulesError;

    fn from_str(text: &str) -> Result<Self, ParseRulesError> {
        let by_medium = |part: &str| part.split_once(':').is_some_and(|(word, _)| word.parse::<Medium>().is_ok());
        if !text.contains(',') && !by_medium(text) {
            return Ok(Self { all: Some(text.parse().map_err(ParseRulesError::Rule)?), on: Vec::new() });
        }
        let mut on: Vec<(Medium, Victim)> = Vec::new();
        for part in text.split(',') {
            let (medium, rule) = part.split_once(':').unwrap_or((part, ""));
            let medium = medium.parse().map_err(ParseRulesError::Medium)?;
            if on.iter().any(|(other, _)| *other == medium) {
                return Err(ParseRulesError::Twice(medium));
            }
            on.push((medium, rule.parse().map_err(ParseRulesError::Rule)?));
        }
        Ok(Self { all: None, on })
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_all = self.all.iter().map(Victim::to_string);
        let by_medium = self.on.iter().map(|(medium, rule)| format!("{medium}:{rule}"));
        f.write_str(&of_all.chain(by_medium).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_for_all_groups_or_by_medium() {
        let all = |text: &str| text.parse::<Rules>().unwrap();
        assert_eq!(all("generalised:0.3"), Rules { all: Some("generalised:0.3".parse().unwrap()), on: Vec::new() });
        let both = all("disk:circular,flash:d-choices:7");
        assert_eq!(both.on, [(Medium::Disk, Victim::Oldest), (Medium::Flash, Victim::Choices { among: 7 })]);
        assert_eq!((both.all, both.to_string().as_str()), (None, "disk:circular,flash:d-choices:7"));
        assert_eq!(all("smr:circular").on, [(Medium::Smr, Victim::Oldest)]);
        for wrong in
            ["", "best", "tape:greedy,disk:greedy", "disk:best", "disk:", "greedy,circular", "disk:greedy,disk:greedy"]
        {
            assert!(wrong.parse::<Rules>().is_err(), "{wrong}");
        }
    }
}
