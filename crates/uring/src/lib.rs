//! The production driver: reactors on `io_uring`, over files, block devices and memory.
//!
//! [`spawn_reactors`] starts one single-threaded reactor per core and gives each its [`Reactor`]: the runtime to run
//! tasks on, the numbers of the array's devices, and [`Io`] for what operations cannot express (listening, connecting,
//! adding a device). [`block_on`] does the same on the calling thread, for tools and tests.
//!
//! What is decided here:
//! * Everything queued since the last park enters the kernel in **one** system call; completions are collected from
//!   shared memory, and a reactor with nothing to do spins for [`Config::spin`] before it blocks.
//! * Sends of one socket are gathered and go out **in order and whole**: the driver continues partial sends.
//! * A [`Device`] is opened once per process, exclusively, and shared by the reactors. `O_DIRECT` is used wherever the
//!   file system allows it; where not, [`Device::fallback`] says so.
//! * A software SSD behind a socket (`ssd:unix:PATH`) is a device like others; threads of its connection do the talking.
//! * A device with zones is written in order by a [`cygnus_zoned::ZonedDevice`] between the reactor and this driver; `zoned:FILE` stands
//!   for one, and refuses what one would.
//! * What a process has in memory outlasts it where [`KeptAt`] says.
//! * Memory and null devices are served inside the driver without a system call, for benchmarks.
//! * A driver that is dropped first cancels what it can and waits for the rest, so no device writes to freed memory.
//!
//! Linux 6.1 or newer.

mod aligned;
mod arena;
mod atomic;
mod device;
mod driver;
mod errand;
mod error;
mod far;
mod flight;
mod holder;
mod inbox;
mod io;
mod kept;
mod link;
mod memory;
mod new_file;
mod opening;
mod peer;
mod reactors;
mod registered;
mod ring;
mod signal;
mod socket;
mod sysfs;
mod wake;
mod zone_file;
mod zone_ioctl;
mod zones;

pub use device::{Device, RELEASE_PATIENCE};
pub use error::{OpenError, StartError};
pub use far::{drive_at, is_drive};
pub use holder::Holder;
pub use inbox::Mailer;
pub use io::Io;
pub use kept::KeptAt;
pub use new_file::{allocate_file, create_file};
pub use opening::Access;
pub use reactors::{Config, Pinning, Reactor, Reactors, block_on, single_reactor, spawn_reactors};
pub use signal::{Signal, Signals};
pub use sysfs::block_numbers;
pub use zone_file::{NewZones, beneath, create_zoned_file, zoned_file};
pub use zones::{reset_zones, zones_at};
