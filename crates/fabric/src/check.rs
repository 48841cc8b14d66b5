//! Checking that what a file describes is a network.

use std::collections::BTreeMap;
use std::ops::Range;

use cygnus_types::Nanos;
use toml::Spanned;

use crate::error::FabricError;
use crate::ethernet::{FRAMES, Frames, MOST_OVERHEAD};
use crate::file::{EndpointSection, File, LinkSection, Rate, RootSection, SwitchSection};
use crate::pcie::{Lanes, MAX_PAYLOAD, WIDTHS};
use crate::shorthand::{SWITCH, WIRE_LATENCY, WIRES};
use crate::topology::{Cluster, Kind, Link, MOST_MODULES, Node, Parts, Root, Topology};
use crate::wires::{Carrier, Wires};

/// More than any network has: a domain of PCI Express numbers 256 buses.
const MOST_NODES: usize = 4096;

/// The longest latency of a part, a millisecond. PCI Express gives a request up after 50 ms unless it is told otherwise (completion
/// timeout, section 7.8.16 of the Base Specification 3.0), and a request passes several parts each way. Even a chain of
/// [`MOST_NODES`] such parts and links answers well before the 75 s after which an array takes a module for hung.
const LONGEST_LATENCY: Nanos = Nanos::millis(1);

/// The slowest bus or link: 10 MB/s are 8 bits every 100 ns, the slowest bus of ONFi (timing mode 0). On slower ones requests that
/// wait for each other take longer than the 75 s after which an array takes a module for hung.
const SLOWEST: u64 = 10_000_000;

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
        Check { file, text, names: BTreeMap::new(), places: Vec::new() }.topology(read)
    }
}

/// A file being checked.
struct Check<'a> {
    file: &'a str,
    text: &'a str,
    /// Nodes by name.
    names: BTreeMap<String, u32>,
    /// By node: where its name stands in the text.
    places: Vec<Range<usize>>,
}

type Checked<T> = Result<T, FabricError>;

/// The checks of single values.
impl Check<'_> {
    fn wrong_at(&self, span: Range<usize>, message: impl Into<String>) -> FabricError {
        FabricError::at(self.file, self.text, Some(span), message)
    }

    fn wrong<T>(&self, part: &Spanned<T>, message: impl Into<String>) -> FabricError {
        self.wrong_at(part.span(), message)
    }

    fn line_at(&self, span: &Range<usize>) -> usize {
        self.wrong_at(span.clone(), "").line
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

    fn modules(&self, part: Option<Spanned<u32>>, default: u32) -> Checked<u32> {
        match part {
            Some(part) if *part.as_ref() > MOST_MODULES => Err(self.wrong(
                &part,
                format!(
                    "modules of {}: at most {MOST_MODULES} are on one bus; put others behind endpoints of their own",
                    part.as_ref()
                ),
            )),
            part => self.at_least_one(part, default, "modules"),
        }
    }

    fn latency(&self, part: Option<Spanned<u64>>, default: Nanos, what: &str) -> Checked<Nanos> {
        match part.map(|part| (Nanos(*part.as_ref()), part)) {
            None => Ok(default),
            Some((latency, part)) if latency > LONGEST_LATENCY => {
                let most = LONGEST_LATENCY.0;
                Err(self.wrong(&part, format!("{what} of {}: nanoseconds, at most {most} (1 ms)", latency.0)))
            }
            Some((latency, _)) => Ok(latency),
        }
    }

    fn rate(&self, part: Option<Spanned<Rate>>, default: u64, what: &str) -> Checked<u64> {
        match part.map(|part| (part.as_ref().0, part)) {
            None => Ok(default),
            Some((rate, part)) if rate < SLOWEST => {
                let least = SLOWEST / 1_000_000;
                Err(self.wrong(&part, format!("{what}: less than {least} MB per second; give \"{least}MB\" or more")))
            }
            Some((rate, _)) => Ok(rate),
        }
    }

    /// Names stand in messages, tables and pictures, which have no room for line breaks and other control characters.
    fn name(&self, part: &Spanned<String>) -> Checked<()> {
        match part.as_ref() {
            name if name.trim().is_empty() => Err(self.wrong(part, "there is nothing in this name; give one")),
            name if name.contains(char::is_control) => {
                Err(self.wrong(part, format!("{name:?} has a control character: leave it out")))
            }
            _ => Ok(()),
        }
    }

    fn payload(&self, part: Option<Spanned<u32>>) -> Checked<u32> {
        match part {
            Some(part) if !part.as_ref().is_power_of_two() || !(128..=MAX_PAYLOAD).contains(part.as_ref()) => {
                Err(self.wrong(&part, "payload: PCI Express has 128, 256, 512, 1024, 2048 and 4096 bytes"))
            }
            part => Ok(part.map_or(MAX_PAYLOAD, Spanned::into_inner)),
        }
    }

    fn channels(&self, part: Option<Spanned<u8>>) -> Checked<u8> {
        match part {
            Some(part) if !(1..=2).contains(part.as_ref()) => {
                Err(self.wrong(&part, "virtual-channels: 1, or 2 to keep packets without data apart"))
            }
            part => Ok(part.map_or(1, Spanned::into_inner)),
        }
    }
}

