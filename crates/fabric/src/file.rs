//! A topology as a file: what it may say, and checking that it is a network.

use std::collections::BTreeMap;

use cygnus_types::{ByteSize, Nanos};
use serde::{Deserialize, Deserializer, de};
use toml::Spanned;

use crate::error::FabricError;
use crate::pcie::{MAX_PAYLOAD, WIDTHS, Wires};
use crate::shorthand::{SWITCH, WIRES};
use crate::topology::{Cluster, Kind, Link, Node, Parts, Root, Topology};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    name: String,
    payload: Option<Spanned<u32>>,
    virtual_channels: Option<Spanned<u8>>,
    root: RootSection,
    #[serde(default)]
    switch: Vec<SwitchSection>,
    #[serde(default)]
    endpoint: Vec<EndpointSection>,
    #[serde(default)]
    link: Vec<LinkSection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RootSection {
    name: Spanned<String>,
    queue: Option<Spanned<u32>>,
    latency_ns: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SwitchSection {
    name: Spanned<String>,
    latency_ns: Option<u64>,
    buffer: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EndpointSection {
    name: Spanned<String>,
    latency_ns: Option<u64>,
    down_buffer: Option<Spanned<u32>>,
    up_buffer: Option<Spanned<u32>>,
    modules: Option<Spanned<u32>>,
    commands: Option<Spanned<u32>>,
    interleave: Option<bool>,
    bus_rate: Option<Spanned<Rate>>,
    bus_command_ns: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LinkSection {
    name: Spanned<String>,
    /// The end nearer to the root complex, and the other one.
    up: Spanned<String>,
    down: Spanned<String>,
    width: Option<Spanned<u8>>,
    generation: Option<Spanned<u8>>,
    latency_ns: Option<u64>,
}

/// `"800MB"` per second.
#[derive(Clone, Copy)]
struct Rate(u64);

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<ByteSize>().map(|size| Self(size.0)).map_err(de::Error::custom)
    }
}

impl Topology {
    /// Reads a network from the text of a file of that name.
    ///
    /// # Errors
    /// With line, column and remedy, when it is none, or one that cannot be.
    pub fn parse(file: &str, text: &str) -> Result<Self, FabricError> {
        let read = toml::from_str::<File>(text).map_err(|error| {
            let message = error.message().trim_end().replace('\n', "; ");
            FabricError::at(file, text, error.span(), message)
        })?;
        Check { file, text, names: BTreeMap::new() }.topology(read)
    }
}

/// More than any network has: a domain of PCI Express numbers 256 buses.
const MOST_NODES: usize = 4096;

/// A file being checked.
struct Check<'a> {
    file: &'a str,
    text: &'a str,
    /// Nodes by name.
    names: BTreeMap<String, u32>,
}

type Checked<T> = Result<T, FabricError>;

