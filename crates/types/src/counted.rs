//! Numbers of things, for people.

use std::fmt;

/// Shows as "1 member" or "9 members".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted<'a> {
    count: u64,
    one: &'a str,
    many: Option<&'a str>,
}

/// A count with its noun: `one` is the singular, and the plural ends in "s".
pub fn counted<N: TryInto<u64>>(count: N, one: &str) -> Counted<'_> {
    Counted { count: count.try_into().unwrap_or(u64::MAX), one, many: None }
}

impl<'a> Counted<'a> {
    /// With a plural of its own: "inconsistencies", "were".
    pub fn or(self, many: &'a str) -> Self {
        Self { many: Some(many), ..self }
    }
}

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.count, self.many) {
            (1, _) => write!(f, "1 {}", self.one),
            (count, None) => write!(f, "{count} {}s", self.one),
            (count, Some(many)) => write!(f, "{count} {many}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1_usize, "R-group").to_string(), "1 R-group");
        assert_eq!(counted(0_u32, "R-group").to_string(), "0 R-groups");
        assert_eq!(counted(3_u64, "inconsistency").or("inconsistencies").to_string(), "3 inconsistencies");
    }
}
