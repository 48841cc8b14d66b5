//! A modelled network of flash modules, of PCI Express (Triple-A, ASPLOS'14) and of Ethernet links in between: what a request between the root complex and a module meets on
//! its way, how long that takes, and what it waited for.
//!
//! A [`Topology`] says what there is, from a file or from a shorthand such as `4x16`. A [`Fabric`] is a deterministic state
//! machine in virtual time: requests go in by [`Fabric::submit`], the caller's clock drives it by [`Fabric::advance`], and what
//! happened comes out. What a module does with a request is not modelled here: [`Happened::Arrived`] says that it is there, and
//! the caller says by [`Fabric::ready`] when its answer is. So any model of flash goes with it.
//!
//! # What is modelled
//!
//! * *Root complex*: so many requests are in the network at a time; others wait outside. It takes answers as they come, as
//!   PCIe demands of a root complex (PCI Express Base Specification 3.0, section 2.6.1: infinite credits for completions).
//! * *Links*: both directions at once, each one packet at a time, at the rate of width and generation (section 4.2: 2.5 and
//!   5 GT/s carry 8 bits in 10, 8 GT/s and more 128 in 130). A packet carries at most 4 KiB, and 24 bytes besides. A link may be
//!   Ethernet in place of that: a rate in bytes per second, and packets in frames with bytes of their own around the data. A network
//!   card is a switch with links of both kinds.
//! * *Virtual channels and credits*: a packet is sent only when the receiver has room for it in its buffer of that channel. With
//!   two channels packets without data have one of their own. A buffer's place is free when the packet has left on the next link.
//! * *Switches*: a packet goes on when it has arrived whole and a routing time has passed. It leaves by the port whose range of
//!   addresses has its destination, as bridges decide it.
//! * *Endpoints*: buffers both ways, and one bus to all modules of the cluster, first come, first served. A module takes so many
//!   commands at a time; the others wait in the endpoint's buffer, and when that is full, in the switch.
//!
//! Not modelled: acknowledgements, of the link layer and of TCP, and flow control packets take no time on the links; nothing is ever
//! damaged or lost. Ethernet links have credits as the others have, which is Ethernet without loss (IEEE 802.1Qbb) and not TCP's window;
//! what a storage protocol has before a command (NVMe/TCP: 72 bytes) counts only if `overhead` says so.
//!
//! # What waits for what
//!
//! [`Stalls`] adds up each request's waiting twice: by where it waited and by what for. A packet that waits in a switch because
//! an endpoint's buffer is full waits for whatever the packets in that buffer wait for: each credit comes back with the reason
//! why it was so long in coming.

mod bus;
mod check;
mod counters;
mod error;
mod ethernet;
mod events;
mod fabric;
mod file;
mod gate;
mod passage;
mod pcie;
mod shorthand;
mod svg;
mod topology;
mod way;
mod wires;

pub use counters::{ClusterCounters, Stalls};
pub use error::FabricError;
pub use fabric::{Fabric, Happened, Request};
pub use passage::Passage;
pub use pcie::MAX_PAYLOAD;
pub use shorthand::ShorthandError;
pub use topology::{Cluster, Topology};
