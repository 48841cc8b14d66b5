//! Why a text is no story.

use cygnus_format::GeometryError;
use cygnus_policy::UnknownPreset;
use cygnus_types::{OneTier, ParseMediumError};

/// A story cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct StoryError {
    /// Line, counted from 1; 0 where the text ends too early.
    pub line: usize,
    /// What is wrong with it.
    pub why: WrongLine,
}

/// What is wrong with a line of a story.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongLine {
    /// The text ends before this line.
    #[error("no line {0:?}")]
    Missing(&'static str),
    /// Another line is where this one belongs.
    #[error("not a line {0:?}")]
    OtherLine(&'static str),
    /// Words are missing.
    #[error("the line ends too early")]
    EndsEarly,
    /// There are more words than belong there.
    #[error("{0:?} is too much")]
    TooMuch(String),
    /// A word is no value of its sort.
    #[error("{0:?} is not what belongs there")]
    NoValue(String),
    /// Another word is where this one belongs.
    #[error("{word:?} where {wanted:?} belongs")]
    OtherWord {
        /// What is there.
        word: String,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A word is none of those that may stand there.
    #[error("{word:?} {is_not}")]
    NoneOf {
        /// What is there.
        word: String,
        /// What it is not, as the rest of a sentence.
        is_not: &'static str,
    },
    /// There is no preset of that name.
    #[error(transparent)]
    Preset(#[from] UnknownPreset),
    /// The shape of groups is no data and parity.
    #[error("raid is k+m")]
    Raid,
    /// Segments, stripes and chunks do not fit together.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// There is no medium of that name.
    #[error(transparent)]
    Medium(#[from] ParseMediumError),
    /// A hybrid volume would be on one medium.
    #[error(transparent)]
    Tiers(#[from] OneTier),
    /// Zoned flash is smaller than it can be.
    #[error("flash has zones of at least {least} blocks, and more than 4 active ones")]
    Flash {
        /// Blocks.
        least: u32,
    },
    /// A segment would end within a zone.
    #[error("segments of {segment} blocks are not whole zones of {zone}")]
    Zones {
        /// Blocks.
        segment: u32,
        /// Blocks.
        zone: u32,
    },
    /// Pages have other lengths.
    #[error("there are no pages of {0} blocks")]
    Pages(u8),
    /// The array has fewer devices.
    #[error("{name:?} is none of the {devices} devices")]
    Device {
        /// What is there.
        name: String,
        /// How many there are, counted from d0.
        devices: usize,
    },
    /// Something of a cycle is before the first one.
    #[error("this belongs into a cycle")]
    NoCycle,
    /// A request is before the first client of its cycle.
    #[error("a request belongs to a client")]
    NoClient,
}

impl WrongLine {
    pub(super) fn none_of(word: impl Into<String>, is_not: &'static str) -> Self {
        Self::NoneOf { word: word.into(), is_not }
    }
}
