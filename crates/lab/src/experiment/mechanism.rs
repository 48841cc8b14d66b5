//! What drives of the field do and those of a preset do not, each by itself, and how a scenario switches it on.

use std::fmt;
use std::str::FromStr;

use toml::{Table, Value};

use super::scale::Scale;
use crate::error::ScenarioError;
use crate::scenario::Scenario;

/// Something that drives of flash do beyond what their preset says. Where each is taken from is told in
/// `docs/devices.md`: none from a figure that it is to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanism {
    name: &'static str,
    label: &'static str,
    about: &'static str,
    /// Keys of a section that describes drives, as TOML. `{hour}` is what an hour of the field takes.
    keys: &'static str,
}

/// A word that names no mechanism.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no mechanism \"{0}\": there are {names}", names = Mechanism::ALL.map(Mechanism::name).join(", "))]
pub struct NoMechanism(String);

/// An hour of the field in the paper's seconds: a run of two hours has some seven hundred, in which six slow ones of a drive are to be
/// expected.
const HOUR: f64 = 10.0;

impl Mechanism {
    /// A die empties a whole victim, and serves nothing else meanwhile.
    pub const BURSTS: Self = Self {
        name: "bursts",
        label: "bursts",
        about: "Drives collect in bursts: a die empties a whole victim, and serves nothing else meanwhile",
        keys: "override.ssd.gc.bursts = { idle = \"100ms\", together = false }",
    };
    /// 128 GiB of flash sold as 120 GB.
    pub const SPARE_14_5: Self = Self {
        name: "spare-14.5",
        label: "spare 14.5 %",
        about: "Drives have a spare of 14.5 %, as 128 GiB of flash sold as 120 GB",
        keys: "override.ssd.spare = 0.145",
    };
    /// 128 GiB of flash sold as 128 GB.
    pub const SPARE_7_4: Self = Self {
        name: "spare-7.4",
        label: "spare 7.4 %",
        about: "Drives have a spare of 7.4 %, as 128 GiB of flash sold as 128 GB",
        keys: "override.ssd.spare = 0.074",
    };
    /// What was deleted stays valid until it is overwritten.
    pub const TRIMS_IGNORED: Self = Self {
        name: "trims-ignored",
        label: "trims ignored",
        about: "Drives ignore trims: what was trimmed is moved by collection until it is overwritten",
        keys: "override.ssd.ignores_trims = true",
    };
    /// Hours in which drives of a group are slow, as often as in the field.
    pub const SLOW_PHASES: Self = Self {
        name: "slow-phases",
        label: "slow phases",
        about: "Drives have slow hours, as many as a study of the field counts; such an hour takes 10 s of the paper's time",
        keys: "unequal = { slow-hour = \"{hour}\" }",
    };
    /// Drives of one make that are not alike.
    pub const UNEQUAL: Self = Self {
        name: "unequal",
        label: "unequal",
        about: "Drives of one make differ, by up to 10 % in speed and 20 % in spare and age; the preset's is the best one",
        keys: "unequal = { speed = \"10%\", spare = \"20%\", age = \"20%\" }",
    };
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::BURSTS, Self::SPARE_14_5, Self::SPARE_7_4, Self::TRIMS_IGNORED, Self::SLOW_PHASES, Self::UNEQUAL];

    /// The word that names it.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Its name in figures.
    pub fn label(self) -> &'static str {
        self.label
    }

    /// The title of a chart or an experiment whose drives do this.
    pub(super) fn titled(self, title: &str) -> String {
        format!("{title} (mechanism: {})", self.label)
    }

    /// What drives do, in a sentence without a full stop.
    pub fn about(self) -> &'static str {
        self.about
    }

    fn keys(self, scale: Scale) -> Table {
        let text = self.keys.replace("{hour}", &scale.seconds(HOUR));
        text.parse().expect("keys of mechanisms are TOML")
    }

    /// The text of a scenario in which all modelled drives of flash do this too; nothing if it has none of these. What the scenario itself
    /// says of the same keys is replaced.
    ///
    /// # Errors
    /// When the text is no scenario. Whether its drives can do this is for the one to find out who reads what it has become.
    pub fn switched_on(self, file: &str, scenario: &str, scale: Scale) -> Result<Option<String>, ScenarioError> {
        let sections = Scenario::parse(file, scenario)?.flash_sections();
        if sections.is_empty() {
            return Ok(None);
        }
        let mut table: Table = scenario.parse().expect("it was read");
        for section in sections {
            let drives = table.get_mut(section).and_then(Value::as_table_mut).expect("it was read");
            merge(drives, self.keys(scale));
        }
        Ok(Some(toml::to_string(&table).expect("what was read can be written")))
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for Mechanism {
    type Err = NoMechanism;

    fn from_str(name: &str) -> Result<Self, NoMechanism> {
        let known = Self::ALL.into_iter().find(|mechanism| mechanism.name == name);
        known.ok_or_else(|| NoMechanism(name.into()))
    }
}

/// Puts all values of `from` into a table; tables that both have are merged.
fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(value)) => merge(below, value),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "name = \"a\"\n[devices]\npreset = \"850-pro\"\nscale = 8.0\noverride.ssd.spare = 0.07\n\
        override.ssd.flash = { t_read = \"100us\" }\n[[array]]\npreset = \"raid0\"\ndrives = 2\n[[workload.fio]]\nname = \"b\"\n\
        [run]\nduration = \"1s\"\n";

    fn with(mechanism: Mechanism) -> String {
        let scale = Scale::new(8.0).expect("it is in bounds");
        mechanism.switched_on("a", SCENARIO, scale).unwrap_or_else(|error| panic!("{error}")).expect("it has flash")
    }

    #[test]
    fn each_is_known_by_its_name_alone() {
        for mechanism in Mechanism::ALL {
            assert_eq!(mechanism.to_string().parse(), Ok(mechanism));
        }
        let error = "burst".parse::<Mechanism>().unwrap_err().to_string();
        let all = "bursts, spare-14.5, spare-7.4, trims-ignored, slow-phases, unequal";
        assert_eq!(error, format!("there is no mechanism \"burst\": there are {all}"));
    }

    #[test]
    fn a_scenario_keeps_all_but_what_the_mechanism_says() {
        let ssd = |text: &str| text.parse::<Table>().expect("it is TOML")["devices"]["override"]["ssd"].clone();
        let (before, spare, bursts) = (ssd(SCENARIO), ssd(&with(Mechanism::SPARE_7_4)), ssd(&with(Mechanism::BURSTS)));
        assert_eq!((spare["spare"].as_float(), &spare["flash"]), (Some(0.074), &before["flash"]));
        assert_eq!((&bursts["spare"], &bursts["flash"]), (&before["spare"], &before["flash"]));
        assert_eq!(bursts["gc"]["bursts"]["idle"].as_str(), Some("100ms"));
    }

    #[test]
    fn hours_are_as_much_shorter_as_the_drives_are_smaller() {
        assert!(with(Mechanism::SLOW_PHASES).contains("slow-hour = \"1.250s\""));
    }

    #[test]
    fn several_are_switched_on_one_after_the_other() {
        let scale = Scale::new(8.0).expect("it is in bounds");
        let both = Mechanism::UNEQUAL.switched_on("a", &with(Mechanism::SLOW_PHASES), scale);
        let table: Table = both.expect("drives can do both").expect("it has flash").parse().expect("it is TOML");
        let unequal = table["devices"]["unequal"].as_table().expect("it was put there");
        assert_eq!(unequal.keys().collect::<Vec<_>>(), ["age", "slow-hour", "spare", "speed"]);
    }

    #[test]
    fn drives_without_flash_do_nothing_of_it() {
        let null = SCENARIO.replace("\"850-pro\"\nscale = 8.0", "\"null\"\ncapacity = \"1GiB\"");
        let lines = null.lines().filter(|line| !line.starts_with("override"));
        let null: String = lines.map(|line| line.to_owned() + "\n").collect();
        for mechanism in Mechanism::ALL {
            assert_eq!(mechanism.switched_on("a", &null, Scale::FULL), Ok(None));
        }
    }
}
