//! Which members share a link on their way to this machine, as far as Linux tells: a controller, a PCI Express port or switch, a network
//! interface. Nothing is measured; what is found is proposed, with the reason.
//!
//! A member's *way* is a list of what its data passes, from the machine to the device. Members that share something of it meet there. A
//! member is behind one link only, so that of several it is the one nearest to the device: behind one switch below another, data can still
//! move from one of the two to the other.

mod routes;
mod ways;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::{fmt, io};

use cygnus_ssdlink::AddressError;
use thiserror::Error;

pub use ways::Machine;

/// Something that a member's data passes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hop {
    /// A port, switch or controller on PCI Express, by its address.
    Pci(String),
    /// A network interface, by its name.
    Interface(String),
}

impl Hop {
    /// A name for the link, of which `--link` can make one again: a colon ends the name there.
    fn name(&self) -> String {
        match self {
            Self::Pci(address) => format!("pci-{}", address.replace(':', "-")),
            Self::Interface(name) => format!("net-{}", name.replace(':', "-")),
        }
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pci(address) => write!(f, "PCI device {address}"),
            Self::Interface(name) => write!(f, "network interface {name}"),
        }
    }
}

/// Why nothing is known of the way to a member.
#[derive(Debug, Error)]
pub enum NoWay {
    /// A unix socket leads to it.
    #[error("a process of this machine serves it")]
    Here,
    /// Its address is one of this machine.
    #[error("{0} is this machine")]
    ThisMachine(IpAddr),
    /// It is no address of a drive.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A name of a host that nobody resolves.
    #[error("{place}: {source}")]
    Unresolved {
        /// As it was written.
        place: String,
        /// The system's.
        source: io::Error,
    },
    /// A name of a host that has none.
    #[error("{0} has no address")]
    NoAddress(String),
    /// No interface leads there.
    #[error("there is no route to {0}")]
    NoRoute(IpAddr),
    /// An NVMe controller that is neither on a bus nor on an IP network.
    #[error("its controller is at {0}, which is no IP address")]
    NoIpAddress(String),
    /// There is nothing at its path.
    #[error(transparent)]
    NoDevice(#[from] io::Error),
    /// What its file system lies on is no block device, as with FUSE.
    #[error("{} has no block device {numbers}", sys.display())]
    NoBlockDevice {
        /// Where it was looked for.
        sys: PathBuf,
        /// Major and minor number.
        numbers: String,
    },
    /// Linux does not tell.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// A file or directory in `/sys`.
        path: PathBuf,
        /// The system's.
        source: io::Error,
    },
    /// It has more ways than one.
    #[error("{number} {of_what}")]
    Several {
        /// How many.
        number: usize,
        /// Of what, in words that follow the number.
        of_what: &'static str,
    },
    /// A device that is on no bus, as in memory.
    #[error("{} is on no bus that is known", .0.display())]
    NoBus(PathBuf),
}

/// The way to a member, from the machine to the device.
pub type Way = Result<Vec<Hop>, NoWay>;

/// Members that share a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLink {
    /// Its name, which follows from what is shared.
    pub name: String,
    /// What is shared.
    pub by: Hop,
    /// The members, as they were named.
    pub members: Vec<String>,
}

impl fmt::Display for SharedLink {
    /// What was found and why, and how it would be written by hand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, by, members } = self;
        let members = members.join(",");
        write!(f, "{members} share a link, for the way to each goes through {by}; as --link {name}:{members} says")
    }
}

/// What is known of the ways to members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// Those that several members share.
    pub links: Vec<SharedLink>,
    /// Members whose ways are known, and share nothing.
    pub alone: Vec<String>,
    /// Members whose ways are not known, and why.
    pub unknown: Vec<(String, String)>,
}

impl Proposal {
    /// What follows from the ways to these members.
    pub fn of(ways: Vec<(String, Way)>) -> Self {
        let mut proposal = Self::default();
        let mut known = Vec::new();
        for (member, way) in ways {
            match way {
                Ok(hops) => known.push((member, hops)),
                Err(why) => proposal.unknown.push((member, why.to_string())),
            }
        }
        let mut passes: BTreeMap<&Hop, usize> = BTreeMap::new();
        known.iter().flat_map(|(_, hops)| hops).for_each(|hop| *passes.entry(hop).or_default() += 1);
        let mut shared: BTreeMap<&Hop, Vec<String>> = BTreeMap::new();
        for (member, hops) in &known {
            match hops.iter().rev().find(|hop| passes[hop] > 1) {
                Some(hop) => shared.entry(hop).or_default().push(member.clone()),
                None => proposal.alone.push(member.clone()),
            }
        }
        for (hop, members) in shared {
            match members.len() {
                // The others that pass it share something nearer to them.
                1 => proposal.alone.extend(members),
                _ => proposal.links.push(SharedLink { name: hop.name(), by: hop.clone(), members }),
            }
        }
        proposal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(hops: &[&str]) -> Way {
        Ok(hops.iter().map(|hop| Hop::Pci((*hop).into())).collect())
    }

    fn proposed<const N: usize>(ways: [(&str, Way); N]) -> Proposal {
        Proposal::of(ways.into_iter().map(|(member, way)| (member.into(), way)).collect())
    }

    #[test]
    fn members_share_what_is_nearest_to_them() {
        let found = proposed([
            ("a", way(&["port", "switch", "a"])),
            ("b", way(&["port", "switch", "b"])),
            ("c", way(&["port", "c"])),
            ("d", way(&["other", "d"])),
            ("e", Err(NoWay::Here)),
        ]);
        let by = Hop::Pci("switch".into());
        let link = SharedLink { name: "pci-switch".into(), by, members: vec!["a".into(), "b".into()] };
        assert_eq!(found.links, [link]);
        // c passes the port that a and b pass too, and they share the switch.
        assert_eq!(
            (found.alone, found.unknown),
            (vec!["d".into(), "c".into()], vec![("e".into(), NoWay::Here.to_string())])
        );
    }

    #[test]
    fn a_link_is_told_so_that_it_can_be_written_by_hand() {
        let hops = || Ok(vec![Hop::Pci("0000:40:01.1".into())]);
        let found = proposed([("/dev/sda", hops()), ("/dev/sdb", hops())]);
        assert_eq!(
            found.links[0].to_string(),
            "/dev/sda,/dev/sdb share a link, for the way to each goes through PCI device 0000:40:01.1; as \
             --link pci-0000-40-01.1:/dev/sda,/dev/sdb says"
        );
    }

    #[test]
    fn nothing_follows_from_nothing() {
        assert_eq!(proposed([]), Proposal::default());
        let found = proposed([("a", way(&[])), ("b", way(&[]))]);
        assert!(found.links.is_empty() && found.alone == ["a", "b"], "{found:?}");
    }
}
