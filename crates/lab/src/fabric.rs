//! The network of flash modules that a scenario may put before its drives.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cygnus_engine::Link;
use cygnus_fabric::{Cluster, FabricError, ShorthandError, Topology};
use cygnus_policy::PageTimes;
use cygnus_types::{BLOCK, Nanos};
use serde::Deserialize;

use crate::scenario::drive_name;

/// What hangs between the array and its drives; described in one of three ways. The array's device number n is module n.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct FabricSection {
    /// `"4x16"`
    topology: Option<String>,
    /// A topology file, beside the scenario if its path is relative.
    file: Option<PathBuf>,
    /// The text of one.
    description: Option<String>,
    /// Requests that the root complex takes at a time, instead of the topology's.
    queue: Option<u32>,
    /// Whether a cluster's bus serves other modules while one works, instead of what the topology says.
    interleave: Option<bool>,
}

/// A network that a section describes.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub topology: Topology,
    /// What was read from a file, so that the scenario can be kept without it.
    pub read: Option<String>,
}

/// Why a section describes none.
pub(crate) enum NoNetwork {
    /// Something in the section.
    Section(String),
    /// Something in the file that it names.
    File(FabricError),
}

/// More than anybody writes by hand: what is longer is a device, and would fill the memory.
const LONGEST: u64 = 16 << 20;

/// The text of a topology file.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    match read as u64 > LONGEST {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 16 MiB, so it is no such file")),
        false => Ok(text),
    }
}

impl FabricSection {
    /// The network that is meant. `directory` is the scenario's.
    pub fn network(&self, directory: &Path) -> Result<Network, NoNetwork> {
        let section = |why: String| NoNetwork::Section(why);
        let (topology, read) = match (&self.topology, &self.file, &self.description) {
            (Some(shorthand), None, None) => {
                let meant = Topology::from_shorthand(shorthand);
                (meant.map_err(|error| section(remedied(&error)))?, None)
            }
            (None, Some(file), None) => {
                let path = directory.join(file);
                let name = path.display().to_string();
                let text = read(&path).map_err(|error| {
                    section(format!("{name}: {error}; name a topology file, or write topology = \"4x16\""))
                })?;
                (Topology::parse(&name, &text).map_err(NoNetwork::File)?, Some(text))
            }
            (None, None, Some(text)) => {
                let parsed = Topology::parse("description", text);
                (parsed.map_err(|error| section(error.to_string()))?, None)
            }
            _ => return Err(section("describe one network: topology = \"4x16\", or file, or description".into())),
        };
        let topology = match self.queue {
            Some(0) => return Err(section("queue of 0: nothing could ever pass; give at least 1".into())),
            Some(queue) => topology.with_queue(queue),
            None => topology,
        };
        let topology = match self.interleave {
            Some(interleave) => topology.with_interleaving(interleave),
            None => topology,
        };
        Ok(Network { topology, read })
    }
}

/// What is wrong with a shorthand, and how a file is named instead.
fn remedied(error: &ShorthandError) -> String {
    if error.has_other_form() { format!("{error}, or name a file by file = \"...\"") } else { error.to_string() }
}

/// The modules behind a network.
pub(crate) struct Modules<'a> {
    pub topology: &'a Topology,
    /// What a page takes in one of them, if that is known.
    pub sense: Option<Nanos>,
}

