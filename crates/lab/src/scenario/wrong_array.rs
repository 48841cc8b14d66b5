//! Why the section of an array makes none.

use cygnus_inplace::{LayoutError, Level};
use cygnus_policy::Preset;

/// What is wrong with an `[[array]]`, and the remedy; the error that it becomes part of has file and line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WrongArray {
    /// There is no preset of that name.
    #[error("unknown preset {preset:?}; the presets are {}", presets())]
    Preset {
        /// What is there.
        preset: String,
    },
    /// An array that writes a log has R-groups.
    #[error("{0} takes raid = \"K+M\", and no drives = N")]
    LogShape(String),
    /// An array without R-groups has no place for data.
    #[error("groups = 0: an array has at least one R-group; leave it out for one")]
    NoGroups,
    /// An array that updates in place has devices and chunks.
    #[error("{0} updates in place: it takes drives = N and perhaps chunk, and nothing else")]
    InPlaceShape(String),
    /// Groups have shapes by medium, and no medium.
    #[error("raid by medium: say what the R-groups store on, media = [\"flash\", \"disk\"]")]
    NoMedia,
    /// How data moves that does not.
    #[error("{0}: data stays in this array; set autonomics = true, or leave it out")]
    Stays(&'static str),
    /// A rule for groups that take turns.
    #[error(
        "one-group-at-a-time: only R-groups that take turns are cleaned side by side; choose preset = \"swan\", or leave it out"
    )]
    NoTurns,
    /// What is about copies, where none are made.
    #[error("{0}: this array makes no copies; set protection = \"two-phase\", or leave it out")]
    NoCopies(&'static str),
    /// Conversions wait, where drives convert nothing.
    #[error(
        "postponed-stripes: the drives of this array compute no parity; set protection = \"offload\", or leave it out"
    )]
    NoConversions,
    /// Devices and chunks do not fit the level.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

fn presets() -> String {
    let logs = Preset::ALL.iter().map(|preset| preset.name());
    logs.chain(Level::ALL.iter().map(|level| level.name())).collect::<Vec<_>>().join(", ")
}
