//! The lab: what an array would do on given drives, by running the real engine on modelled ones in virtual time.
//!
//! A [`Scenario`] is a TOML file: drives, one or more arrays, what happens to them before the clock starts (aging), the
//! clients' workload, and optionally what the array's core and the clients' network cost. [`run`] plays it through for
//! one array and gives an [`Outcome`]; [`result_files`] turns that into CSV and JSON.
//!
//! A [`Sweep`] runs a scenario many times with some of its keys varied, and gives a row of numbers for each run.
//!
//! An [`Experiment`] is a published figure: scenarios, what to draw of their outcomes, and the numbers that are judged by
//! what was published.
//!
//! An outcome is a pure function of the scenario and a seed: no wall clock, no thread, no platform's mathematics, and
//! numbers are written so that the same run gives the same bytes everywhere. Users' data are zeros that nobody looks at
//! (see [`cygnus_runtime::BufPool::blank`]); stripe headers, maps and superblocks are real.

mod aging;
mod beyond;
mod cache;
mod chart;
mod client;
mod drive;
mod error;
mod examples;
mod experiment;
mod fabric;
mod files;
mod interval;
mod kept;
mod link;
mod offer;
mod outcome;
mod places;
mod run;
mod salsa;
mod sampler;
mod scala_afa;
mod scenario;
mod serial;
mod series;
mod store;
mod summary;
mod swan;
mod sweep;
mod tally;
mod testbed;
mod triple_a;
mod unequal;

pub use beyond::{Led, Regime, nearest_regime};
#[cfg(feature = "pictures")]
pub use chart::NotDrawn;
pub use chart::{
    Axis, Bars, Better, Body, Cell, Chart, Division, Heat, Lead, Line, Map, Mark, Painter, Panel, PictureError,
    PictureFormat, Scheme,
};
pub use error::{LabError, ScenarioError};
pub use examples::{EXAMPLES, Example};
pub use experiment::{
    About, Again, Bound, Causal, Change, Check, Drawn, Dropped, EXPERIMENTS, Experiment, Findings, Gap, Judgement,
    Kind, Laboratory, Line as PublishedLine, Measured, Mechanism, NoMechanism, Number, Provenance, Published, Read,
    Ruling, Run, Scale, Scales, Stage, Summary, Trial, Trialled, Unfit, Unlike, Verdict, Was, Why, WithMechanism,
    WrongScale, experiment, experiment_files, page, read_judgement, record, unlike_recorded,
};
pub use files::{RESULT_FILES, result_files};
pub use interval::{Interval, confidence};
pub use kept::{KeptRun, RUN_FILE};
pub use offer::offered;
pub use outcome::{
    ClusterRow, DeviceSample, DeviceTotals, LatencyRow, Moves, OperationRow, Outcome, RoleRow, Sample, ratio,
};
pub use run::{Progress, run};
pub use scenario::{ArraySection, Scenario};
pub use store::RequestError;
pub use sweep::{Rows, RunFailed, Sweep, SweepError, SweepRun, Varied, WrongRow};
