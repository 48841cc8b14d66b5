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
//! *Crash of the process only* (dropping the reactor): the caches survive; of the operations in flight each block
//! happened or did not.
//!
//! *Trim.* Contents are undefined afterwards: zeros, the old data or garbage; per trim or block by block. It is subject
//! to the write cache like a write.
//!
//! *Damage.* A block may be unreadable ([`World::fail_reads`]; a write or trim heals it); bits may flip silently
//! ([`World::flip_bit`]); a device may die, with every operation answered by `Gone` ([`World::kill`]); a device may be
//! slow ([`World::slow_down`]); a device may lie about flushes ([`World::ignore_flushes`], which no array can survive:
//! it is there to prove that the checks notice). [`FaultRates`] makes the first two, and death, happen by themselves.
//!
//! *Not modelled yet*: writes that are acknowledged and go nowhere or elsewhere, and write errors of a live device.

mod cluster;
mod disk;
mod driver;
mod faults;
mod media;
mod net;
mod world;

pub use cluster::Cluster;
pub use disk::{DiskConfig, DiskId, DiskStats, Timing};
pub use driver::SimDriver;
pub use faults::FaultRates;
pub use world::{TURN, World};
