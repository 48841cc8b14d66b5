//! What a run was doing when something was found to be wrong.

use std::fmt;

/// A step of a run that says more about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The array is made.
    Making,
    /// The array is opened.
    Opening,
    /// The array is opened by force.
    OpeningByForce,
    /// The array is closed.
    Closing,
    /// Every block is read.
    Sweep,
    /// Everything is discarded, as there is no room for writes.
    Discarding,
    /// The array is scrubbed to the end.
    Scrub,
    /// R-groups are on their way out.
    Leaving,
    /// The stopped array is checked.
    Checking,
    /// The devices' caches are emptied before an opening by force.
    CachesBeforeForce,
    /// The stopped array is checked before an opening by force.
    CheckBeforeForce,
    /// Every block is read by itself after an opening by force.
    ReadingAfterForce,
    /// It is found out what a salvage cannot bring.
    BeforeSalvage,
    /// All volumes are salvaged.
    Salvage,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Making => "making the array",
            Self::Opening => "opening the array",
            Self::OpeningByForce => "opening the array by force",
            Self::Closing => "while closing",
            Self::Sweep => "in the sweep over the whole volume",
            Self::Discarding => "while there is no room for writes",
            Self::Scrub => "in the scrub",
            Self::Leaving => "waiting for R-groups to leave",
            Self::Checking => "checking the array",
            Self::CachesBeforeForce => "the caches before an opening by force",
            Self::CheckBeforeForce => "the check before an opening by force",
            Self::ReadingAfterForce => "reading after an opening by force",
            Self::BeforeSalvage => "before the salvage",
            Self::Salvage => "in the salvage",
        })
    }
}
