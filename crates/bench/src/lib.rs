//! Benchmarks of the engine, each printed beside the limit that this machine sets in the same run.
//!
//! Devices are in memory (data really moved) or null (everything but the data), so what is measured is the engine on
//! one core, or on several: map, checksum, copy, parity, headers, executor.

mod at_once;
mod cores;
mod cpu;
mod engine;
mod failures;
mod floor;
mod load;
mod null_driver;
mod raw;
mod recovery;
mod report;
mod servers;
mod simulation;
mod stages;

pub use at_once::{AtOnce, Contents};
pub use cores::{CoresRow, run_cores};
pub use engine::{BenchError, EngineOptions, run_engine};
pub use failures::{FailureOptions, FailureReport, JobRow, LEAST_LIVE, LatencyRow, MachineRow, run_failures};
pub use floor::Floor;
pub use recovery::{Figure, run_recovery};
pub use report::{EngineReport, Row};
pub use servers::{PeerOptions, PeerRow, may_run_on, run_peers};
pub use simulation::{SimOptions, SimReport, SimRow, run_sim};
pub use stages::{Stage, Stages, run_stages};
