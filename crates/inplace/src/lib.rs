//! RAID that updates in place: the baselines against which log-structured arrays are compared.
//!
//! Levels 0, 1, 4, 5, 6 and 10 over any driver, as Linux md does them: every block has one place for ever; a write that
//! covers less than a stripe of a parity level first reads what it needs to renew the parity, by read-modify-write or by
//! reconstruct-write, whichever reads less; stripes are units of order, and small writes to a stripe that is busy are
//! carried out together when it is free.
//!
//! # The write hole
//!
//! Data and parity of a stripe are written by separate requests to separate devices. A crash between them leaves a parity
//! that does not fit, and a device lost before a resynchronisation ([`Raid::resync`]) then yields wrong data for blocks
//! that nobody was writing. This is a property of the levels modelled here, not of this code; the log-structured engine
//! has no such hole because it never writes a stripe twice.

mod band;
mod batch;
mod error;
mod layout;
mod plain;
mod raid;
mod stripes;

pub use error::RaidError;
pub use layout::{Layout, LayoutError, Level, UnknownLevel};
pub use raid::{Counters, Raid};
