//! The scenarios that come with the lab.

/// A scenario that comes with the lab.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What to call it by.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! example {
    ($name:literal) => {
        Example { name: $name, text: include_str!(concat!("../../../scenarios/", $name, ".toml")) }
    };
}

/// All of them.
pub const EXAMPLES: [Example; 5] =
    [example!("example"), example!("tiny"), example!("swan-vs-log-raid"), example!("disks"), example!("steady-state")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    #[test]
    fn examples_are_scenarios() {
        for example in EXAMPLES {
            let scenario = Scenario::parse(example.name, example.text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(scenario.name(), example.name);
            assert!(!scenario.about().is_empty(), "{} says what it is about", example.name);
        }
    }
}
