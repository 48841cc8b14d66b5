//! What an array looks like in the words of the control protocol: one served of either kind, or one that is stopped.

pub(crate) mod in_place;
pub(crate) mod log_structured;
pub mod stopped;

pub use in_place::refusal;
pub use log_structured::{growth, scrub_report};
