//! Keys and values in a volume: a second kind of front-end on an array, beside block protocols (SALSA, MASCOTS'18, section 3.4, has several on one pool).
//!
//! The volume is a header and two halves. Records are appended to one half; where they are is known by an index in memory, which
//! opening builds anew from the records. When a half is full, what is current is written to the other one, the header names that one,
//! and the first is trimmed, so the array below gets its segments back as a whole.
//!
//! What [`Store::flush`] has covered survives power cuts, together with what the array's redundancy covers. What came later may be there
//! or not, each record as a whole, and none without those before it.
//!
//! One store at a time may be open on a volume, and whoever else writes to the volume destroys it.
//!
//! ```
//! use std::sync::Arc;
//! use cygnus::{Access, Array, ByteSize, Config, CreateOptions, Device, Log, OpenOptions, Preset, block_on, create, create_file};
//! use cygnus_kv::Store;
//!
//! struct Silent;
//! impl Log for Silent {
//!     fn line(&self, _: &str) {}
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("cygnus-kv-doc-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! let paths: Vec<_> = (0..3).map(|n| folder.join(format!("d{n}"))).collect();
//! for path in &paths {
//!     create_file(path, 64 << 20)?;
//! }
//! let devices = paths.iter().map(|path| Device::open(path, Access::Exclusive)).collect::<Result<_, _>>()?;
//! block_on(&Config { devices, ..Config::default() }, async |reactor| -> Result<(), Box<dyn std::error::Error>> {
//!     let (rt, devices) = (reactor.rt, reactor.devices);
//!     create(&rt, &devices, &CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)).await?;
//!     let array = Array::open(&rt, &devices, &OpenOptions::new(Arc::new(Silent))).await?;
//!     let volume = array.create_volume("kv", ByteSize(32 << 20), 0).await?;
//!
//!     let mut store = Store::format(&rt, volume.clone()).await?; // a store that is there: Store::open
//!     store.put(b"swan", b"white").await?;
//!     store.flush().await?; // survives the loss of power and of any one file from now on
//!     store.put(b"swan", b"black").await?;
//!     store.close().await?;
//!
//!     let store = Store::open(&rt, volume).await?;
//!     assert_eq!(store.get(b"swan").await?, Some(b"black".to_vec()));
//!     store.close().await?;
//!     Ok(array.close().await?)
//! })??;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```

mod error;
#[cfg(test)]
mod fickle;
mod head;
mod planted;
mod record;
mod store;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use record::{MAX_KEY, MAX_VALUE};
pub use store::{Store, Usage};
