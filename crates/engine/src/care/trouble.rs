//! Trouble: what the device of a member did not do, and what that makes of the member.
//!
//! | trouble | seen as | its member, should it leave | is read meanwhile |
//! |---|---|---|---|
//! | full | a write for which the file system below has no room | missing | yes |
//! | erring | a write or flush that fails, and nobody says whether for good | missing; failed when it happens again and again | yes |
//! | failing | a write or flush that ends with an error of the medium | failed | yes |
//! | hung | no answer for as long as the patience says | missing | no |
//! | barred | it is there, and somebody does not let us: it is read-only, or has a permission or a reservation against us | missing | no |
//! | gone | the device is not there, or the way to it is lost | missing | no |
//! | short | it ends before it did; of files only in arrays in place, as others know by checksums what they read | failed | no |
//!
//! Whichever reactor submitted the operation notices; from then on no reactor writes to the device, and what it should have
//! got is *owed* to it and stays in memory ([`crate::write::writer`]). Whether the member leaves service or is awaited is the home
//! reactor's decision alone ([`crate::care::guardian`]).

use cygnus_format::MemberState;
use cygnus_runtime::{IoClass, IoErrorKind};

/// See the module's text. The greater one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Trouble {
    /// The file system below has no room.
    Full = 1,
    /// Writes or flushes fail, which may pass.
    Erring,
    /// Writes or flushes fail because of the medium.
    Failing,
    /// No answer.
    Hung,
    /// Somebody does not let us.
    Barred,
    /// Not there.
    Gone,
    /// It has become smaller.
    Short,
}

impl Trouble {
    const ALL: [Self; 7] = [Self::Full, Self::Erring, Self::Failing, Self::Hung, Self::Barred, Self::Gone, Self::Short];

    /// The one that a byte stands for; 0 stands for none.
    pub(crate) fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|trouble| *trouble as u8 == byte)
    }

    /// What an error says of the device; `None`: of the range alone, or nothing that matters.
    pub fn of_error(class: IoClass, kind: IoErrorKind) -> Option<Self> {
        match (class, kind) {
            // Whoever opens it anew knows already that it was gone.
            (IoClass::Reopen, _) => None,
            (_, IoErrorKind::Gone | IoErrorKind::Path) => Some(Self::Gone),
            (_, IoErrorKind::Refused) => Some(Self::Barred),
            (_, IoErrorKind::Hung) => Some(Self::Hung),
            (IoClass::Read | IoClass::Trim, _) => None,
            // A drive that does not convert: it read what it could not read, or has no such command.
            (IoClass::Extra, IoErrorKind::Medium | IoErrorKind::Range | IoErrorKind::Unsupported) => None,
            (_, IoErrorKind::NoSpace) => Some(Self::Full),
            (_, IoErrorKind::CutShort) => Some(Self::Short),
            (_, kind) if kind.may_pass() => Some(Self::Erring),
            _ => Some(Self::Failing),
        }
    }

    /// For people, behind the name of the device.
    pub fn words(self) -> &'static str {
        match self {
            Self::Full => "the file system below is full",
            Self::Erring => "writes fail",
            Self::Failing => "its medium fails",
            Self::Hung => "it gives no answer",
            Self::Barred => "it does not let itself be written: see whether it is read-only, or somebody else has it",
            Self::Gone => "it is gone",
            Self::Short => "it has become smaller than it was",
        }
    }

    /// Whether it has to be opened anew when it is back.
    pub fn is_away(self) -> bool {
        matches!(self, Self::Barred | Self::Gone)
    }

    /// Whether what the device holds can be read meanwhile.
    pub fn is_readable(self) -> bool {
        matches!(self, Self::Full | Self::Erring | Self::Failing)
    }

    /// What a member becomes that leaves because of it.
    pub fn state(self) -> MemberState {
        match self {
            Self::Failing | Self::Short => MemberState::Failed,
            Self::Full | Self::Erring | Self::Hung | Self::Barred | Self::Gone => MemberState::Missing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_device_refuses_to_take_is_held_against_it() {
        use IoErrorKind::{CutShort, Gone, Hung, Medium, NoSpace, Path, Refused, Unclear};
        for (class, kind, expected) in [
            (IoClass::Read, Medium, None),
            (IoClass::Trim, Medium, None),
            (IoClass::Read, Gone, Some(Trouble::Gone)),
            (IoClass::Trim, Hung, Some(Trouble::Hung)),
            (IoClass::Write, NoSpace, Some(Trouble::Full)),
            (IoClass::Flush, Medium, Some(Trouble::Failing)),
            (IoClass::Write, Unclear, Some(Trouble::Erring)),
            (IoClass::Read, Unclear, None),
            (IoClass::Read, Path, Some(Trouble::Gone)),
            (IoClass::Reopen, Gone, None),
            (IoClass::Write, Refused, Some(Trouble::Barred)),
            (IoClass::Write, CutShort, Some(Trouble::Short)),
            (IoClass::Read, CutShort, None),
        ] {
            assert_eq!(Trouble::of_error(class, kind), expected, "{class:?} {kind:?}");
        }
        for trouble in Trouble::ALL {
            assert_eq!(Trouble::of_byte(trouble as u8), Some(trouble));
        }
        assert_eq!(Trouble::of_byte(0), None);
    }
}
