//! What is on this machine of Cygnus: arrays as the state directory remembers them, members as they are found at their paths,
//! and the devices that commands and servers open.
//!
//! - [`state`]: the state directory, a memory of where members were last seen.
//! - [`members`]: what stands at paths, put together to arrays. Reads only.
//! - [`moved`]: block devices that have come to another name.
//! - [`devices`]: devices opened, and a reactor for work that ends.
//! - [`links`]: which members share a link, as far as Linux tells.
//! - [`answer`]: questions that a device may never answer, asked with patience.
//! - [`kept`]: what a server that was killed has left in memory.
//! - [`place`]: paths of files and addresses of software SSDs, written alike.
//! - [`scratch`]: directories that are gone when their owner is.

pub mod answer;
pub mod devices;
mod error;
pub mod kept;
pub mod links;
pub mod members;
pub mod moved;
mod name;
pub mod one_disk;
pub mod place;
pub mod scratch;
pub mod state;

pub use error::HostError;
pub use name::{ArrayName, BadName};
