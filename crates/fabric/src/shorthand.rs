//! `4x16`: so many switches with so many clusters each.

use cygnus_types::Nanos;

use crate::pcie::{Lanes, MAX_PAYLOAD};
use crate::topology::{Cluster, Kind, Link, MOST_MODULES, Node, Parts, ROOT, Root, Topology};
use crate::wires::{Carrier, Wires};

/// Ports of the switches that the paper names, and their lanes (data sheet of PLX's PEX 8796: 24 ports, 96 lanes, at most
/// 150 ns for a packet).
const PORTS: u32 = 24;
const LANES: u32 = 96;
const UP_LANES: u8 = 16;
const DOWN_LANES: u8 = 4;

/// Switches on the root complex; the paper has four.
const MOST_SWITCHES: u32 = 64;

impl Default for Root {
    /// Section 5.1 of the paper: 650 to 1000 entries. Its latency is nobody's figure.
    fn default() -> Self {
        Self { queue: 825, latency: Nanos(100) }
    }
}

/// A switch: the data sheet's latency; nobody's buffer.
pub(crate) const SWITCH: Kind = Kind::Switch { latency: Nanos(150), buffer: 16 };

/// Of the third generation.
pub(crate) const WIRES: Lanes = Lanes { width: DOWN_LANES, generation: 3 };

/// Of physical layers and wires, which is nobody's figure.
pub(crate) const WIRE_LATENCY: Nanos = Nanos(50);

/// Why a word stands for no network, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{word}\": {why}")]
pub struct ShorthandError {
    word: String,
    why: Unfit,
}

impl ShorthandError {
    /// Whether the word has another form altogether, and may be meant as the name of a file.
    pub fn has_other_form(&self) -> bool {
        self.why == Unfit::OtherForm
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Unfit {
    #[error("no topology; write SWITCHESxCLUSTERS, such as \"4x16\"")]
    OtherForm,
    #[error("a network of nothing; give at least 1 of each")]
    Nothing,
    #[error("at most {MOST_SWITCHES} switches, and {MOST_MODULES} modules to a cluster; give fewer")]
    TooLarge,
    #[error("a switch of {LANES} lanes has {0} ports for clusters; describe others in a file")]
    Ports(u32),
}

impl Topology {
    /// The network that `SWITCHESxCLUSTERS` or `SWITCHESxCLUSTERSxMODULES` stands for, four modules to a cluster if not said:
    /// `4x16` is the paper's. Switches hang on the root complex by 16 lanes and have 4 for each cluster.
    ///
    /// # Errors
    /// What is wrong, and the remedy.
    pub fn from_shorthand(text: &str) -> Result<Self, ShorthandError> {
        let unfit = |why| Err(ShorthandError { word: text.into(), why });
        let numbers: Option<Vec<u32>> = text.split('x').map(|number| number.parse().ok()).collect();
        let (switches, each, modules) = match numbers.as_deref() {
            Some(&[switches, each]) => (switches, each, Cluster::default().modules),
            Some(&[switches, each, modules]) => (switches, each, modules),
            _ => return unfit(Unfit::OtherForm),
        };
        if switches == 0 || each == 0 || modules == 0 {
            return unfit(Unfit::Nothing);
        }
        if switches > MOST_SWITCHES || modules > MOST_MODULES {
            return unfit(Unfit::TooLarge);
        }
        let most = (PORTS - 1).min((LANES - u32::from(UP_LANES)) / u32::from(DOWN_LANES));
        if each > most {
            return unfit(Unfit::Ports(most));
        }
        Ok(Self::regular(text, switches, each, modules))
    }

    fn regular(name: &str, switches: u32, each: u32, modules: u32) -> Self {
        let lanes = |lanes| Wires { carrier: Carrier::Pcie(lanes), latency: WIRE_LATENCY };
        let node = |name: String, kind| Node { name, kind, uplink: 0, below: Vec::new(), clusters: 0..0 };
        let mut nodes = vec![node("rc".into(), Kind::Root)];
        let (mut links, mut clusters) = (Vec::new(), Vec::new());
        for s in 0..switches {
            let switch = nodes.len() as u32;
            nodes.push(node(format!("s{s}"), SWITCH));
            let wires = lanes(Lanes { width: UP_LANES, ..WIRES });
            links.push(Link { name: format!("l{s}"), wires, upper: ROOT, lower: switch });
            for e in 0..each {
                let endpoint = nodes.len() as u32;
                nodes.push(node(format!("s{s}e{e}"), Kind::Endpoint { cluster: clusters.len() as u32 }));
                links.push(Link { name: format!("l{s}-{e}"), wires: lanes(WIRES), upper: switch, lower: endpoint });
                clusters.push(Cluster { modules, ..Cluster::default() });
            }
        }
        let root = Root::default();
        Self::new(Parts { name: name.into(), root, payload: MAX_PAYLOAD, channels: 1, nodes, links, clusters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_network_is_4x16() {
        let topology = Topology::from_shorthand("4x16").unwrap();
        assert_eq!((topology.switches(), topology.clusters().len(), topology.modules()), (4, 64, 256));
        assert_eq!(topology.links(), 4 + 64);
        assert_eq!((topology.cluster_of(0), topology.cluster_of(3), topology.cluster_of(255)), (0, 0, 63));
        assert_eq!(topology.modules_of(17), 68..72);
        assert_eq!((topology.cluster_name(17), topology.switch_of(16) == topology.switch_of(17)), ("s1e1", true));
        assert_ne!(topology.switch_of(15), topology.switch_of(16));
    }

    #[test]
    fn the_largest_that_the_paper_tries_is_the_largest_that_its_switch_can_be() {
        assert!(Topology::from_shorthand("4x20").is_ok());
        let error = Topology::from_shorthand("4x21").unwrap_err();
        assert!(error.to_string().contains("20 ports for clusters"), "{error}");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "4", "4x", "x4", "0x4", "4x0", "4x4x0", "4x4x4x4", "99x4", "4x4x65", "-1x4", "4 x 16"] {
            assert!(Topology::from_shorthand(text).is_err(), "{text}");
        }
    }
}
