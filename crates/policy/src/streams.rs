//! Which of clients' writes share segments: a policy point.

use std::fmt;
use std::str::FromStr;

/// Which of clients' writes share segments (SALSA section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// All of a reactor.
    Together,
    /// What goes to ranges that are often overwritten is kept apart ([`Heat`](crate::Heat)).
    ByHeat,
    /// Each volume has one of [`Streams::OF_VOLUMES`] by turns, clients' writes and what cleaning moves: a segment holds blocks of one
    /// volume, or of those that share its stream.
    ByVolume,
}

/// A word that names no choice of streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStreams(String);

impl Streams {
    /// All choices.
    pub const ALL: [Streams; 3] = [Streams::Together, Streams::ByHeat, Streams::ByVolume];
    /// Streams among which volumes are dealt out: each costs a reactor an open segment, and a flush the rest of a stripe.
    pub const OF_VOLUMES: u32 = 4;

    /// Its name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Streams::Together => "together",
            Streams::ByHeat => "heat",
            Streams::ByVolume => "volume",
        }
    }

    /// The number under which superblocks keep it.
    pub fn to_number(self) -> u64 {
        match self {
            Streams::Together => 0,
            Streams::ByHeat => 1,
            Streams::ByVolume => 2,
        }
    }

    /// Streams of clients' writes beside the common one.
    pub fn beside(self) -> u32 {
        match self {
            Streams::Together => 0,
            Streams::ByHeat => 1,
            Streams::ByVolume => Self::OF_VOLUMES - 1,
        }
    }

    /// Streams of what cleaning moves beside the common one.
    pub fn of_cleaning_beside(self) -> u32 {
        match self {
            Streams::Together | Streams::ByHeat => 0,
            Streams::ByVolume => Self::OF_VOLUMES - 1,
        }
    }

    /// The choice of this number, if there is one.
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|streams| streams.to_number() == number)
    }
}

impl fmt::Display for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Streams {
    type Err = UnknownStreams;

    fn from_str(text: &str) -> Result<Self, UnknownStreams> {
        Self::ALL.into_iter().find(|streams| streams.name() == text).ok_or_else(|| UnknownStreams(text.into()))
    }
}

impl fmt::Display for UnknownStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Streams::ALL.map(Streams::name).into();
        write!(f, "\"{}\" says nothing about streams: use one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownStreams {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_has_its_name_and_its_number() {
        for streams in Streams::ALL {
            assert_eq!(streams.to_string().parse(), Ok(streams));
            assert_eq!(Streams::from_number(streams.to_number()), Some(streams));
        }
        assert_eq!(Streams::from_number(99), None);
        assert!("hot".parse::<Streams>().unwrap_err().to_string().ends_with("use one of together, heat, volume"));
    }
}
