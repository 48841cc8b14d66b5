//! What there is in a network, and which way leads where.

use std::ops::Range;

use cygnus_types::Nanos;

use crate::pcie::MAX_PAYLOAD;
use crate::wires::Wires;

/// The root complex's number among the nodes.
pub(crate) const ROOT: u32 = 0;

/// Modules of a cluster. They take turns on one bus, and the paper's clusters have four.
pub(crate) const MOST_MODULES: u32 = 64;

/// The root complex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    /// Requests in the network at a time.
    pub queue: u32,
    /// From a request's acceptance to its first packet, and from the last packet to the answer.
    pub latency: Nanos,
}

/// An endpoint and what is behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Time to take a packet apart, or to put one together.
    pub latency: Nanos,
    /// Packets that its buffer has room for, on the way to the modules, in each channel.
    pub down_buffer: u32,
    /// And on the way from them.
    pub up_buffer: u32,
    /// Modules on its bus.
    pub modules: u32,
    /// Commands that a module takes at a time.
    pub commands: u32,
    /// Whether the bus serves other modules while one works on a command (interleaving). If not, it is one command's from its
    /// beginning to its answer.
    pub interleave: bool,
    /// Bytes per second of the bus.
    pub bus_rate: u64,
    /// Time on the bus of a command, and of the inquiry before an answer.
    pub bus_command: Nanos,
}

impl Cluster {
    /// Time on the bus of so many bytes alone.
    pub fn over_bus(&self, bytes: u64) -> Nanos {
        Nanos((u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(self.bus_rate)) as u64)
    }
}

impl Default for Cluster {
    /// The bus: 16 pins are two channels of 8, each with the 400 MT/s of NV-DDR2 (ONFi 3.0, timing mode 7): 800 MB/s. A command
    /// is seven cycles (one of command, five of address, one of command) of tCAD = 25 ns. A module has eight packages (section
    /// 3.3), each of which works on one command while another waits in its cache register (ONFi's read and program cache
    /// commands). Buffers and latency of the endpoint are nobody's figures: sixteen packets, 150 ns.
    fn default() -> Self {
        Self {
            latency: Nanos(150),
            down_buffer: 16,
            up_buffer: 16,
            modules: 4,
            commands: 16,
            interleave: true,
            bus_rate: 800_000_000,
            bus_command: Nanos(175),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Root,
    /// Packets that each of its ports has room for in each channel.
    Switch {
        latency: Nanos,
        buffer: u32,
    },
    /// Its number among the clusters.
    Endpoint {
        cluster: u32,
    },
}

/// A root complex, switch or endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub name: String,
    pub kind: Kind,
    /// The link that leads to the root. Of no meaning at the root.
    pub uplink: u32,
    /// Nodes below, by rising addresses.
    pub below: Vec<u32>,
    /// The clusters below, which are neighbours: the range of addresses of its port.
    pub clusters: Range<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub name: String,
    pub wires: Wires,
    /// The node nearer to the root, and the other one.
    pub upper: u32,
    pub lower: u32,
}

/// A network, checked: a tree with the root complex at its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub(crate) name: String,
    pub(crate) root: Root,
    /// Most bytes of data in a packet.
    pub(crate) payload: u32,
    /// Virtual channels: 1, or 2.
    pub(crate) channels: u8,
    /// The root complex first.
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    /// By rising addresses.
    pub(crate) clusters: Vec<Cluster>,
    /// The node of each.
    pub(crate) endpoints: Vec<u32>,
    /// The number of the first module of each, and at the end that of all modules.
    first_modules: Vec<u32>,
}

/// What a topology is put together from; whoever does so has checked that it is a tree.
pub(crate) struct Parts {
    pub name: String,
    pub root: Root,
    pub payload: u32,
    pub channels: u8,
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    /// In the order of the endpoints among the nodes.
    pub clusters: Vec<Cluster>,
}

