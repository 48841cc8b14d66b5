//! How data gets to where it should be.

use std::fmt;
use std::str::FromStr;

/// How data gets to where it should be, once that is decided. Both take the same decisions, by the same thresholds and budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Migration {
    /// The client's read that led to the decision has the data in memory, and that is what is written elsewhere (Triple-A, section 4.2).
    #[default]
    ShadowCloning,
    /// The data is read for the migration itself, after the client's read: once more from where others are in the way. It is what the
    /// paper compares shadow cloning with (section 6.5), and never better.
    Naive,
}

impl Migration {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::ShadowCloning, Self::Naive];

    /// The word for it in scenarios and stories.
    pub fn word(self) -> &'static str {
        match self {
            Self::ShadowCloning => "shadow-cloning",
            Self::Naive => "naive",
        }
    }
}

impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A word that names no way to migrate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMigration(pub String);

impl fmt::Display for UnknownMigration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no way to migrate: it is {} or {}", self.0, Migration::ShadowCloning, Migration::Naive)
    }
}

impl std::error::Error for UnknownMigration {}

impl FromStr for Migration {
    type Err = UnknownMigration;

    fn from_str(text: &str) -> Result<Self, UnknownMigration> {
        Self::ALL.into_iter().find(|way| way.word() == text).ok_or_else(|| UnknownMigration(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back_to_what_they_stand_for() {
        Migration::ALL.iter().for_each(|way| assert_eq!(way.word().parse(), Ok(*way)));
        let error = "cloning".parse::<Migration>().unwrap_err().to_string();
        assert_eq!(error, "\"cloning\" is no way to migrate: it is shadow-cloning or naive");
    }
}
