//! Pure decisions: which group takes the writes, which group cleans, which segment is the victim, how hard to push back,
//! which device is slow, what moves out of whose way.
//!
//! A policy looks at plain views that the engine fills and returns a choice that the engine carries out. Nothing here
//! does I/O, keeps state between calls, or knows which driver runs. A *preset* is a [`Policies`] value: one choice per
//! policy point, never a fork of the engine.

mod autonomics;
mod cleaning;
mod conversion;
mod front_end;
mod health;
mod heat;
mod histogram;
mod hybrid;
mod latency;
pub mod planner;
mod points;
mod pressure;
mod rules;
pub mod serial_planner;
mod share;
mod streams;
mod succession;
mod throttle;
mod two_phase;
mod until_full;
mod victim;
mod whole_group;

pub use autonomics::{
    Answered, AutonomicsRule, Carried, ClusterHeat, ClusterTimes, ClusterView, Decision, DecisionCounts, Migration,
    ModuleView, Obstacle, OutcomeCounts, PageTimes, Reason, Surroundings, Taken, UnknownMigration, WriteBudget,
    WriteTimes,
};
pub use cleaning::{CleaningScope, CleaningView, RotationView};
pub use conversion::{ConversionView, Converting, Postponement};
pub use front_end::{FrontEnd, GroupView, Turn};
pub use health::{Health, HealthView, Suspicion};
pub use heat::{EPOCH_WRITES, Heat, RANGE_BLOCKS};
pub use histogram::LatencyHistogram;
pub use hybrid::{HybridRule, Temperature, WARMTH_BLOCKS};
pub use latency::{HedgeBudget, Lag, LatencyRule, Pace, typical};
pub use points::{CheckpointRule, ParityPlacement, Policies, Preset, UnknownPreset};
pub use pressure::{Pressure, PressureView};
pub use rules::{ParseRulesError, Rules};
pub use share::Share;
pub use streams::{Streams, UnknownStreams};
pub use succession::Succession;
pub use throttle::Throttle;
pub use two_phase::{Copying, Unfinished, Way, rows_to_convert};
pub use until_full::{UnknownUntilFull, UntilFull};
pub use victim::{Search, SegmentView, UnknownVictim, Victim, Worth};
pub use whole_group::{WholeGroupView, destination, left_for_writers};
