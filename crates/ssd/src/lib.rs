//! A modelled SSD: what a drive of a given construction does with a stream of commands, and how long it takes.
//!
//! A [`Device`] is a deterministic state machine in virtual time that knows nothing of any engine: commands go in by
//! [`Device::submit`], the caller's clock drives it by [`Device::advance`], completions come out. [`Model`] is a device of
//! any kind, [`ModelConfig`] its construction, [`DeviceSpec`] how a scenario file says which. No device holds payload: an
//! SSD is the state of its flash translation layer (at most 8 bytes per 4 KiB flash page, and none where nothing was ever written).
//!
//! # What is modelled
//!
//! Every resource is a queue with a server, and every stage of a command is an event of its own; nothing is computed
//! ahead as a "busy until" time, because a resource's queue is not known before the stages in front of it are over.
//!
//! * *Host interface*: queue depth, link rate in each direction (shared by both on SATA), a fixed latency.
//! * *Controller*: firmware time per command, one command at a time; this is what bounds small-block rates.
//! * *Write cache*: 4 KiB slots, first in first out, overwrites merge; with or without power-loss protection, which
//!   decides what a flush costs.
//! * *Flash*: channels, dies, planes. A die does one thing at a time: sense (tR), program a unit of all planes and all
//!   cell pages (tPROG, after the unit came over the channel), erase (tBERS). Reads go first and may suspend programs
//!   and erases.
//! * *Translation*: page mapped, 4 KiB; each die has its own open blocks, free blocks and garbage collector. Or block
//!   mapped with log blocks, or zones of the host's.
//! * *Map cache*: optionally the map itself is in flash, and only part of it in memory, or only part of that dirty; a
//!   server fetches and writes back map pages.
//! * *Garbage collection*: greedy or cost-benefit victims; below the low watermark it runs in step with host writes
//!   (each program of host data owes the relocations that pay for it), at the reserve it runs alone; idle dies collect
//!   up to the high watermark. Or in bursts ([`Bursts`]): a victim at a time, while its die does nothing else.
//! * *Slow phases*: hours in which everything inside the drive takes longer ([`SlowPhases`]), as the field has them.
//! * *SLC buffer*: blocks programmed in single-level mode while there is room for them, folded by the collector in idle time or when
//!   the buffer is full; which block first, may depend on what the host says will soon be invalid ([`Hint::transient`]).
//! * *XOR engine*: optionally parity of blocks is computed inside the drive; a server with a buffer of its own.
//! * *Wear*: the least worn free block is opened next; optionally static wear-levelling by erase count spread.
//!
//! # How the files of an SSD are layered
//!
//! Each names those before it only; where what happens below concerns something above, the call's result says so.
//!
//! 1. *Parts*, which do not know the drive: `ftl`, `cache`, `clock`, `collector`, `die`, `block_map`, `zone`, `map_cache`,
//!    `xor`, `transit`. `state` puts them together.
//! 2. *Beginnings* of operations and transfers: `flash`, `link`.
//! 3. *Writers*, one for each mapping: `gc`, `merge` and `log_block`, `zone_write`.
//! 4. `schedule`: what a die does next.
//! 5. *Commands* in the drive: `read`, `trim`, `conversion`, `zone_commands`, and `admission` to the cache.
//! 6. `ssd`: one stage of a command after the other. Beside it, `power` and `precondition` change the state at once.
//!
//! # Other devices
//!
//! //! [`Disk`] models disks in the same way: an arm that serves one access at a time, a write buffer, and where tracks are
//! shingled, bands behind a persistent cache or zones.
//!
//! [`Preset`] has drives fitted to published figures, [`Device::precondition`] puts one into the steady state of random
//! writes at once, [`Workload`] measures it.

mod admission;
mod arithmetic;
mod bits;
mod block_map;
mod burst;
mod cache;
mod calibrate;
mod clock;
mod collector;
mod config;
mod conversion;
mod counters;
mod device;
mod die;
mod disk;
mod event;
mod flash;
mod ftl;
mod gc;
mod link;
mod log_block;
mod map_cache;
mod merge;
mod model;
mod page_table;
mod power;
mod precondition;
mod preset;
mod rate;
mod read;
mod runs;
mod schedule;
mod slow;
mod spec;
mod ssd;
mod state;
mod transit;
mod trim;
mod units;
mod workload;
mod xor;
mod zone;
mod zone_commands;
mod zone_table;
mod zone_write;

pub use arithmetic::Arithmetic;
pub use burst::Bursts;
pub use calibrate::Calibration;
pub use config::{
    BlockLayout, Cache, ConfigError, Eviction, Flash, Folding, Gc, Host, MapCache, Mapping, Slc, SsdConfig, Suspend,
    VictimPolicy, XorEngine, ZoneLayout,
};
pub use counters::Counters;
pub use device::{Command, Convert, Device, DeviceError, Done, Features, Hint, Precondition, Zone, ZoneState};
pub use disk::Disk;
pub use disk::config::{DiskConfig, Recording, Seek, Shingles};
pub use model::{Model, ModelConfig};
pub use precondition::greedy_write_amplification;
pub use preset::{Figure, Preset};
pub use slow::SlowPhases;
pub use spec::{DeviceSpec, SpecError};
pub use state::Ssd;
pub use workload::{Pattern, Report, Workload};
