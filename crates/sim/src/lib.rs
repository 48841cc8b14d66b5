//! Virtual time: a world of modelled devices in which reactors run, and in which things go wrong on purpose.
//!
//! A run is a pure function of the code, the configuration and one seed: no wall clock, no thread, no hash order.
//! The [`World`] outlives its reactors, so that an array can be opened again after a power cut. One reactor runs by
//! [`cygnus_runtime::Runtime::run`] over a [`SimDriver`]; several run side by side in a [`Cluster`].
//!
//! # The fault model
//!
//! *Time.* An operation takes a base time, a time per byte and a seeded jitter, so completions overtake one another.
//! Nothing completes inline. A turn of a loop that never sleeps costs [`TURN`], so a spinning task cannot stop the clock.
//!
//! *Write cache.* Every device has a volatile one. A completed write is seen by every later read and may still be lost;
//! a flush makes durable exactly the writes (and trims) that completed before it was submitted, at the moment at which
//! the flush completes. A read that overlaps a write in flight sees the old or the new content, block by block.
//!
//! *Power cut* ([`World::cut_power`], or planned: at a time, or at the n-th submission-or-completion). 4 KiB blocks are
//! atomic and nothing larger is. For each block written since it was last made durable, the survivor is any one of: its
//! durable content, any later completed version, any version in flight. The choice is made block by block, in no order,
//! with a probability drawn anew for each device and cut, so that "nothing survived", "all survived" and every mixture
//! occur. Afterwards reactors get [`cygnus_runtime::Halt::PowerCut`], and operations submitted by them go nowhere.
//!
//! *Power loss of one device* ([`World::lose_power_of`]): its cache is lost in the same way, whatever was in flight on it fails,
//! and it answers `Gone` until it has power again and is opened anew.
//!
//! *Crash of the process only* (dropping the reactor): the caches survive; of the operations in flight each block
//! happened or did not.
//!
//! *Trim.* Contents are undefined afterwards: zeros, the old data or garbage; per trim or block by block. It is subject
//! to the write cache like a write.
//!
//! *Damage at rest.* Any block, a superblock's or header's as well as data, may become unreadable
//! ([`World::fail_reads`]; a write or trim heals it) or rot silently ([`World::flip_bit`]). A whole device may come back
//! with what it held some time ago ([`World::put_back`]).
//!
//! *Writes that do not do what was said.* A *lost* write is acknowledged and stores nothing. A *torn* one is acknowledged
//! and stores some of its blocks: the unit of tearing is the 4 KiB block, below which devices are trusted. A *misdirected*
//! one stores its blocks elsewhere on the same device, near or far, superblocks included; what was there is gone, and what
//! should be there is as before. [`FaultRates`] says how often, in requests.
//!
//! *Errors.* A write may fail once ([`FaultRates::failed_per_million`]; some of its blocks may have been stored) or from
//! now on ([`World::fail_writes`]). A device whose backing file lies on a full file system answers `NoSpace` to writes
//! that reach blocks never written ([`World::fill_up`]), and takes overwrites. A dead one answers `Gone` to everything
//! ([`World::kill`]), and one that is there may answer anything to everything ([`World::fail_everything`]).
//!
//! *Time.* A device may be slow ([`World::slow_down`]) or hang ([`World::hang`]): what it has taken, and what it takes,
//! completes when it is released, after a time that may be long, or never. A reactor may not run for a while
//! ([`World::pause`]).
//!
//! *Lies.* A device may acknowledge flushes and not do them ([`World::ignore_flushes`]). No array can survive this: it is
//! there to prove that the checks notice.
//!
//! The world knows the truth: [`World::is_sound`] tells whether a block would be delivered as it was last written, so a
//! test can tell an error that it had to expect from one that is a bug. [`World::watch_faults`] tells of every fault in
//! the moment in which an operation meets it, for counting which faults met which step of the engine.

mod agenda;
mod cluster;
mod cpu;
mod disk;
mod driver;
mod faults;
mod gauge;
mod in_order;
mod inject;
mod length;
mod machine;
mod media;
mod model;
mod net;
mod network;
mod parity;
mod sheet;
mod state;
mod world;
mod zones;

pub use cluster::Cluster;
pub use cpu::CpuModel;
pub use disk::{DiskConfig, DiskId, DiskStats, Timing};
pub use driver::SimDriver;
pub use faults::{FaultKind, FaultRates};
pub use gauge::Load;
pub use in_order::check_zones;
pub use inject::Saved;
pub use machine::Machine;
pub use state::TURN;
pub use world::World;

pub use cygnus_zoned::ShapeError;
