//! What makes safe what a stripe holds before it is full: a policy point.

use std::fmt;
use std::str::FromStr;

use crate::Preset;

/// What a flush does about the open stripe of clients' writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntilFull {
    /// It ends the stripe, with padding, headers and parity.
    FullStripe,
    /// What is new is copied to as many members as the stripe will have parity, which follows when it is full (ScalaAFA, section 3.1).
    TwoPhase,
    /// The same, or these members get the parity of the rows in which the new blocks lie, where that is less (SALSA, section 3.1).
    ParityBuffer,
    /// As two-phase, and those of these members that can compute the parity from their copies.
    Offload,
}

/// A word that names no such choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownUntilFull(String);

impl UntilFull {
    /// All choices.
    pub const ALL: [UntilFull; 4] = [Self::FullStripe, Self::TwoPhase, Self::ParityBuffer, Self::Offload];

    /// Its name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FullStripe => "full-stripe",
            Self::TwoPhase => "two-phase",
            Self::ParityBuffer => "parity-buffer",
            Self::Offload => "offload",
        }
    }

    /// What a preset does about the stripes of an array with or without parity, if nothing else is asked for.
    pub fn of(preset: Preset, has_parity: bool) -> Self {
        match preset {
            Preset::Fusion if has_parity => Self::TwoPhase,
            Preset::ScalaAfa if has_parity => Self::Offload,
            _ => Self::FullStripe,
        }
    }

    /// Whether members need a transient area, in which they keep what makes open stripes safe.
    pub fn has_transient_area(self) -> bool {
        self != Self::FullStripe
    }
}

impl fmt::Display for UntilFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for UntilFull {
    type Err = UnknownUntilFull;

    fn from_str(text: &str) -> Result<Self, UnknownUntilFull> {
        Self::ALL.into_iter().find(|choice| choice.name() == text).ok_or_else(|| UnknownUntilFull(text.into()))
    }
}

impl fmt::Display for UnknownUntilFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = UntilFull::ALL.map(UntilFull::name).into();
        write!(f, "\"{}\" says nothing about open stripes: use one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownUntilFull {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_has_its_name() {
        for choice in UntilFull::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        let error = "copies".parse::<UntilFull>().unwrap_err().to_string();
        assert!(error.ends_with("use one of full-stripe, two-phase, parity-buffer, offload"), "{error}");
    }

    #[test]
    fn nothing_is_copied_where_there_is_no_parity() {
        assert!(Preset::ALL.into_iter().all(|preset| UntilFull::of(preset, false) == UntilFull::FullStripe));
        assert!(UntilFull::of(Preset::ScalaAfa, true).has_transient_area());
    }
}