impl Modules<'_> {
    /// The link of each cluster that has some of so many drives: the cluster's bus, below its switch.
    pub fn links(&self, drives: u32) -> Vec<Link> {
        let link = |(cluster, described): (usize, &Cluster)| Link {
            name: self.topology.cluster_name(cluster).into(),
            devices: self
                .topology
                .modules_of(cluster)
                .filter(|&n| n < drives)
                .map(|n| drive_name(n as usize))
                .collect(),
            switch: self.topology.switch_of(cluster),
            times: self.sense.map(|exe| PageTimes { dma: described.over_bus(BLOCK as u64), exe }),
            declared_at: None,
        };
        let clusters = self.topology.clusters().iter().enumerate();
        clusters.map(link).filter(|link| !link.devices.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use cygnus_engine::Autonomics;
    use cygnus_fabric::Topology;
    use cygnus_policy::{AutonomicsRule, Migration, PageTimes};
    use cygnus_types::Nanos;

    use crate::fabric::Modules;
    use crate::{Scenario, ScenarioError};

    const SCENARIO: &str = r#"name = "behind"
[devices]
preset = "fimm"
capacity = "4GiB"
[fabric]
topology = "1x2x2"
[[array]]
preset = "triple-a"
groups = 2
raid = "2+0"
segment = "1MiB"
[volume]
size = "256MiB"
[aging]
fill = "10%"
[[workload.fio]]
name = "reads"
read = 80
size = "25MiB"
depth = 32
[run]
duration = "3ms"
sample = "1ms"
"#;

    fn with(old: &str, new: &str) -> Result<Scenario, ScenarioError> {
        assert!(SCENARIO.contains(old), "{old}");
        Scenario::parse("behind.toml", &SCENARIO.replacen(old, new, 1))
    }

    #[test]
    fn what_makes_no_sense_is_refused_where_it_stands() {
        let error = |old, new| with(old, new).expect_err(new).to_string();
        assert!(error("1x2x2", "1x2x").starts_with("behind.toml:5:"), "{}", error("1x2x2", "1x2x"));
        let named = error("topology = \"1x2x2\"", "topology = \"net.toml\"");
        assert!(named.contains("name a file by file = "), "{named}");
        assert!(error("groups = 2", "groups = 3").contains("6 devices, and the fabric has 4 modules"));
        assert!(error("\"fimm\"", "\"null\"").contains("only modelled drives of flash"));
        assert!(error("topology = \"1x2x2\"", "topology = \"1x2x2\"\nqueue = 0").contains("queue of 0"));
        assert!(error("topology = \"1x2x2\"", "").contains("describe one network"));
        assert!(error("topology = \"1x2x2\"", "file = \"/no/such/file\"").contains("/no/such/file: "));
        assert!(error("topology = \"1x2x2\"", "file = \"/dev/zero\"").contains("/dev/zero: longer than 16 MiB"));
        let described = error("topology = \"1x2x2\"", "description = \"name = 'x'\\n[root]\\nname = 3\"");
        assert!(described.contains("description:3:"), "{described}");
    }

    #[test]
    fn links_of_a_network_know_their_switches_and_what_a_page_takes() {
        let topology = Topology::from_shorthand("2x2x2").expect("it is one");
        let modules = Modules { topology: &topology, sense: Some(Nanos::micros(75)) };
        let links = modules.links(7);
        let devices: Vec<_> = links.iter().map(|link| link.devices.join(",")).collect();
        assert_eq!(devices, ["d0,d1", "d2,d3", "d4,d5", "d6"]);
        let is_below_one = |one: usize, other: usize| links[one].switch == links[other].switch;
        assert!(is_below_one(0, 1) && is_below_one(2, 3) && !is_below_one(1, 2), "{links:?}");
        // 4096 bytes at 800 MB/s.
        let times = PageTimes { dma: Nanos(5_120), exe: Nanos::micros(75) };
        assert!(links.iter().all(|link| link.times == Some(times)), "{links:?}");
    }

    #[test]
    fn moves_are_paid_for_by_the_flash_that_modules_stand_for() {
        let flash = with("raid = \"2+0\"", "raid = \"2+0\"\nbudget-of = \"16TiB\"");
        let scenario = flash.unwrap_or_else(|error| panic!("{error}"));
        let by = Autonomics::By(AutonomicsRule::for_blocks(4 << 30));
        assert_eq!(scenario.arrays().next().map(|array| array.autonomics(1 << 30)), Some(by));
        let keys = "raid = \"2+0\"\nmigration = \"naive\"\nqueue = 1000";
        let naively = with("raid = \"2+0\"", keys).unwrap_or_else(|error| panic!("{error}"));
        let usual = AutonomicsRule::for_blocks(1 << 18);
        let by = Autonomics::By(AutonomicsRule { migration: Migration::Naive, queue: 1000, ..usual });
        assert_eq!(naively.arrays().next().map(|array| array.autonomics(1 << 30)), Some(by));
        let with_clients =
            with("raid = \"2+0\"", "raid = \"2+0\"\ntargets = 0").unwrap_or_else(|error| panic!("{error}"));
        let by = Autonomics::By(AutonomicsRule { targets: 0, ..usual });
        assert_eq!(with_clients.arrays().next().map(|array| array.autonomics(1 << 30)), Some(by));
        let many = with("raid = \"2+0\"", "raid = \"2+0\"\ntargets = 9").expect_err("too many").to_string();
        assert!(many.contains("targets: at most 8"), "{many}");
        let stays = with("raid = \"2+0\"", "raid = \"2+0\"\nautonomics = false\nbudget-of = \"16TiB\"");
        let error = stays.expect_err("nothing is to be paid for").to_string();
        assert!(error.starts_with("behind.toml:7:") && error.contains("budget-of: data stays"), "{error}");
        let refused = |key: &str| {
            let keys = format!("raid = \"2+0\"\nautonomics = false\n{key}");
            with("raid = \"2+0\"", &keys).expect_err("nothing moves").to_string()
        };
        assert!(refused("migration = \"naive\"").contains("migration: data stays"));
        assert!(refused("targets = 0").contains("targets: data stays"));
        assert!(refused("queue = 650").contains("queue: data stays"));
        assert!(refused("queue = 0").contains("nonzero"), "{}", refused("queue = 0"));
        assert!(refused("migration = \"slow\"").contains("it is shadow-cloning or naive"));
    }

    #[test]
    fn a_topology_file_lies_beside_the_scenario_and_is_kept_with_the_run() {
        let dir = std::env::temp_dir().join(format!("cygnus-fabric-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory can be made");
        let text = include_str!("../../../scenarios/topology.toml");
        std::fs::write(dir.join("net.toml"), text).expect("it can be written");
        let scenario = SCENARIO.replace("topology = \"1x2x2\"", "file = \"net.toml\"");
        let name = dir.join("behind.toml").display().to_string();
        let read = Scenario::parse(&name, &scenario).unwrap_or_else(|error| panic!("{error}"));
        let kept = read.of_run(0, 1).text;
        let again = Scenario::parse("elsewhere/kept.toml", &kept).unwrap_or_else(|error| panic!("{error}"));
        let modules = |scenario: &Scenario| scenario.network.as_ref().map(|network| network.topology.modules());
        assert_eq!((modules(&read), modules(&again)), (Some(8), Some(8)));
        std::fs::write(dir.join("net.toml"), text.replace("width = 16", "width = 0")).expect("it can be written");
        let error = Scenario::parse(&name, &scenario).expect_err("no link has no lanes");
        assert!(error.file.ends_with("net.toml") && error.line == 37, "{error}");
        std::fs::remove_dir_all(&dir).expect("it is ours");
    }

    #[test]
    fn a_run_tells_what_each_cluster_waited_for_and_is_the_same_again() {
        let scenario = Scenario::parse("behind.toml", SCENARIO).unwrap_or_else(|error| panic!("{error}"));
        let run = || crate::run(&scenario, 0, 1, |_| ()).unwrap_or_else(|error| panic!("{error}"));
        let (outcome, again) = (run(), run());
        let names: Vec<_> = outcome.clusters.iter().map(|row| row.cluster.as_str()).collect();
        assert_eq!(names, ["s0e0", "s0e1"]);
        let files = crate::result_files(&scenario, &outcome);
        assert_eq!(files, crate::result_files(&scenario, &again));
        assert!(files.iter().any(|(name, text)| name == "clusters.csv" && text.lines().count() == 3));
        let drawn = files.iter().find(|(name, _)| name == "clusters.svg").map(|(_, text)| text.as_str());
        // Both buses were busy, so neither cluster is white.
        assert!(drawn.is_some_and(|svg| svg.matches("fill=\"#ff").count() == 2 && !svg.contains("fill=\"#ffffff")));
        assert!(
            outcome.requests > 100 && outcome.clusters.iter().all(|row| row.requests > 50),
            "{:?}",
            outcome.clusters
        );
        let sum = |parts: &[Option<u64>]| parts.iter().map(|part| part.expect("there were requests")).sum::<u64>();
        for row in &outcome.clusters {
            let (by_place, by_cause) = (
                sum(&[row.root_ns, row.switch_ns, row.endpoint_ns, row.module_ns]),
                sum(&[row.link_ns, row.storage_ns]),
            );
            // Each mean is rounded down.
            assert!(by_place.abs_diff(by_cause) <= 4 && Some(by_cause) < row.mean_ns && row.bus_milli > 0, "{row:?}");
        }
    }
}
