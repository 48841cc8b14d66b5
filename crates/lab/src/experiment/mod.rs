//! Experiments: each redraws one published figure with the engine on modelled drives, and judges how alike it is.
//!
//! An [`Experiment`] is one file that reads setup, run, metrics: [`Experiment::setup`] gives scenarios, the lab runs them
//! with several seeds, and [`Experiment::findings`] turns the outcomes of one seed into charts and numbers. What was
//! published, and what a number may be, is not written there: it follows by rule from the lines of `crates/lab/published`
//! ([`Line`]), which bear the same names. A number that fails needs a cause, and a cause an experiment that changes it and
//! nothing else ([`Causal`]). A figure that is not reproduced is a result, not a failure.

mod bound;
mod causal;
mod check;
mod conduct;
mod files;
mod findings;
mod judge;
mod judgement;
#[cfg(test)]
mod ledger;
mod mechanism;
mod page;
mod published;
mod recorded;
mod registry;
mod scale;
mod second;
mod verdict;
mod with_mechanism;

pub use bound::{Bound, Ruling};
pub use causal::{Causal, Change};
pub use check::{Again, Check, Gap};
pub use conduct::{Laboratory, Run, Stage};
pub use files::{Drawn, experiment_files, read_judgement};
pub use findings::{About, Experiment, Findings, Trial, Trialled};

pub use judgement::{Judgement, Measured, Number};
pub use mechanism::{Mechanism, NoMechanism};
pub use page::{Provenance, page};
pub use published::{Dropped, Kind, Line, Published, Read, Was, Why};
pub use recorded::{Unlike, record, unlike_recorded};
pub use registry::{EXPERIMENTS, experiment};
pub use scale::{Scale, Scales, WrongScale};
pub use verdict::{Summary, Verdict};
pub use with_mechanism::{Unfit, WithMechanism};