/// The checks of the whole.
impl Check<'_> {
    fn topology(mut self, read: File) -> Checked<Topology> {
        self.name(&read.name)?;
        let (payload, channels) = (self.payload(read.payload)?, self.channels(read.virtual_channels)?);
        let RootSection { name, queue, latency_ns } = read.root;
        let mut nodes = Vec::new();
        self.add(&mut nodes, &name, Kind::Root)?;
        let default = Root::default();
        let root = Root {
            queue: self.at_least_one(queue, default.queue, "queue")?,
            latency: self.latency(latency_ns, default.latency, "latency-ns")?,
        };
        for switch in read.switch {
            let SwitchSection { name, latency_ns, buffer } = switch;
            let Kind::Switch { latency, buffer: usual } = SWITCH else { unreachable!("it is a switch") };
            let buffer = self.at_least_one(buffer, usual, "buffer")?;
            let latency = self.latency(latency_ns, latency, "latency-ns")?;
            self.add(&mut nodes, &name, Kind::Switch { latency, buffer })?;
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
        let name = read.name.into_inner();
        Ok(Topology::new(Parts { name, root, payload, channels, nodes, links, clusters }))
    }

    fn add(&mut self, nodes: &mut Vec<Node>, name: &Spanned<String>, kind: Kind) -> Checked<()> {
        self.name(name)?;
        if self.names.insert(name.as_ref().clone(), nodes.len() as u32).is_some() {
            return Err(self.wrong(name, format!("there is another \"{}\": give this one another name", name.as_ref())));
        }
        self.places.push(name.span());
        nodes.push(Node { name: name.as_ref().clone(), kind, uplink: 0, below: Vec::new(), clusters: 0..0 });
        Ok(())
    }

    fn cluster(&self, endpoint: EndpointSection) -> Checked<Cluster> {
        let default = Cluster::default();
        Ok(Cluster {
            latency: self.latency(endpoint.latency_ns, default.latency, "latency-ns")?,
            down_buffer: self.at_least_one(endpoint.down_buffer, default.down_buffer, "down-buffer")?,
            up_buffer: self.at_least_one(endpoint.up_buffer, default.up_buffer, "up-buffer")?,
            modules: self.modules(endpoint.modules, default.modules)?,
            commands: self.at_least_one(endpoint.commands, default.commands, "commands")?,
            interleave: endpoint.interleave.unwrap_or(default.interleave),
            bus_rate: self.rate(endpoint.bus_rate, default.bus_rate, "bus-rate")?,
            bus_command: self.latency(endpoint.bus_command_ns, default.bus_command, "bus-command-ns")?,
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
        let mut found = Links { all: Vec::new(), places: BTreeMap::new(), of_lower: vec![None; nodes.len()] };
        for section in sections {
            self.name(&section.name)?;
            let name = section.name.as_ref();
            if let Some(place) = found.places.insert(name.clone(), section.name.span()) {
                let first = self.line_at(&place);
                let message =
                    format!("link \"{name}\" is named twice, first in line {first}: give this one another name");
                return Err(self.wrong(&section.name, message));
            }
            let (upper, lower) = self.ends(&section, nodes)?;
            if let Some(other) = found.above(lower) {
                let message = format!(
                    "a loop: \"{}\" hangs on link \"{}\" of line {} already, and a network is a tree; leave one out",
                    nodes[lower as usize].name,
                    other.name,
                    self.line_at(&found.places[&other.name])
                );
                return Err(self.wrong(&section.down, message));
            }
            let wires = self.wires(&section)?;
            found.add(Link { name: section.name.into_inner(), wires, upper, lower });
            self.no_loop(&found, &section.down, nodes)?;
        }
        self.all_are_reached(nodes, &found)?;
        Ok(found.all)
    }

    /// What a link connects: the upper and the lower node.
    fn ends(&self, section: &LinkSection, nodes: &[Node]) -> Checked<(u32, u32)> {
        let (upper, lower) = (self.node(&section.up)?, self.node(&section.down)?);
        let (above, below) = (&nodes[upper as usize], &nodes[lower as usize]);
        if matches!(above.kind, Kind::Endpoint { .. }) {
            return Err(self.wrong(&section.up, format!("\"{}\" is an endpoint: nothing hangs on it", above.name)));
        }
        if below.kind == Kind::Root {
            let message = format!("\"{}\" is the root complex: it is the upper end of its links", below.name);
            return Err(self.wrong(&section.down, message));
        }
        Ok((upper, lower))
    }

    fn wires(&self, section: &LinkSection) -> Checked<Wires> {
        let carrier = match &section.rate {
            Some(rate) => Carrier::Ethernet(self.frames(section, rate)?),
            None => Carrier::Pcie(self.lanes(section)?),
        };
        Ok(Wires { carrier, latency: self.latency(section.latency_ns.clone(), WIRE_LATENCY, "latency-ns")? })
    }

    fn lanes(&self, section: &LinkSection) -> Checked<Lanes> {
        for (part, what) in [(&section.frame, "frame"), (&section.overhead, "overhead")] {
            if let Some(part) = part {
                let message = format!("{what}: of an Ethernet link; give its rate, such as rate = \"1250MB\", too");
                return Err(self.wrong(part, message));
            }
        }
        let LinkSection { width, generation, .. } = section;
        if let Some(width) = width.as_ref().filter(|width| !WIDTHS.contains(width.as_ref())) {
            return Err(self.wrong(width, "width: links have 1, 2, 4, 8, 12, 16 or 32 lanes"));
        }
        if let Some(generation) = generation.as_ref().filter(|generation| !Lanes::is_generation(*generation.as_ref())) {
            return Err(self.wrong(generation, "generation: of PCI Express, from 1 to 5"));
        }
        Ok(Lanes {
            width: width.as_ref().map_or(WIRES.width, |width| *width.as_ref()),
            generation: generation.as_ref().map_or(WIRES.generation, |generation| *generation.as_ref()),
        })
    }

    fn frames(&self, section: &LinkSection, rate: &Spanned<Rate>) -> Checked<Frames> {
        for (part, what) in [(&section.width, "width"), (&section.generation, "generation")] {
            if let Some(part) = part {
                return Err(self.wrong(
                    part,
                    format!("{what}: of PCI Express, and a link with a rate is Ethernet; leave one out"),
                ));
            }
        }
        let usual = Frames::of_rate(self.rate(Some(rate.clone()), 0, "rate")?);
        let LinkSection { frame, overhead, .. } = section;
        if let Some(frame) = frame.as_ref().filter(|frame| !FRAMES.contains(frame.as_ref())) {
            let message = format!("frame: bytes of data in a frame, from {} to {}", FRAMES.start(), FRAMES.end());
            return Err(self.wrong(frame, message));
        }
        if let Some(overhead) = overhead.as_ref().filter(|overhead| *overhead.as_ref() > MOST_OVERHEAD) {
            let message = format!("overhead: bytes of a frame besides its data, at most {MOST_OVERHEAD}");
            return Err(self.wrong(overhead, message));
        }
        Ok(Frames {
            frame: frame.as_ref().map_or(usual.frame, |frame| *frame.as_ref()),
            overhead: overhead.as_ref().map_or(usual.overhead, |overhead| *overhead.as_ref()),
            ..usual
        })
    }

    /// The last link closes no ring of switches. Each node has one way up at most, so going up ends, or comes back.
    fn no_loop(&self, links: &Links, last: &Spanned<String>, nodes: &[Node]) -> Checked<()> {
        let newest = &links.all[links.all.len() - 1];
        let mut at = newest.upper;
        while at != newest.lower {
            match links.above(at) {
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
    fn all_are_reached(&self, nodes: &[Node], links: &Links) -> Checked<()> {
        let Some(lost) = (1..nodes.len()).find(|&n| links.of_lower[n].is_none()) else { return Ok(()) };
        let Node { name, kind, .. } = &nodes[lost];
        let what = if matches!(kind, Kind::Endpoint { .. }) { "cluster" } else { "switch" };
        let message = format!(
            "{what} \"{name}\" cannot be reached: no link leads down to it; add a [[link]] with down = \"{name}\""
        );
        Err(self.wrong_at(self.places[lost].clone(), message))
    }
}

/// Links found so far.
struct Links {
    all: Vec<Link>,
    /// By name: where that stands in the text.
    places: BTreeMap<String, Range<usize>>,
    /// By node: the number of the link whose lower end it is.
    of_lower: Vec<Option<usize>>,
}

impl Links {
    fn add(&mut self, link: Link) {
        self.of_lower[link.lower as usize] = Some(self.all.len());
        self.all.push(link);
    }

    /// The link that leads up from a node.
    fn above(&self, node: u32) -> Option<&Link> {
        self.of_lower[node as usize].map(|n| &self.all[n])
    }
}

#[cfg(test)]
mod tests;
