//! A software SSD: a drive over a file that does what ScalaAFA asks of its drives, behind a socket.
//!
//! It stores blocks, bytes beside blocks, and computes parity inside ([`Store`]). A modelled drive of `cygnus-ssd` goes along
//! (`clock`): each command is put to it too, and it tells what flash would have gone through. [`Server`] speaks the protocol
//! of `cygnus-ssdlink` (`docs/ssd-protocol.md`) with hosts.
//!
//! From the bottom up: `record` and `layout` are the bytes in the file, `store` the drive over them; `construction` and `clock`
//! the model beside it, `report` what both have counted; `gate`, `claim`, `session` and `work` a connection, `server` all of
//! them.

mod claim;
mod clock;
mod construction;
mod error;
mod gate;
mod layout;
mod record;
mod report;
mod server;
mod session;
mod stop;
mod store;
mod work;

pub use construction::construction;
pub use error::DriveError;
pub use layout::{OOB_BYTES, file_bytes, format};
pub use report::Report;
pub use server::{Listener, Options, Server};
pub use stop::StopSignals;
pub use store::{Fault, Store};
