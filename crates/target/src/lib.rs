//! The NBD server: sessions on one side, volumes on the other; and a load generator to measure it with.
//!
//! A [`Server`] lives on one reactor. Each connection is a session: the negotiation, then a reader that takes every
//! complete request of a receive buffer at once, a few long-lived workers for what has to wait, and a sender that
//! gathers all replies that are ready into one vectored send. Nothing on this path allocates per request.
//!
//! | file | idea |
//! |---|---|
//! | `volume.rs` | what a server needs of a volume and of the set of exports |
//! | `engine.rs`, `inplace.rs` | volumes of log-structured arrays and of those in place as exports |
//! | `server.rs` | accepting, counting, shutting down |
//! | `session.rs` | one connection from greeting to close |
//! | `dispatch.rs` | what each command does to the volume |
//! | `jobs.rs` | the queue between reader and workers |
//! | `outbox.rs` | the queue between workers and sender |
//! | `receive.rs` | the receive buffer |
//! | `listen.rs` | addresses, sockets, stale socket files |
//! | `stats.rs`, `histogram.rs` | what is counted |
//! | `loadgen.rs` | the load generator: a client of its own on plain sockets |

mod dispatch;
mod engine;
mod histogram;
mod inplace;
mod jobs;
mod listen;
pub mod loadgen;
mod outbox;
mod receive;
mod select;
mod server;
mod session;
mod stats;
mod volume;

pub use engine::{ArrayExports, Side};
pub use histogram::Histogram;
pub use inplace::InPlaceExports;
pub use listen::{BoundListener, ListenAddress, ListenError};
pub use server::{Server, ServerConfig};
pub use session::{EndReason, SessionEvent};
pub use stats::{OpClass, OpStats, ServerStats, SessionStats};
pub use volume::{Export, Exports, Tap, Volume, VolumeError, VolumeExtent};
