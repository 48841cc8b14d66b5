//! The NBD server: sessions on one side, volumes on the other; and a load generator to measure it with.
//!
//! A [`Server`] lives on one reactor. Each connection is a session: the negotiation, then a reader that takes every
//! complete request of a receive buffer at once, a few long-lived workers for what has to wait, and a sender that
//! gathers all replies that are ready into one vectored send. Nothing on this path allocates per request.
//!
//! A client may be a stranger. What it can take is bounded: places at the door, memory, the time of a reactor's
//! turn, and our patience. In each of these a client of ordinary habits has his part, whatever others do.
//!
//! What is protocol and what is not: `nbd.rs` alone turns NBD's words into those of `cygnus-volume` and back. `listen.rs` names
//! NBD's addresses, and the load generator is a client of NBD. Everything else would serve another protocol as it is: it knows
//! requests to volumes, memory, turns and patience.
//!
//! | file | idea |
//! |---|---|
//! | `exports.rs` | what a server offers: the volumes of an array, each under its name |
//! | `nbd.rs` | NBD's words into those of volumes, and back |
//! | `server.rs`, `config.rs` | accepting, counting, looking after sessions, shutting down; and the limits |
//! | `session.rs`, `context.rs` | one connection from greeting to close, and its negotiation |
//! | `reader.rs` | what follows: reader and sender |
//! | `dispatch.rs` | what each request does to the volume, and the workers that do it |
//! | `reads.rs` | reads: how much is in memory at a time, and how it is sent |
//! | `write_through.rs` | writes longer than the receive buffer |
//! | `answer.rs` | how the outcome of a request is told and counted |
//! | `transmission.rs` | what reader, workers and sender share: room for requests |
//! | `asked.rs`, `jobs.rs` | a request that was let in; the queues between reader and workers |
//! | `outbox.rs` | the queue between workers and sender |
//! | `receive.rs` | the receive buffer |
//! | `wait.rs`, `select.rs` | waiting for a socket and for the session's end |
//! | `handle.rs` | a session as the server sees it, and how long its client is waited for |
//! | `door.rs` | how many connections there may be, and of whom |
//! | `purse.rs` | who holds how much of the network's memory |
//! | `fair.rs` | which session goes next when there is not enough for all |
//! | `pace.rs` | how much is done in one turn of the reactor |
//! | `queue.rs` | whose write a volume gets next |
//! | `event.rs` | what the log is told, and how often |
//! | `listen.rs` | addresses, sockets, stale socket files |
//! | `stats.rs`, `histogram.rs` | what is counted |
//! | `loadgen.rs` | the load generator: a client of its own on plain sockets |

mod answer;
mod asked;
mod config;
mod context;
mod dispatch;
mod door;
mod event;
mod exports;
mod fair;
mod handle;
mod histogram;
mod jobs;
mod listen;
pub mod loadgen;
mod nbd;
mod outbox;
mod pace;
mod purse;
mod queue;
mod reader;
mod reads;
mod receive;
mod select;
mod server;
mod session;
mod stats;
mod transmission;
mod wait;
mod write_through;

pub use config::ServerConfig;
pub use door::{Door, Refusal};
pub use event::{EndReason, SessionEvent};
pub use exports::{ArrayExports, Export, Exports};
pub use histogram::Histogram;
pub use listen::{BoundListener, ListenAddress, ListenError};
pub use server::Server;
pub use stats::{OpClass, OpStats, ServerStats, SessionStats};