impl Topology {
    /// Deals out addresses to the endpoints: each node has those of one range.
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { name, root, payload, channels, mut nodes, links, clusters: described } = parts;
        debug_assert!((1..=MAX_PAYLOAD).contains(&payload));
        for (n, link) in links.iter().enumerate() {
            nodes[link.lower as usize].uplink = n as u32;
            nodes[link.upper as usize].below.push(link.lower);
        }
        let (mut clusters, mut endpoints) = (Vec::new(), Vec::new());
        number(&mut nodes, ROOT, &described, &mut clusters, &mut endpoints);
        let mut first_modules = vec![0];
        for cluster in &clusters {
            first_modules.push(first_modules[first_modules.len() - 1] + cluster.modules);
        }
        Self { name, root, payload, channels, nodes, links, clusters, endpoints, first_modules }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Requests that the root complex takes at a time.
    pub fn queue(&self) -> u32 {
        self.root.queue
    }

    /// The same with another queue.
    ///
    /// # Panics
    /// If that is 0.
    #[must_use]
    pub fn with_queue(mut self, requests: u32) -> Self {
        assert!(requests > 0, "a queue takes something");
        self.root.queue = requests;
        self
    }

    /// The same with buses that interleave commands, or do not.
    #[must_use]
    pub fn with_interleaving(mut self, interleave: bool) -> Self {
        self.clusters.iter_mut().for_each(|cluster| cluster.interleave = interleave);
        self
    }

    /// Modules behind all endpoints; they are numbered from cluster to cluster.
    pub fn modules(&self) -> u32 {
        self.first_modules[self.clusters.len()]
    }

    /// The clusters, in the order of their addresses.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// The name of a cluster's endpoint.
    pub fn cluster_name(&self, cluster: usize) -> &str {
        &self.nodes[self.endpoints[cluster] as usize].name
    }

    /// The numbers of a cluster's modules.
    pub fn modules_of(&self, cluster: usize) -> Range<u32> {
        self.first_modules[cluster]..self.first_modules[cluster + 1]
    }

    /// The cluster that a module belongs to.
    ///
    /// # Panics
    /// If there is no such module.
    pub fn cluster_of(&self, module: u32) -> usize {
        assert!(module < self.modules(), "module {module} of {}", self.modules());
        self.first_modules.partition_point(|&first| first <= module) - 1
    }

    /// The node directly above a cluster's endpoint, by number: clusters of one switch have the same.
    pub fn switch_of(&self, cluster: usize) -> u32 {
        self.links[self.nodes[self.endpoints[cluster] as usize].uplink as usize].upper
    }

    /// How many switches there are.
    pub fn switches(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node.kind, Kind::Switch { .. })).count()
    }

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// The node below this one by which packets to a cluster go on: the last one whose addresses do not begin behind it.
    pub(crate) fn toward(&self, node: u32, cluster: u32) -> u32 {
        let below = &self.nodes[node as usize].below;
        below[below.partition_point(|&node| self.nodes[node as usize].clusters.start <= cluster) - 1]
    }

    /// What a packet takes in a node before it can go on.
    pub(crate) fn latency_of(&self, node: u32) -> Nanos {
        match self.nodes[node as usize].kind {
            Kind::Root => self.root.latency,
            Kind::Switch { latency, .. } => latency,
            Kind::Endpoint { cluster } => self.clusters[cluster as usize].latency,
        }
    }
}

/// Gives the endpoints below a node the next numbers. What has none below it has no addresses, and is no port.
fn number(nodes: &mut [Node], at: u32, described: &[Cluster], clusters: &mut Vec<Cluster>, endpoints: &mut Vec<u32>) {
    let first = clusters.len() as u32;
    if let Kind::Endpoint { cluster } = &mut nodes[at as usize].kind {
        clusters.push(described[*cluster as usize].clone());
        endpoints.push(at);
        *cluster = first;
    }
    for below in nodes[at as usize].below.clone() {
        number(nodes, below, described, clusters, endpoints);
    }
    nodes[at as usize].clusters = first..clusters.len() as u32;
    let mut below = std::mem::take(&mut nodes[at as usize].below);
    below.retain(|&node| !nodes[node as usize].clusters.is_empty());
    nodes[at as usize].below = below;
}
