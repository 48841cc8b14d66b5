use cygnus_format::{MAX_ARRAY_NAME, valid_name};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The name of an array: one that a superblock can hold; safe as a file name, in a URI and in a shell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArrayName(String);

impl ArrayName {
    /// The name as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is no name.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{what} is 1 to {longest} of the characters A-Z a-z 0-9 . _ - and begins with a letter or a digit")]
pub struct BadName {
    /// Whose name it was to be.
    pub what: &'static str,
    /// Characters that it may have.
    pub longest: usize,
}

impl FromStr for ArrayName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        match valid_name(text, MAX_ARRAY_NAME) {
            true => Ok(Self(text.into())),
            false => Err(BadName { what: "an array's name", longest: MAX_ARRAY_NAME }),
        }
    }
}

impl fmt::Display for ArrayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
