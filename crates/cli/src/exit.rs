//! What the exit status of a command tells: one meaning each, for all commands.

use cygnus_control::status::{ArrayStatus, Condition};
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// As it was meant to, and whatever was judged is well.
    Done,
    /// The command could not do it. Nothing is said of the array.
    Failed,
    /// Nobody can mean that.
    Usage,
    /// What was judged works, and somebody should look.
    Attention,
    /// What was judged does not serve all that it should.
    Unavailable,
    /// Nobody knows whether the change was made.
    Unknown,
}

impl Exit {
    /// All of them, with the sentence that explains each; docs/exit-status.md has the same table.
    pub const ALL: [(Self, &str); 6] = [
        (Self::Done, "done; and what the command judges, if anything, is well"),
        (Self::Failed, "failed, refused, or answered with no; nothing is said of the array's health"),
        (Self::Usage, "wrong usage: nothing was done"),
        (Self::Attention, "attention: all data can be read and written, and something needs a hand"),
        (Self::Unavailable, "unavailable: the array, or data in it, cannot be read or written"),
        (Self::Unknown, "unknown: the server did not live to say whether it made the change"),
    ];

    /// The exit status that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Attention => 3,
            Self::Unavailable => 4,
            Self::Unknown => 5,
        }
    }

    /// What an array's status comes to.
    pub fn of_array(status: &ArrayStatus) -> Self {
        match status.condition() {
            Condition::Well => Self::Done,
            Condition::Attention => Self::Attention,
            Condition::Unavailable => Self::Unavailable,
        }
    }
}

impl From<()> for Exit {
    fn from((): ()) -> Self {
        Self::Done
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_the_table() {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exit-status.md");
        let document = std::fs::read_to_string(document).expect("docs/exit-status.md");
        for (number, (exit, text)) in (0..).zip(Exit::ALL) {
            assert_eq!(exit.code(), number);
            let row = format!("| {number} | {text} |");
            assert!(document.contains(&row), "docs/exit-status.md lacks: {row}");
        }
    }
}
