//! RAID that updates in place: the baselines against which log-structured arrays are compared, as arrays of their own.
//!
//! Levels 0, 1, 4, 5, 6 and 10 over any driver, as Linux md does them: every block has one place for ever; a write that
//! covers less than a stripe of a parity level first reads what it needs to renew the parity, by read-modify-write or by
//! reconstruct-write, whichever reads less; stripes are units of order, and small writes to a stripe that is busy are
//! carried out together when it is free.
//!
//! A [`Raid`] moves data and knows nothing but its devices. An [`Array`] is one that outlives the process: superblocks, a
//! write-intent log, volumes, resync, rebuild.
//!
//! | file | idea |
//! |---|---|
//! | `layout.rs` | where every block lies |
//! | `device.rs`, `care.rs`, `bad_places.rs`, `stripes.rs`, `intent.rs`, `ledger.rs`, `lock.rs`, `counters.rs` | what is known: of each device, of those in trouble, of places that cannot be read, of stripes at which somebody is at work, of regions that may not fit, of what is on record |
//! | `core.rs` | all of that together, and what follows from it: who serves, who has what |
//! | `give.rs` | what devices are given: one in trouble gets it later |
//! | `commit.rs`, `flush.rs`, `mark.rs` | superblocks written, devices flushed, bits of the write-intent log set before they are needed: what must be on record before anything is answered |
//! | `band.rs`, `batch.rs`, `turns.rs` | writes to a stripe put together, and its parity renewed, by one at a time |
//! | `plain.rs`, `write.rs`, `raid.rs` | reads, writes of copies, writes to their end; the array as it moves data |
//! | `renew.rs`, `mend.rs` | whole stripes made to fit, or judged; blocks that a device cannot read, written anew |
//! | `inner.rs`, `report.rs`, `volume_state.rs`, `looked_after.rs` | what an open array is |
//! | `worker.rs`, `guardian.rs` | resync, filling of devices, mending, clearing of bits; who leaves, who is awaited, who comes back |
//! | `volume.rs` | requests of any alignment to a run of the array's space |
//! | `create.rs`, `open.rs`, `array.rs`, `admin.rs`, `replace.rs`, `status.rs`, `check.rs` | the array as its callers hold it; a stopped one verified |
//!
//! Files name only what lies above them in this list, or beside them.
//!
//! # The write hole
//!
//! Data and parity of a stripe are written by separate requests to separate devices. A crash between them leaves a parity
//! that does not fit. The write-intent log tells which stripes that can be, and they are made to fit when the array is
//! opened again. But a device that is lost before that is done yields wrong data for blocks of these stripes that nobody
//! was writing; and so does a crash while a device is missing: RAID-4, 5 and 6 in place may then lose or garble *other*
//! blocks of a stripe than those that were being written. This is a property of these levels, not of this code; the
//! log-structured engine has no such hole because it never writes a stripe twice.
//!
//! # What else in-place arrays do not promise
//!
//! There are no checksums: a block that a device returns wrongly is believed, and a check can tell that copies or parity do
//! not fit, not which of them is right.

mod admin;
mod array;
mod bad_places;
mod band;
mod batch;
mod care;
mod check;
mod commit;
mod core;
mod counters;
mod create;
mod device;
mod error;
mod flush;
mod give;
mod guardian;
mod inner;
mod intent;
mod layout;
mod ledger;
mod lock;
mod looked_after;
mod mark;
mod mend;
mod open;
mod plain;
mod raid;
mod renew;
mod replace;
mod report;
mod served;
mod status;
mod stripes;
mod turns;
mod volume;
mod volume_state;
mod worker;
mod write;

pub use array::Array;
pub use check::{check, repair};
pub use counters::{Counters, DeviceTraffic};
pub use create::{CreateOptions, create};
pub use error::RaidError;
pub use layout::{Layout, LayoutError, Level, UnknownLevel};
pub use raid::Raid;
pub use report::OpenReport;
pub use status::{MemberStatus, Status, VolumeStatus};
pub use volume::{Volume, VolumeError};
