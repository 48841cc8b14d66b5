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
//! | `raid.rs`, `plain.rs` | reads, writes of copies, flushes |
//! | `care.rs`, `guardian.rs` | devices in trouble: whoever needs them waits; who leaves, who is awaited, who comes back |
//! | `stripes.rs`, `batch.rs`, `band.rs` | writes to a stripe put together, and its parity renewed |
//! | `renew.rs` | whole stripes made to fit, or judged |
//! | `mend.rs` | blocks that a device cannot read, written anew |
//! | `lock.rs` | who must wait for whom |
//! | `intent.rs` | the write-intent log |
//! | `ledger.rs` | superblocks: what must be on record before anything is answered |
//! | `create.rs`, `open.rs`, `array.rs`, `admin.rs`, `replace.rs`, `status.rs` | the array as its callers hold it |
//! | `volume.rs` | requests of any alignment to a run of the array's space |
//! | `worker.rs` | resync, filling of devices, mending, clearing of bits |
//! | `check.rs` | a stopped array verified |
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
mod band;
mod batch;
mod care;
mod check;
mod create;
mod error;
mod guardian;
mod intent;
mod layout;
mod ledger;
mod lock;
mod mend;
mod open;
mod plain;
mod raid;
mod renew;
mod replace;
mod served;
mod status;
mod stripes;
mod volume;
mod worker;

pub use array::Array;
pub use check::{check, repair};
pub use create::{CreateOptions, create};
pub use error::RaidError;
pub use layout::{Layout, LayoutError, Level, UnknownLevel};
pub use open::OpenReport;
pub use raid::{Counters, DeviceTraffic, Raid};
pub use status::{MemberStatus, Status, VolumeStatus};
pub use volume::{Volume, VolumeError};
