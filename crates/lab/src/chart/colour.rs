//! One colour for each scheme, the same in every figure.

/// Whose data a curve or a bar shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Drives without an array.
    Raw,
    /// In place without redundancy.
    Raid0,
    /// In place with a parity drive.
    Raid4,
    /// In place with parity on all drives.
    Raid5,
    /// One log over all drives.
    LogRaid,
    /// Groups that take turns.
    Swan,
    /// Single drives that take turns.
    Serial,
    /// An equation.
    Model,
    /// What was published.
    Paper,
    /// Reads, beside writes in a scheme's colour.
    Reads,
}

impl Scheme {
    /// Its colour. They are Okabe and Ito's, told apart by the colour-blind too.
    pub fn colour(self) -> &'static str {
        match self {
            Scheme::Raw => "#333333",
            Scheme::Raid0 => "#009e73",
            Scheme::Raid4 => "#56b4e9",
            Scheme::Raid5 => "#cc79a7",
            Scheme::LogRaid => "#e69f00",
            Scheme::Swan => "#0072b2",
            // Not theirs: a ninth one that is told from the others.
            Scheme::Serial => "#5d3a9b",
            Scheme::Model => "#7f7f7f",
            Scheme::Paper => "#9a9a9a",
            Scheme::Reads => "#d55e00",
        }
    }

    /// Whether its curves are dashed: what was not measured here.
    pub(super) fn is_dashed(self) -> bool {
        matches!(self, Scheme::Model | Scheme::Paper)
    }
}
