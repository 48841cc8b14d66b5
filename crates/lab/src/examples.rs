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
pub const EXAMPLES: [Example; 10] = [
    example!("example"),
    example!("tiny"),
    example!("swan-vs-log-raid"),
    example!("disks"),
    example!("steady-state"),
    example!("log-on-log"),
    example!("triple-a"),
    example!("salsa"),
    example!("hybrid"),
    example!("streams"),
];

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

    /// Others lie beside them, for people and for sweeps.
    #[test]
    fn all_files_beside_them_are_scenarios() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut scenarios = 0;
        for file in std::fs::read_dir(directory).expect("it is part of the source") {
            let path = file.expect("it can be listed").path();
            let text = std::fs::read_to_string(&path).expect("it can be read");
            if text.contains("\n[[array]]\n") {
                Scenario::parse(&path.to_string_lossy(), &text).unwrap_or_else(|error| panic!("{error}"));
                scenarios += 1;
            }
        }
        assert!(scenarios >= EXAMPLES.len());
    }

    /// The example with a workload that is a comment in it in place of its jobs.
    fn with_workload(heading: &str, more: &str) -> Result<Scenario, crate::ScenarioError> {
        let text = EXAMPLES[0].text;
        let begins = text.find(&format!("# {heading}\n")).unwrap_or_else(|| panic!("{heading} is not explained"));
        let block = text[begins..].split("\n\n").next().expect("there is a first part");
        let block: String = block.lines().map(|line| format!("{}\n", line.trim_start_matches("# "))).collect();
        let jobs = text.find("[[workload.fio]]").expect("it has jobs")..text.find("# YCSB on").expect("and more");
        Scenario::parse("example", &text.replace(&text[jobs], &format!("{block}{more}\n")))
    }

    #[test]
    fn every_setting_of_every_workload_is_explained() {
        for heading in ["[[workload.ycsb]]", "[workload.objects]", "[workload.replay]", "[workload.synth]"] {
            with_workload(heading, "").unwrap_or_else(|error| panic!("{heading}: {error}"));
            let error = with_workload(heading, "no-such-setting = 1").unwrap_err().message;
            let settings: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
            assert!(settings.len() > 5, "{error}");
            for setting in settings {
                let line = format!("\n# {setting} = ");
                assert!(EXAMPLES[0].text.contains(&line), "{heading}: {setting} is not explained");
            }
        }
    }
}
