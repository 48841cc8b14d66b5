//! An array of SSDs, or of files, in a program of one's own, without a server: R-groups of k + m devices, cleaning out of the
//! way of writes, recovery, and volumes that are read and written by calls.
//!
//! ```
//! use std::sync::Arc;
//! use cygnus::{Access, Array, ByteSize, Config, CreateOptions, Device, Log, OpenOptions, Preset, block_on, create, create_file};
//!
//! struct Silent;
//! impl Log for Silent {
//!     fn line(&self, _: &str) {}
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("cygnus-doc-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! let paths: Vec<_> = (0..3).map(|n| folder.join(format!("d{n}"))).collect();
//! for path in &paths {
//!     create_file(path, 64 << 20)?;
//! }
//! let devices = paths.iter().map(|path| Device::open(path, Access::Exclusive)).collect::<Result<_, _>>()?;
//! block_on(&Config { devices, ..Config::default() }, async |reactor| -> Result<(), Box<dyn std::error::Error>> {
//!     let (rt, devices) = (reactor.rt, reactor.devices);
//!     create(&rt, &devices, &CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)).await?; // one R-group of 2+1
//!     let array = Array::open(&rt, &devices, &OpenOptions::new(Arc::new(Silent))).await?;
//!     array.create_volume("vol0", ByteSize(16 << 20), 0).await?;
//!     let volume = array.volume("vol0").expect("it was just made");
//!
//!     let mut block = rt.alloc(4096);
//!     block.write(0, b"swans");
//!     volume.write(4096, block.full()).await?;
//!     volume.flush().await?; // survives the loss of power and of any one device from now on
//!
//!     let read = volume.read(4096, rt.alloc(4096).full()).await?;
//!     assert_eq!(&read.bytes()[..5], b"swans");
//!     drop(volume);
//!     Ok(array.close().await?)
//! })??;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! A server that is killed leaves acknowledged writes in a file in memory. A program that opens an array which `cygnus serve` has served names the file in
//! [`OpenOptions::left_with`] (`KeptAt::new(Path::new(KeptAt::USUAL), uuid)`), or these writes are lost; as [`OpenOptions::keeper`] it has its own
//! outlast it too.
//!
//! A reactor is one thread; what it runs may hold a [`Volume`] and need not be [`Send`]. `cargo run -p cygnus --example embed` is the
//! same with what a program does next, and the crate `cygnus-kv` keeps keys and values in a volume.
//!
//! # What stays as it is
//!
//! Versions follow [Semantic Versioning](https://semver.org): what this crate names, and what its types say in their documentation, changes
//! only with the major version, before 1.0 with the minor one. The crates behind it (`cygnus-engine` and so on) may change with any version: a program that
//! names them pins them. The format on devices has a version of its own, and arrays of older versions are opened or refused, never misread.

pub use cygnus_engine::{
    Array, ArrayError, ArrayHealth, ArrayStatus, CreateOptions, Extent, Log, OpenOptions, ScrubReport, Volume,
    VolumeAdminError, VolumeError, VolumeOptions, VolumeStatus, create,
};
pub use cygnus_format::Raid;
pub use cygnus_policy::Preset;
pub use cygnus_runtime::{Buf, BufSlice, DeviceInfo, Runtime};
pub use cygnus_types::{Acknowledged, ByteSize, Constraint, Medium, Nanos, Uuid};
pub use cygnus_uring::{Access, Config, Device, KeptAt, OpenError, Reactor, StartError, block_on, create_file};
pub use cygnus_volume::BlockVolume;
