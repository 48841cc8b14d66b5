//! Acting on contention (Triple-A, ASPLOS'14, section 4): writes, reads and what is in memory anyway go where nobody is in their way.
//!
//! [`cygnus_policy::AutonomicsRule`] decides. Here is what it sees on any device, and what follows: the groups that new writes avoid,
//! the members that reads go around, and the blocks that are written anew elsewhere because a read has just brought them, or, where
//! the rule wants it so, by reads of their own. They go to a few target groups at a time, each with an open segment of its own.

pub(crate) mod links;
pub(crate) mod marks;
mod migrate;
pub(crate) mod mode;
pub(crate) mod placing;
pub(crate) mod rehome;
pub(crate) mod report;
pub(crate) mod sight;
pub(crate) mod steering;
pub(crate) mod targets;