impl Check<'_> {
    fn wrong<T>(&self, part: &Spanned<T>, message: impl Into<String>) -> FabricError {
        FabricError::at(self.file, self.text, Some(part.span()), message)
    }

    fn line_of<T>(&self, part: &Spanned<T>) -> usize {
        self.wrong(part, "").line
    }

    fn at_least_one(&self, part: Option<Spanned<u32>>, default: u32, what: &str) -> Checked<u32> {
        match part {
            None => Ok(default),
            Some(part) if *part.as_ref() == 0 => {
                Err(self.wrong(&part, format!("{what} of 0: nothing could ever pass; give at least 1")))
            }
            Some(part) => Ok(*part.as_ref()),
        }
    }

    fn topology(mut self, read: File) -> Checked<Topology> {
        let payload = match read.payload {
            Some(part) if !part.as_ref().is_power_of_two() || !(128..=MAX_PAYLOAD).contains(part.as_ref()) => {
                return Err(self.wrong(&part, "payload: PCI Express has 128, 256, 512, 1024, 2048 and 4096 bytes"));
            }
            part => part.map_or(MAX_PAYLOAD, Spanned::into_inner),
        };
        let channels = match read.virtual_channels {
            Some(part) if !(1..=2).contains(part.as_ref()) => {
                return Err(self.wrong(&part, "virtual-channels: 1, or 2 to keep packets without data apart"));
            }
            part => part.map_or(1, Spanned::into_inner),
        };
        let RootSection { name, queue, latency_ns } = read.root;
        let mut nodes = Vec::new();
        self.add(&mut nodes, &name, Kind::Root)?;
        let default = Root::default();
        let root = Root {
            queue: self.at_least_one(queue, default.queue, "queue")?,
            latency: latency_ns.map_or(default.latency, Nanos),
        };
        for switch in read.switch {
            let SwitchSection { name, latency_ns, buffer } = switch;
            let Kind::Switch { latency, buffer: usual } = SWITCH else { unreachable!("it is a switch") };
            let buffer = self.at_least_one(buffer, usual, "buffer")?;
            self.add(&mut nodes, &name, Kind::Switch { latency: latency_ns.map_or(latency, Nanos), buffer })?;
        }
        let mut clusters = Vec::new();
        for endpoint in read.endpoint {
            self.add(&mut nodes, &endpoint.name, Kind::Endpoint { cluster: clusters.len() as u32 })?;
            clusters.push(self.cluster(endpoint)?);
        }
        if nodes.len() > MOST_NODES {
            return Err(self.wrong(&name, format!("more than {MOST_NODES} switches and endpoints; describe fewer")));
        }
        if clusters.is_empty() {
            return Err(self.wrong(&name, "there is no [[endpoint]]: a network without clusters stores nothing"));
        }
        let links = self.links(read.link, &nodes)?;
        self.all_are_reached(&nodes, &links)?;
        Ok(Topology::new(Parts { name: read.name, root, payload, channels, nodes, links, clusters }))
    }

    fn add(&mut self, nodes: &mut Vec<Node>, name: &Spanned<String>, kind: Kind) -> Checked<()> {
        if self.names.insert(name.as_ref().clone(), nodes.len() as u32).is_some() {
            return Err(self.wrong(name, format!("there is another \"{}\": give this one another name", name.as_ref())));
        }
        nodes.push(Node { name: name.as_ref().clone(), kind, uplink: 0, below: Vec::new(), clusters: 0..0 });
        Ok(())
    }

    fn cluster(&self, endpoint: EndpointSection) -> Checked<Cluster> {
        let default = Cluster::default();
        let bus_rate = match endpoint.bus_rate {
            Some(part) if part.as_ref().0 == 0 => {
                return Err(self.wrong(&part, "bus-rate: bytes per second, such as \"800MB\", not 0"));
            }
            part => part.map_or(default.bus_rate, |part| part.as_ref().0),
        };
        Ok(Cluster {
            latency: endpoint.latency_ns.map_or(default.latency, Nanos),
            down_buffer: self.at_least_one(endpoint.down_buffer, default.down_buffer, "down-buffer")?,
            up_buffer: self.at_least_one(endpoint.up_buffer, default.up_buffer, "up-buffer")?,
            modules: self.at_least_one(endpoint.modules, default.modules, "modules")?,
            commands: self.at_least_one(endpoint.commands, default.commands, "commands")?,
            interleave: endpoint.interleave.unwrap_or(default.interleave),
            bus_rate,
            bus_command: endpoint.bus_command_ns.map_or(default.bus_command, Nanos),
        })
    }

    fn node(&self, name: &Spanned<String>) -> Checked<u32> {
        self.names.get(name.as_ref()).copied().ok_or_else(|| {
            let known: Vec<_> = self.names.keys().map(String::as_str).collect();
            let known =
                if known.len() > 12 { format!("{} and others", known[..12].join(", ")) } else { known.join(", ") };
            self.wrong(name, format!("nothing is called \"{}\"; there are {known}", name.as_ref()))
        })
    }

    fn links(&self, sections: Vec<LinkSection>, nodes: &[Node]) -> Checked<Vec<Link>> {
        let mut links: Vec<Link> = Vec::new();
        let mut lines: Vec<usize> = Vec::new();
        for section in sections {
            let line = self.line_of(&section.name);
            let name = section.name.as_ref();
            if let Some(n) = links.iter().position(|link| link.name == *name) {
                let message =
                    format!("link \"{name}\" is named twice, first in line {}: give this one another name", lines[n]);
                return Err(self.wrong(&section.name, message));
            }
            let (upper, lower) = (self.node(&section.up)?, self.node(&section.down)?);
            let (above, below) = (&nodes[upper as usize], &nodes[lower as usize]);
            if matches!(above.kind, Kind::Endpoint { .. }) {
                return Err(self.wrong(&section.up, format!("\"{}\" is an endpoint: nothing hangs on it", above.name)));
            }
            if below.kind == Kind::Root {
                let message = format!("\"{}\" is the root complex: it is the upper end of its links", below.name);
                return Err(self.wrong(&section.down, message));
            }
            if let Some(n) = links.iter().position(|link| link.lower == lower) {
                let message = format!(
                    "a loop: \"{}\" hangs on link \"{}\" of line {} already, and a network of PCI Express is a tree; leave one out",
                    below.name, links[n].name, lines[n]
                );
                return Err(self.wrong(&section.down, message));
            }
            let wires = self.wires(section.width, section.generation, section.latency_ns)?;
            links.push(Link { name: section.name.into_inner(), wires, upper, lower });
            lines.push(line);
            self.no_loop(&links, &section.down, nodes)?;
        }
        Ok(links)
    }

    fn wires(
        &self,
        width: Option<Spanned<u8>>,
        generation: Option<Spanned<u8>>,
        latency: Option<u64>,
    ) -> Checked<Wires> {
        if let Some(width) = width.as_ref().filter(|width| !WIDTHS.contains(width.as_ref())) {
            return Err(self.wrong(width, "width: links have 1, 2, 4, 8, 12, 16 or 32 lanes"));
        }
        if let Some(generation) = generation.as_ref().filter(|generation| !Wires::is_generation(*generation.as_ref())) {
            return Err(self.wrong(generation, "generation: of PCI Express, from 1 to 5"));
        }
        Ok(Wires {
            width: width.map_or(WIRES.width, Spanned::into_inner),
            generation: generation.map_or(WIRES.generation, Spanned::into_inner),
            latency: latency.map_or(WIRES.latency, Nanos),
        })
    }

    /// The last link closes no ring of switches. Each node has one way up at most, so going up ends, or comes back.
    fn no_loop(&self, links: &[Link], last: &Spanned<String>, nodes: &[Node]) -> Checked<()> {
        let newest = &links[links.len() - 1];
        let mut at = newest.upper;
        while at != newest.lower {
            match links.iter().find(|link| link.lower == at) {
                Some(link) => at = link.upper,
                None => return Ok(()),
            }
        }
        let name = &nodes[at as usize].name;
        Err(self.wrong(
            last,
            format!("a loop: going up from \"{name}\" by link \"{}\" leads back to it; leave one out", newest.name),
        ))
    }

    /// Everything hangs on the root complex.
    fn all_are_reached(&self, nodes: &[Node], links: &[Link]) -> Checked<()> {
        for (n, node) in nodes.iter().enumerate().skip(1) {
            if !links.iter().any(|link| link.lower == n as u32) {
                let (what, quoted) = match node.kind {
                    Kind::Endpoint { .. } => ("cluster", format!("\"{}\"", node.name)),
                    _ => ("switch", format!("\"{}\"", node.name)),
                };
                let at = self.text.find(&quoted).map(|at| at..at + quoted.len());
                let message = format!(
                    "{what} {quoted} cannot be reached: no link leads down to it; add a [[link]] with down = {quoted}"
                );
                return Err(FabricError::at(self.file, self.text, at, message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"name = "two"
virtual-channels = 2
payload = 2048

[root]
name = "rc"
queue = 650

[[switch]]
name = "s0"
buffer = 8

[[endpoint]]
name = "a"
modules = 2

[[endpoint]]
name = "b"
bus-rate = "400MB"
down-buffer = 4

[[link]]
name = "l0"
up = "rc"
down = "s0"
width = 16

[[link]]
name = "l1"
up = "s0"
down = "b"
generation = 2

[[link]]
name = "l2"
up = "rc"
down = "a"
"#;

    #[test]
    fn the_file_that_explains_everything_is_one() {
        let text = include_str!("../../../scenarios/topology.toml");
        let topology = Topology::parse("topology.toml", text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((topology.clusters().len(), topology.modules()), (2, 8));
        // What it calls a default is one.
        let is_setting = |rest: &&str| rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        let told = |line: &str| line.strip_prefix("# ").filter(is_setting).unwrap_or(line).to_owned() + "\n";
        let told: String = text.lines().map(told).collect();
        assert!(told.contains("\nup-buffer = 16 "), "{told}");
        assert_eq!(Topology::parse("told.toml", &told).unwrap_or_else(|error| panic!("{error}")), topology);
    }

    #[test]
    fn a_file_says_what_there_is() {
        let topology = Topology::parse("two.toml", GOOD).unwrap();
        assert_eq!((topology.name(), topology.queue(), topology.payload, topology.channels), ("two", 650, 2048, 2));
        // In the order of the links: that is where addresses come from.
        assert_eq!((topology.cluster_name(0), topology.cluster_name(1)), ("b", "a"));
        assert_eq!((topology.clusters()[0].bus_rate, topology.clusters()[0].down_buffer), (400_000_000, 4));
        assert_eq!((topology.modules_of(0), topology.modules_of(1)), (0..4, 4..6));
        assert_eq!(topology.nodes[topology.toward(0, 0) as usize].name, "s0");
        assert_eq!(topology.nodes[topology.toward(0, 1) as usize].name, "a");
    }

    /// The error of the good file with one thing replaced, and the line that was changed.
    fn with(old: &str, new: &str) -> (FabricError, usize) {
        assert!(GOOD.contains(old), "{old}");
        let at = GOOD.find(old).unwrap();
        let line = GOOD[..at].matches('\n').count() + 1;
        (Topology::parse("two.toml", &GOOD.replacen(old, new, 1)).expect_err(new), line)
    }

    #[test]
    fn what_cannot_be_is_refused_and_the_line_named() {
        let cases = [
            ("queue = 650", "queue = 0", "queue of 0"),
            ("buffer = 8", "buffer = 0", "buffer of 0"),
            ("down-buffer = 4", "down-buffer = 0", "down-buffer of 0"),
            ("down-buffer = 4", "up-buffer = 0", "up-buffer of 0"),
            ("modules = 2", "modules = 0", "modules of 0"),
            ("\"400MB\"", "\"0\"", "not 0"),
            ("name = \"l1\"", "name = \"l0\"", "named twice, first in line 23"),
            ("name = \"b\"", "name = \"a\"", "another \"a\""),
            ("down = \"b\"", "down = \"c\"", "nothing is called \"c\"; there are a, b, rc, s0"),
            ("down = \"a\"", "down = \"b\"", "a loop: \"b\" hangs on link \"l1\""),
            ("down = \"a\"", "down = \"rc\"", "upper end"),
            ("up = \"s0\"", "up = \"a\"", "is an endpoint"),
            ("up = \"rc\"\ndown = \"s0\"", "up = \"s0\"\ndown = \"s0\"", "a loop: going up from \"s0\""),
            ("width = 16", "width = 3", "lanes"),
            ("generation = 2", "generation = 9", "from 1 to 5"),
            ("payload = 2048", "payload = 8192", "128, 256"),
            ("virtual-channels = 2", "virtual-channels = 3", "1, or 2"),
            ("modules = 2", "moduls = 2", "unknown field"),
        ];
        for (old, new, expected) in cases {
            let (error, line) = with(old, new);
            assert!(error.message.contains(expected), "{new}: {error}");
            assert!((line..=line + 1).contains(&error.line), "{new}: {error}, changed in {line}");
        }
    }

    #[test]
    fn a_cluster_without_a_link_is_named_where_it_is_described() {
        let text = GOOD.replace("[[link]]\nname = \"l2\"\nup = \"rc\"\ndown = \"a\"\n", "");
        let error = Topology::parse("two.toml", &text).unwrap_err();
        assert_eq!(error.line, 14);
        assert!(error.message.contains("cluster \"a\" cannot be reached"), "{error}");
        assert!(error.to_string().starts_with("two.toml:14:8: "), "{error}");
    }

    #[test]
    fn a_ring_of_switches_is_a_loop() {
        let ring = "name = \"r\"\n[root]\nname = \"rc\"\n[[switch]]\nname = \"s\"\n[[switch]]\nname = \"t\"\n\
            [[endpoint]]\nname = \"e\"\n[[link]]\nname = \"1\"\nup = \"s\"\ndown = \"t\"\n\
            [[link]]\nname = \"2\"\nup = \"t\"\ndown = \"s\"\n[[link]]\nname = \"3\"\nup = \"t\"\ndown = \"e\"\n";
        let error = Topology::parse("ring.toml", ring).unwrap_err();
        assert_eq!(error.line, 17);
        assert!(error.message.contains("a loop"), "{error}");
    }

    #[test]
    fn nothing_at_all_is_no_network() {
        for text in ["", "name = \"x\"", "name = \"x\"\n[root]\nname = \"rc\"\n", "\u{0}", "name = 3"] {
            assert!(Topology::parse("t", text).is_err(), "{text:?}");
        }
    }
}
