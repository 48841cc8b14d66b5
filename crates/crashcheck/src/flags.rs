//! Flags of the command line, by pairs of name and value.

use std::collections::BTreeMap;

use cygnus_crashcheck::rounds::UnknownAck;

/// What is wrong with a command line.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// It stands where a flag should.
    #[error("unexpected argument {0:?}")]
    Argument(String),
    /// The flag is the last word.
    #[error("{0} needs a value")]
    NoValue(String),
    /// The flag takes numbers.
    #[error("--{name} {value:?} is not a number")]
    Number { name: String, value: String },
    /// There is no such flag.
    #[error("unknown flag --{0}")]
    Unknown(String),
    /// The flag must be given.
    #[error("--{0} is missing")]
    Missing(&'static str),
    /// No such level.
    #[error(transparent)]
    Ack(#[from] UnknownAck),
    /// These flags contradict each other.
    #[error("{0}")]
    Contradiction(&'static str),
}

/// `--name value` pairs not used yet.
pub struct Flags(BTreeMap<String, String>);

impl Flags {
    pub fn collect(mut args: impl Iterator<Item = String>) -> Result<Self, UsageError> {
        let mut flags = BTreeMap::new();
        while let Some(arg) = args.next() {
            let Some(name) = arg.strip_prefix("--") else { return Err(UsageError::Argument(arg)) };
            let Some(value) = args.next() else { return Err(UsageError::NoValue(arg)) };
            flags.insert(name.to_owned(), value);
        }
        Ok(Flags(flags))
    }

    pub fn text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    pub fn needed(&mut self, name: &'static str) -> Result<String, UsageError> {
        self.text(name).ok_or(UsageError::Missing(name))
    }

    pub fn number(&mut self, name: &str, default: u64) -> Result<u64, UsageError> {
        let Some(value) = self.text(name) else { return Ok(default) };
        value.parse().map_err(|_| UsageError::Number { name: name.into(), value })
    }

    pub fn none_left(&self) -> Result<(), UsageError> {
        self.0.keys().next().map_or(Ok(()), |name| Err(UsageError::Unknown(name.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named() {
        let said = |line: &str, use_it: fn(&mut Flags) -> Result<u64, UsageError>| {
            let flags = Flags::collect(line.split_whitespace().map(str::to_owned));
            flags.and_then(|mut flags| use_it(&mut flags)).map_err(|error| error.to_string())
        };
        let rounds = |flags: &mut Flags| flags.number("rounds", 20);
        assert_eq!((said("", rounds), said("--rounds 3", rounds)), (Ok(20), Ok(3)));
        assert_eq!(said("--rounds x", rounds), Err("--rounds \"x\" is not a number".into()));
        assert_eq!(said("rounds", rounds), Err("unexpected argument \"rounds\"".into()));
        assert_eq!(said("--rounds", rounds), Err("--rounds needs a value".into()));
        assert_eq!(said("--turns 3", |flags| flags.none_left().map(|()| 0)), Err("unknown flag --turns".into()));
        assert_eq!(said("", |flags| flags.needed("dir").map(|_| 0)), Err("--dir is missing".into()));
    }
}
