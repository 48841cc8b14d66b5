//! Questions before data is destroyed. docs/destroying.md lists the commands that ask.

use crate::failure::Failure;
use std::io::{BufRead, IsTerminal};

/// Asks whether to do what destroys data, unless `yes` says so already. Only somebody at a terminal can be asked: without
/// one it is refused, whatever is piped in, and the act is told in `question` as in "Delete volume tank/vol0?".
pub fn confirm(question: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::Failed(format!("{question} There is no terminal to ask at: add --yes if so")));
    }
    eprint!("{question} [y/N] ");
    match is_yes(&mut std::io::stdin().lock()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::Failed("not confirmed: nothing was changed".into())),
        Err(error) => Err(Failure::Failed(format!("standard input: {error}"))),
    }
}

/// Only "y" and "yes" are; the end of the input is no.
fn is_yes(answer: &mut impl BufRead) -> std::io::Result<bool> {
    let mut line = String::new();
    answer.read_line(&mut line)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (text, expected) in [
            ("y\n", true),
            ("yes\n", true),
            ("YES", true),
            ("", false),
            ("\n", false),
            ("n\n", false),
            ("yep\n", false),
            ("no\ny\n", false),
        ] {
            assert_eq!(is_yes(&mut text.as_bytes()).unwrap(), expected, "{text:?}");
        }
    }
}
