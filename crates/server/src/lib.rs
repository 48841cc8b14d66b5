//! The server: one process, one reactor per core, the array's home on the first one.
//!
//! [`serve`] takes [`Options`], opens the array and returns when it has been stopped. What it has to say goes to a [`Voice`].
//!
//! | file | idea |
//! |---|---|
//! | `options.rs` | what a server is told, and whom it tells |
//! | `start.rs` | what is checked and bound before a reactor starts |
//! | `plan.rs` | what all reactors know, and do alike |
//! | `home.rs` | the first reactor: opens the array, makes everything ready, stops it all in order |
//! | `stop.rs` | signals that ask for a stop, heard during an opening too |
//! | `served.rs` | what the server needs of an array, whichever kind it is of |
//! | `log_structured.rs`, `in_place.rs` | the two kinds |
//! | `request.rs` | what commands ask, carried out |
//! | `peer.rs` | the other reactors, and the messages between them and home |
//! | `control.rs` | the control socket's sessions |
//! | `share.rs` | how much of a reactor's time the control socket may take |
//! | `heap.rs` | what freed memory goes back to the system |
//! | `event.rs`, `log.rs` | what is said, in which words; how often, and with the time before it |
//! | `scribe.rs` | the thread that writes the log, so that no reactor waits for whoever reads it |
//! | `memory.rs` | who may take how much of the machine's memory |
//! | `record.rs` | what clients ask of a volume, written to a file |
//! | `devices.rs`, `members.rs` | devices that come while the array is served, and members that are remembered |
//! | `seek.rs` | members that were absent at the start, looked for where they were |
//! | `status/` | what arrays of each kind, served or stopped, look like in the words of the control protocol |

mod aside;
mod control;
mod devices;
mod error;
mod event;
mod files;
mod heap;
mod home;
mod in_place;
mod links;
mod log;
mod log_structured;
mod members;
mod memory;
mod notify;
mod options;
mod peer;
mod plan;
mod pulse;
mod record;
mod request;
mod scribe;
mod seek;
mod served;
mod share;
mod start;
pub mod status;
mod stop;
mod volumes;

pub use error::{ServeError, is_unavailable};
pub use options::{Options, Ready, RecordTo, Voice};
pub use start::serve;
pub use volumes::{Shrink, check_shrink};
