//! A crash checker for NBD servers: load, kill, restart, read every block back, judge.
//!
//! The checker knows nothing of the server but its socket and a small script that creates, serves and
//! damages the array. It speaks NBD with its own few lines of client code on purpose: a codec shared with
//! the server would make the same mistake on both sides of the socket, and the mistake would cancel out.
//!
//! - [`sector`]: what is written, so that any 512 bytes tell where and when they belong;
//! - [`nbd`]: the smallest NBD client that can do the job;
//! - [`load`]: several connections writing, flushing, trimming and reading at depth, with a log;
//! - [`history`]: from that log, the versions each sector may show after the crash;
//! - [`server`]: starting, killing and damaging the server;
//! - [`rounds`]: the loop over all of it.

pub mod history;
pub mod load;
pub mod nbd;
pub mod rng;
pub mod rounds;
pub mod sector;
pub mod server;
